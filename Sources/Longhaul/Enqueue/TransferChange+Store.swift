internal import LonghaulCore
internal import LonghaulStore

extension TransferChange {
    /// The change in the store's form: the URL with its origin, and the options as an edit.
    func inStore() throws(LonghaulError) -> RequestChange {
        var change = RequestChange()
        let object = try s3Object()
        if let url = object?.url ?? url {
            change.url = (url, try TransferChange.parse(url).origin)
        }
        if case let proxy?? = proxy { try RequestValidator.check(proxy: proxy) }
        if let destination {
            var validator = RequestValidator()
            change.destination = try validator.place(of: destination)
        }
        for case let path?? in [caCertificate, clientCertificate, clientKey] {
            try RequestValidator.checkFile(path)
        }
        change.priority = priority
        change.isDiscretionary = isDiscretionary
        change.window = window
        try RequestBounds.check(requires)
        change.requires = requires
        try RequestBounds.check(prefers ?? nil)
        change.prefers = prefers
        try RequestValidator.check(earliest: earliestBegin ?? nil)
        change.earliestBegin = earliestBegin
        if let deadline { try RequestValidator.check(deadline) }
        change.deadline = deadline
        try RequestBounds.check(expectedBytes: expectedBytes ?? nil)
        change.expectedBytes = expectedBytes
        var edit = self
        if case let text?? = metadata {
            edit.metadata = try RequestBounds.json(text, "metadata")
        }
        let checked = edit
        if changesOptions || url != nil {
            change.editOptions = { options throws(LonghaulError) in
                checked.apply(to: &options)
                if checked.url != nil { options.upload?.askedURL = nil }
                try object?.apply(to: &options)
                try RequestBounds.check(options)
            }
        }
        change.finish = { request throws(LonghaulError) in
            if checked.url != nil { request = UploadPlace.named(request) }
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

    /// Refuses a new destination at which there is a file, unless that may be replaced.
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

    /// `nil` = its URL is none of S3.
    private func s3Object() throws(LonghaulError) -> S3Object? {
        guard let url, url.beginsIgnoringCase(with: "s3:") else { return nil }
        var request = TransferRequest(url: url, destination: .file(""))
        request.options.upload = UploadOptions()
        request.options.user = user ?? nil
        request.options.headers = request.options.headers.changed(by: headers)
        let location = S3Location()
        let placed = try location.placed(request)
        return S3Object(
            placed: placed,
            keyed: Result { () throws(LonghaulError) in try location.withKeys(placed) })
    }

    private var changesOptions: Bool {
        !headers.isEmpty || user != nil || limitRate != nil || yields != nil
            || connections != nil || changesIdentity
            || checksum != nil || stallTimeout != nil || retries != nil || maxSize != nil
            || mirrors != nil || metadata != nil || waiveAfter != nil || ifExists != nil
    }

    private var changesIdentity: Bool {
        proxy != nil || caCertificate != nil || clientCertificate != nil || clientKey != nil
            || usesNetrc != nil || isInsecure != nil
    }

    private func applyIdentity(to options: inout TransferOptions) {
        if let user { options.user = user }
        if let proxy { options.proxy = proxy }
        if let caCertificate { options.caCertificate = caCertificate }
        if let clientCertificate { options.clientCertificate = clientCertificate }
        if let clientKey { options.clientKey = clientKey }
        if let usesNetrc { options.netrc = usesNetrc }
        if let isInsecure { options.insecure = isInsecure }
    }

    private func apply(to options: inout TransferOptions) {
        options.headers = options.headers.changed(by: headers)
        applyIdentity(to: &options)
        if let limitRate { options.limitRate = limitRate }
        if let yields { options.yields = yields }
        if let connections { options.connections = connections }
        if let checksum { options.checksum = checksum }
        if let stallTimeout { options.stallTimeout = stallTimeout }
        if let waiveAfter { options.waiveAfter = waiveAfter }
        if let retries { options.retries = retries }
        if let maxSize { options.maxSize = maxSize }
        if let mirrors { options.mirrors = mirrors }
        if let metadata { options.metadata = metadata }
        if let ifExists { options.ifExists = ifExists }
    }
}

/// An `s3:` URL that an upload is given, as the command finds its region and keys.
private struct S3Object: Sendable {
    /// The request with its URL over HTTP and its region.
    var placed: TransferRequest
    /// The request with its keys, too.
    var keyed: Result<TransferRequest, LonghaulError>

    var url: String { placed.url }

    /// Keys that an upload to S3 has stay where no others are found.
    func apply(to options: inout TransferOptions) throws(LonghaulError) {
        guard var upload = options.upload else {
            throw LonghaulError(.unsupported, URLProblem.unsupportedScheme("s3").description)
        }
        try UploadValidator.checkTakesS3(upload)
        switch keyed {
        case .success(let found):
            options.user = found.options.user
            options.headers[S3Keys.tokenField] = found.options.headers[S3Keys.tokenField]
            upload.profile = found.options.upload?.profile
        case .failure(let problem):
            let hasKeys = options.user != nil || upload.profile != nil
            if upload.uploadProtocol != .s3 || !hasKeys { throw problem }
        }
        options.caCertificate = options.caCertificate ?? placed.options.caCertificate
        upload.uploadProtocol = .s3
        upload.region = placed.options.upload?.region
        upload.askedURL = placed.options.upload?.askedURL
        options.upload = upload
    }
}
