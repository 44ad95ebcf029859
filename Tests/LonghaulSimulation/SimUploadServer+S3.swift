import LonghaulCore

/// S3: one object by PUT, or parts that are joined.
extension SimUploadServer {
    static let partLeast: Int64 = 5 << 20
    static let noSuchUpload = SimUploadAnswer(
        status: 404, body: Array("<Error><Code>NoSuchUpload</Code></Error>".utf8))

    func s3(_ request: SimUploadRequest, _ place: Place) -> Reply {
        if let id = request.query("uploadId") { return ofUpload("/\(id)", request) }
        switch request.method {
        case "POST" where request.query("uploads") != nil:
            let address = create(request, length: -1)
            // By its number: the rest of it is no part of the protocol.
            let id = address.split(separator: "/").last.map(String.init) ?? ""
            resources["/\(id)"] = resources.removeValue(forKey: address)
            return .answer(
                SimUploadAnswer(
                    status: 200, body: Array("<R><UploadId>\(id)</UploadId></R>".utf8),
                    names: "/\(id)"))
        case "PUT": return .body(SimIntake(target: .object, request: request))
        case "HEAD":
            guard let object = place.objects.last else {
                return .answer(SimUploadAnswer(status: 404))
            }
            let tag = SimUploadServer.tag(of: object).dropLast()
            let suffix = place.parts > 0 ? "-\(place.parts)" : ""
            return .answer(
                SimUploadAnswer(
                    status: 200,
                    fields: ["ETag": "\(tag)\(suffix)\"", "Content-Length": "\(object.count)"]))
        default: return .answer(SimUploadAnswer(status: 405))
        }
    }

    private func ofUpload(_ id: String, _ request: SimUploadRequest) -> Reply {
        guard let upload = resources[id], upload.place == request.place else {
            return .answer(Self.noSuchUpload)
        }
        resources[id]?.isKnown = true
        switch request.method {
        case "PUT":
            guard let number = request.query("partNumber").flatMap({ Int($0) }) else {
                return .answer(SimUploadAnswer(status: 400))
            }
            return .body(SimIntake(target: .part(id, number), request: request))
        case "POST": return .answer(join(id, upload, request))
        case "GET": return .answer(list(upload, request))
        case "DELETE":
            resources[id] = nil
            return .answer(SimUploadAnswer(status: 204))
        default: return .answer(SimUploadAnswer(status: 405))
        }
    }

    /// An error may come with a 200.
    private func join(
        _ id: String, _ upload: Resource, _ request: SimUploadRequest
    ) -> SimUploadAnswer {
        let numbers = Self.elements("PartNumber", in: request.text).compactMap { Int($0) }
        let tags = Self.elements("ETag", in: request.text)
        let parts = numbers.compactMap { upload.parts[$0] }
        let isInOrder = numbers == numbers.sorted() && Set(numbers).count == numbers.count
        let isLong = parts.dropLast().allSatisfy { $0.count >= Self.partLeast }
        guard isInOrder, isLong, !numbers.isEmpty, parts.count == numbers.count,
            parts.map({ SimUploadServer.tag(of: $0) }) == tags
        else {
            complaints.append("\(request.fetch) joins parts that are not there: \(numbers)")
            return SimUploadAnswer(
                status: 400, body: Array("<Error><Code>InvalidPart</Code></Error>".utf8))
        }
        if random.happens(trouble.lie) {
            return SimUploadAnswer(
                status: 200, body: Array("<Error><Code>InternalError</Code></Error>".utf8))
        }
        var object = SimBytes()
        for part in parts { object.append(part.runs, part.count) }
        resources[id] = nil
        publish(object, at: upload.place, parts: parts.count, request)
        return SimUploadAnswer(
            status: 200, body: Array("<R><ETag>\"x-\(parts.count)\"</ETag></R>".utf8))
    }

    private static let partsPerPage = 3

    /// ListParts, a page at a time.
    private func list(_ upload: Resource, _ request: SimUploadRequest) -> SimUploadAnswer {
        let after = request.query("part-number-marker").flatMap { Int($0) } ?? 0
        let rest = upload.parts.keys.sorted().filter { $0 > after }
        let page = rest.prefix(Self.partsPerPage)
        var text = "<ListPartsResult><IsTruncated>\(page.count < rest.count)</IsTruncated>"
        if let last = page.last {
            text += "<NextPartNumberMarker>\(last)</NextPartNumberMarker>"
        }
        for number in page {
            guard let part = upload.parts[number] else { continue }
            text +=
                "<Part><PartNumber>\(number)</PartNumber><ETag>\(SimUploadServer.tag(of: part))"
                + "</ETag><Size>\(part.count)</Size></Part>"
        }
        return SimUploadAnswer(
            status: 200, body: Array((text + "</ListPartsResult>").utf8))
    }

    private static func elements(_ name: String, in text: [UInt8]) -> [String] {
        String(decoding: text, as: UTF8.self).split(separator: "<").compactMap {
            $0.hasPrefix("\(name)>") ? String($0.dropFirst(name.count + 1)) : nil
        }
    }
}
