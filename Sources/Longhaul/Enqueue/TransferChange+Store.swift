internal import LonghaulCore
internal import LonghaulStore

extension TransferChange {
    /// As the store wants it: the URL with its origin, and the options as an edit.
    func inStore() throws(LonghaulError) -> RequestChange {
        var change = RequestChange()
        if let url {
            do throws(URLProblem) {
                change.url = (url, try URLParts(url).origin)
            } catch {
                throw LonghaulError(.invalidRequest, error.description)
            }
        }
        if case let proxy?? = proxy { try RequestValidator.check(proxy: proxy) }
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
        if changesOptions {
            var edit = self
            if case let text?? = metadata { edit.metadata = try RequestBounds.json(text, "metadata") }
            let checked = edit
            change.editOptions = { options throws(LonghaulError) in
                checked.apply(to: &options)
                try RequestBounds.check(options)
            }
        }
        return change
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
