internal import LonghaulCore
internal import LonghaulStore

extension TransferChange {
    /// The change in the store's form: the URL with its origin, and the options as an edit.
    func inStore(now: Timestamp) throws(LonghaulError) -> RequestChange {
        var change = RequestChange()
        let object = try s3Object()
        let keys = url != nil && object == nil && user == nil ? S3Location().namedKeys : nil
        if let url = object?.url ?? url {
            change.url = (url, try TransferChange.parse(url).origin)
        }
        if let destination {
            var validator = RequestValidator()
            change.destination = try validator.place(of: destination)
        }
        var fields = fields
        if case let text?? = metadata {
            fields[\TransferOptions.metadata] = try RequestBounds.json(text, "metadata")
        }
        if var windows {
            try RequestValidator.setZone(of: &windows)
            fields[\TransferSchedule.windows] = windows
        }
        let said = fields.request
        try RequestValidator.check(said.options)
        try RequestBounds.check(said)
        try RequestValidator.check(earliest: said.earliestBegin)
        try RequestValidator.check(said.deadline)
        change.fields = fields
        let checked = self
        change.editOptions = { options throws(LonghaulError) in
            options.headers = options.headers.changed(by: checked.headers)
            if checked.url != nil { options.s3?.askedURL = nil }
            let before = S3FoundKeys(of: options)
            try object?.apply(to: &options)
            if options.s3 != nil { keys?.apply(to: &options) }
            if S3FoundKeys(of: options) != before { options.s3?.keysChosenAt = now }
        }
        change.finish = { request throws(LonghaulError) in
            if checked.url != nil { request = UploadPlace.named(request) }
            try RequestBounds.check(request)
            if checked.completesFile { try UploadValidator.endGrowth(of: &request) }
            guard let upload = request.options.upload else {
                try checked.checkDestination(policy: request.options.ifExists)
                return
            }
            if checked.destination != nil {
                throw LonghaulError(
                    .invalidRequest, "only a download has a destination; leave out -o")
            }
            if checked.expectedBytes != nil {
                throw LonghaulError(
                    .invalidRequest, "the size of an upload is that of its file; leave it out")
            }
            try UploadValidator.check(upload, of: request, to: TransferChange.parse(request.url))
        }
        return change
    }

    /// Refuses a new destination that exists, unless it may be replaced.
    private func checkDestination(policy: ExistingFilePolicy) throws(LonghaulError) {
        guard let destination, policy == .fail else { return }
        let path = try RequestValidator.file(destination)
        if RequestValidator.exists(path) { throw RequestValidator.occupied(path) }
    }

    private static func parse(_ url: String) throws(LonghaulError) -> URLParts {
        do throws(URLProblem) {
            return try URLParts(url)
        } catch {
            throw LonghaulError(.invalidRequest, error.description)
        }
    }

    /// `nil` = not an S3 URL.
    private func s3Object() throws(LonghaulError) -> S3Object? {
        guard let url, url.beginsIgnoringCase(with: "s3:") else { return nil }
        var request = TransferRequest(url: url, destination: .file(""))
        request.options.user = user ?? nil
        request.options.headers = request.options.headers.changed(by: headers)
        let location = S3Location()
        let placed = try location.placed(request)
        return S3Object(
            placed: placed,
            keyed: Result { () throws(LonghaulError) in try location.withKeys(placed) })
    }
}

/// An `s3:` URL that a transfer is given, as the command finds its region and keys.
private struct S3Object: Sendable {
    /// The request with its URL over HTTP and its region.
    var placed: TransferRequest
    /// The request with its keys, too.
    var keyed: Result<TransferRequest, LonghaulError>

    var url: String { placed.url }

    /// Keys that an upload to S3 has stay where no others are found.
    func apply(to options: inout TransferOptions) throws(LonghaulError) {
        if let upload = options.upload { try UploadValidator.checkTakesS3(upload) }
        let before = options.s3
        options.s3 = placed.options.s3
        switch keyed {
        case .success(let found): S3FoundKeys(of: found.options).apply(to: &options)
        case .failure(let problem):
            options.s3?.profile = before?.profile
            if before == nil || options.user == nil && before?.profile == nil { throw problem }
        }
        options.s3?.keysChosenAt = before?.keysChosenAt
        options.caCertificate = options.caCertificate ?? placed.options.caCertificate
        options.upload?.uploadProtocol = .s3
    }
}
