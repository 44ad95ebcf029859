package import LonghaulCore

extension JSONText {
    /// Under the names that a request has them in JSON Lines; secrets redacted.
    package mutating func optionFields(_ options: TransferOptions) {
        field("headers", array: options.headers.fields) { $0.value($1.name) }
        field("user", options.user.map { _ in Redaction.mark })
        field("netrc", options.netrc)
        field("proxy", options.proxy.map(Redaction.url))
        field("cacert", options.caCertificate)
        field("cert", options.clientCertificate)
        field("key", options.clientKey)
        field("insecure", options.insecure)
        field("mirrors", array: options.mirrors) { $0.value(Redaction.url($1)) }
        field("ifExists", options.ifExists.rawValue)
        field("onDuplicate", options.onDuplicate.rawValue)
        field("reuse", options.reuse)
        field("limitRate", options.limitRate)
        if let yields = options.yields {
            field("yield", yields)
        } else {
            field("yield", String?.none)
        }
        switch options.connections {
        case .automatic: field("connections", "auto")
        case .exactly(let count): field("connections", count)
        }
        field("maxSize", options.maxSize)
        field("retries", options.retries)
        field("remoteName", options.remoteName)
        field("waiveAfter", seconds: options.waiveAfter)
    }
}
