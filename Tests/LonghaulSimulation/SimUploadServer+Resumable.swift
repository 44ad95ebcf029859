import LonghaulCore

/// tus 1.0.0, and the versions of draft-ietf-httpbis-resumable-upload.
extension SimUploadServer {
    func createdTus(_ request: SimUploadRequest, _ place: Place) -> Reply {
        switch request.method {
        case "OPTIONS":
            var fields = ["Tus-Version": "1.0.0"]
            if place.tells {
                fields["Tus-Extension"] = "creation,creation-with-upload,termination"
            }
            return .answer(SimUploadAnswer(status: 204, fields: fields))
        case "POST":
            guard request.headers["Tus-Resumable"] == "1.0.0",
                let length = request.headers["Upload-Length"].flatMap({ Int64($0) })
            else { return .answer(SimUploadAnswer(status: 412)) }
            let address = create(request, length: length)
            if length == 0 { complete(address, request) }
            if request.length > 0 {
                if !place.tells { complaints.append("\(request.url) takes no bytes at once") }
                return .body(SimIntake(target: .resource(address), request: request))
            }
            return .answer(
                SimUploadAnswer(status: 201, fields: ["Location": address], names: address))
        default: return .answer(SimUploadAnswer(status: 405))
        }
    }

    func drafted(_ request: SimUploadRequest, _ place: Place) -> Reply {
        if request.method == "OPTIONS" {
            guard place.tells else { return .answer(SimUploadAnswer(status: 405)) }
            let spoken = "\(place.dialect.interopVersion ?? 0)"
            guard request.version != spoken else {
                return .answer(SimUploadAnswer(status: 204, fields: limits(of: place)))
            }
            let named = ["Upload-Draft-Interop-Version": spoken]
            return .answer(
                place.namesVersion
                    ? SimUploadAnswer(status: 400, fields: named) : SimUploadAnswer(status: 204))
        }
        guard ["PUT", "POST"].contains(request.method) else {
            return .answer(SimUploadAnswer(status: 405))
        }
        if request.headers.contains("Tus-Resumable") {
            return .answer(SimUploadAnswer(status: 415))
        }
        guard let version = request.version else {
            return .body(SimIntake(target: .object, request: request))
        }
        let spoken = "\(place.dialect.interopVersion ?? 0)"
        guard version == spoken else {
            let fields = place.namesVersion ? ["Upload-Draft-Interop-Version": spoken] : [:]
            return .answer(SimUploadAnswer(status: 400, fields: fields))
        }
        // Only from version 9 on the limit is one of creations, too.
        if let limit = place.appendLimit, request.length > limit, place.dialect == .ietf9 {
            return .answer(SimUploadAnswer(status: 413, fields: limits(of: place)))
        }
        let length = request.headers["Upload-Length"].flatMap { Int64($0) } ?? request.length
        let address = create(request, length: length)
        var fields = limits(of: place)
        fields["Location"] = address
        let completes = request.headers["Upload-Complete"] == "?1"
        if !completes, request.length == 0 {
            fields["Upload-Offset"] = "0"
            fields["Upload-Complete"] = "?0"
            return .answer(SimUploadAnswer(status: 201, fields: fields, names: address))
        }
        var intake = SimIntake(target: .resource(address), request: request)
        intake.completes = completes
        intake.interim = SimUploadAnswer(status: 104, fields: fields, names: address)
        return .body(intake)
    }

    private func limits(of place: Place) -> [String: String] {
        ["Upload-Limit": place.appendLimit.map { "max-append-size=\($0)" } ?? "max-age=3600"]
    }

    /// A request to a resource.
    func resumed(_ request: SimUploadRequest, _ resource: Resource) -> Reply {
        guard let place = places[resource.place] else {
            return .answer(SimUploadAnswer(status: 404))
        }
        let isTus = place.dialect == .tus
        if !isTus, request.version != "\(place.dialect.interopVersion ?? 0)" {
            complaints.append("\(request.url) is spoken to in version \(request.version ?? "none")")
        }
        switch request.method {
        case "HEAD":
            if random.happens(trouble.lie) {
                // Bytes that were never sent: the resource is no good.
                resources[request.url]?.isVoid = true
                places[resource.place]?.hasMisled = true
                let lie = resource.length + 1 + Int64(creations)
                return .answer(SimUploadAnswer(status: 204, fields: ["Upload-Offset": "\(lie)"]))
            }
            return .answer(SimUploadAnswer(status: 204, fields: offset(of: resource, place)))
        case "PATCH":
            let count = resource.bytes.count
            if resource.isComplete { return .answer(SimUploadAnswer(status: isTus ? 409 : 400)) }
            if request.headers["Upload-Offset"] != "\(count)" {
                return .answer(
                    SimUploadAnswer(status: 409, fields: ["Upload-Offset": "\(count)"]))
            }
            if let limit = place.appendLimit, !isTus, request.length > limit {
                return .answer(SimUploadAnswer(status: 413, fields: limits(of: place)))
            }
            if count + request.length > resource.length {
                complaints.append("\(request.url) gets more than its length")
            }
            var intake = SimIntake(target: .resource(request.url), request: request)
            intake.position = count
            intake.completes = request.headers["Upload-Complete"] == "?1"
            return .body(intake)
        case "DELETE":
            if isTus, !place.tells { complaints.append("\(request.url) cannot be deleted") }
            resources[request.url] = nil
            return .answer(SimUploadAnswer(status: 204))
        default: return .answer(SimUploadAnswer(status: 405))
        }
    }

    private func offset(of resource: Resource, _ place: Place) -> [String: String] {
        var fields = ["Upload-Offset": "\(resource.bytes.count)"]
        if place.dialect == .tus { return fields }
        fields["Upload-Complete"] = resource.isComplete ? "?1" : "?0"
        fields.merge(limits(of: place)) { old, _ in old }
        return fields
    }

    func finishResource(_ address: String, _ intake: SimIntake) -> SimUploadAnswer {
        guard let resource = resources[address], let place = places[resource.place] else {
            return SimUploadAnswer(status: 404)
        }
        let isWhole = resource.bytes.count == resource.length
        if place.dialect == .tus {
            if isWhole { complete(address, intake.request) }
            let fields = ["Upload-Offset": "\(resource.bytes.count)"]
            guard intake.request.method == "POST" else {
                return SimUploadAnswer(status: 204, fields: fields)
            }
            return SimUploadAnswer(
                status: 201, fields: fields.merging(["Location": address]) { old, _ in old },
                names: address)
        }
        guard intake.completes else {
            return SimUploadAnswer(status: 204, fields: offset(of: resource, place))
        }
        guard isWhole else {
            complaints.append(
                "\(address) is said to be complete with \(resource.bytes.count) of"
                    + " \(resource.length) bytes")
            return SimUploadAnswer(status: 400)
        }
        complete(address, intake.request)
        var fields = ["Upload-Offset": "\(resource.bytes.count)", "Upload-Complete": "?1"]
        fields["Location"] = intake.interim == nil ? nil : address
        return SimUploadAnswer(status: 200, fields: fields, names: address)
    }

    private func complete(_ address: String, _ request: SimUploadRequest) {
        guard let resource = resources[address] else { return }
        resources[address]?.isComplete = true
        publish(resource.bytes, at: resource.place, parts: 0, request)
    }
}
