import Longhaul

/// Lines for the options that differ from the defaults.
enum OptionLines {
    static func of(_ options: TransferOptions) -> [(label: String, value: String)] {
        let usual = TransferOptions()
        var lines: [(String, String)] = []
        func add(_ label: String, _ value: String?) {
            if let value { lines.append((label, TerminalText.shown(value))) }
        }
        func add(_ label: String, _ flag: Bool, _ words: String = "yes") {
            if flag { add(label, words) }
        }
        add("Rate limit", options.limitRate.map { Units.rate(Double($0)) })
        add("Yields", options.yields.map { $0 ? "on" : "off" })
        if case .exactly(let count) = options.connections { add("Connections", "\(count)") }
        add("Largest size", options.maxSize.map(Units.size))
        add("Retries", options.retries.map(String.init))
        if options.ifExists != usual.ifExists { add("If it exists", options.ifExists.rawValue) }
        if options.onDuplicate != usual.onDuplicate {
            add("On duplicate", options.onDuplicate.rawValue)
        }
        add("Remote name", options.remoteName)
        add("Reuse", options.reuse)
        for mirror in options.mirrors { add("Mirror", Redaction.url(mirror)) }
        let headers = options.headers.fields.map(\.name).joined(separator: ", ")
        if !headers.isEmpty { add("Headers", headers) }
        add("User", options.user != nil, "given")
        add("Netrc", options.netrc)
        add("Proxy", options.proxy.map { $0.isEmpty ? "none" : Redaction.url($0) })
        add("Authorities", options.caCertificate)
        add("Certificate", options.clientCertificate)
        add("Key", options.clientKey)
        add("Insecure", options.insecure, "the server's certificate is not verified")
        return lines
    }
}
