/// Plans the next request of an upload to S3: a small file goes as one object, a large one in parts
/// that become one in the end (Amazon S3 API Reference, CreateMultipartUpload and its neighbours).
struct S3Plan {
    private let plan: UploadPlan
    private let whole: () -> UploadExchange

    init(_ plan: UploadPlan, whole: @escaping () -> UploadExchange) {
        self.plan = plan
        self.whole = whole
    }

    private var url: String { plan.request.url }
    private var size: Int64 { plan.source.size }

    /// - Parameter others: The requests that are out. A part is sent beside other parts, and
    ///   nothing else is.
    func next(beside others: [UploadExchange]) -> UploadExchange? {
        let parts = S3Parts(plan.state, plan.options, size: size)
        let underWay = Set(others.compactMap(\.part))
        if size > parts.size, let id = plan.state.address, !plan.state.mustAsk,
            let number = parts.firstMissing(besides: underWay)
        {
            return part(number, parts, id)
        }
        guard others.isEmpty else { return nil }
        if size <= parts.size { return signed(whole()) }
        guard let id = plan.state.address else { return create() }
        if plan.state.isForgotten { return signed(exchange(.ask, "HEAD", url)) }
        return plan.state.mustAsk ? list(id) : complete(id)
    }

    func abort(_ id: String) -> UploadExchange {
        signed(exchange(.abort, "DELETE", "\(url)?uploadId=\(id)"))
    }

    private func create() -> UploadExchange {
        // libcurl signs the query as it is: a name without a value needs its equals sign.
        var exchange = exchange(.create, "POST", "\(url)?uploads=")
        exchange.body.content = UploadBody.Content()
        if !plan.request.options.headers.contains("Content-Type") {
            exchange.headers["Content-Type"] =
                plan.options.contentType ?? "application/octet-stream"
        }
        return signed(exchange)
    }

    private func part(_ number: Int, _ parts: S3Parts, _ id: String) -> UploadExchange {
        // Sorted, as the signature wants it.
        var exchange = exchange(.append, "PUT", "\(url)?partNumber=\(number)&uploadId=\(id)")
        exchange.part = number
        exchange.range = parts.range(of: number)
        exchange.completes = exchange.range.upperBound == size
        exchange.body.content = UploadBody.Content(file: exchange.range, pinned: plan.source)
        exchange.body.mayRepeat = true
        return signed(exchange)
    }

    /// Alone: a part that comes meanwhile would be missing in the list.
    private func list(_ id: String) -> UploadExchange {
        // Sorted, as the signature wants it.
        let marker = plan.state.listedThrough.map { "&part-number-marker=\($0)" } ?? ""
        let query = "max-parts=\(Limits.uploadPartsListed)\(marker)&uploadId=\(id)"
        return signed(exchange(.list, "GET", "\(url)?\(query)"))
    }

    private func complete(_ id: String) -> UploadExchange {
        var text = "<CompleteMultipartUpload>"
        for (index, tag) in plan.state.partTags.enumerated() {
            text += "<Part><PartNumber>\(index + 1)</PartNumber><ETag>\(tag)</ETag></Part>"
        }
        text += "</CompleteMultipartUpload>"
        var exchange = exchange(.complete, "POST", "\(url)?uploadId=\(id)")
        exchange.body.content = UploadBody.Content(before: Array(text.utf8))
        exchange.headers["Content-Type"] = "application/xml"
        return signed(exchange)
    }

    private func exchange(
        _ purpose: UploadExchange.Purpose, _ method: String, _ url: String
    ) -> UploadExchange {
        UploadExchange(
            purpose: purpose, url: url, headers: HeaderFields(), body: UploadBody(method: method),
            range: 0..<0, completes: false)
    }

    private func signed(_ exchange: UploadExchange) -> UploadExchange {
        var exchange = exchange
        exchange.body.signature = "aws:amz:\(plan.options.region ?? "us-east-1"):s3"
        exchange.headers["x-amz-content-sha256"] = "UNSIGNED-PAYLOAD"
        return exchange
    }
}

/// Chooses the user's header fields that go with a request of an upload.
extension UploadExchange {
    /// S3 refuses a part whose request has fields that describe the object (Amazon S3 API
    /// Reference, CreateMultipartUpload and its neighbours). Elsewhere all of them go with each.
    package func fields(of user: HeaderFields) -> HeaderFields {
        if body.signature == nil { return user }
        return HeaderFields(user.fields.filter { takes($0.name.lowercased()) })
    }

    private func takes(_ name: String) -> Bool {
        if S3Fields.ofEach.contains(name) { return true }
        // A key of the customer's own is needed by whatever reads or writes the object.
        if name.hasPrefix(S3Fields.customerKey) { return purpose != .abort }
        if S3Fields.conditions.contains(name) { return purpose == .whole || purpose == .complete }
        if S3Fields.ofCreation.contains(name) { return purpose == .create }
        // The digest of the file is none of a part.
        if name == "content-md5" || name.hasPrefix("x-amz-checksum-") { return purpose == .whole }
        let describes =
            S3Fields.ofObject.contains(name) || name.hasPrefix("x-amz-")
            || name.hasPrefix("x-goog-")
        return !describes || purpose == .whole || purpose == .create
    }
}

/// Names of header fields, in lower case.
private enum S3Fields {
    static let ofEach: Set<String> = [
        S3Keys.tokenField, "x-amz-request-payer", "x-amz-expected-bucket-owner",
    ]
    static let customerKey = "x-amz-server-side-encryption-customer-"
    static let conditions: Set<String> = ["if-match", "if-none-match"]
    static let ofCreation: Set<String> = ["x-amz-checksum-algorithm", "x-amz-checksum-type"]
    static let ofObject: Set<String> = [
        "cache-control", "content-disposition", "content-encoding", "content-language",
        "content-type", "expires",
    ]
}
