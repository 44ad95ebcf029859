/// The address of an upload resource, from the field `Location` (RFC 9110 §10.2.2).
package enum UploadAddress {
    /// `nil` if an upload may not be sent there: another scheme than HTTP's, or from https to http
    /// at another host. At the same host the scheme is that of the requested URL: a server behind a
    /// proxy may not know that it is reached by https.
    package static func resolve(_ location: String, at base: String) -> String? {
        let text = location.trimmingBlanks
        guard !text.isEmpty, let base = try? URLParts(base) else { return nil }
        let resolved = absolute(text, base)
        guard let parts = try? URLParts(resolved), parts.scheme == .http || parts.scheme == .https
        else { return nil }
        if parts.scheme == .https || base.scheme == .http { return resolved }
        guard parts.host == base.host else { return nil }
        let query = parts.query.map { "?" + $0 } ?? ""
        return "https://\(authority(of: base))\(parts.path)\(query)"
    }

    /// The answer gives an address with http: to a request by https.
    package static func isDowngrade(in head: ResponseHead) -> Bool {
        head.headers["Location"]?.trimmingBlanks.beginsIgnoringCase(with: "http:") == true
            && head.effectiveURL.beginsIgnoringCase(with: "https:")
    }

    /// The address with user and password of the upload's own URL, which a server does not repeat.
    /// They are for that URL's origin alone.
    static func withUser(of url: String, _ address: String) -> String {
        guard let own = try? URLParts(url), let user = own.userInfo,
            let parts = try? URLParts(address), parts.userInfo == nil, parts.origin == own.origin,
            let mark = address.utf8.firstRange(of: "://".utf8)
        else { return address }
        return address[..<mark.upperBound] + user + "@" + address[mark.upperBound...]
    }

    private static func absolute(_ text: String, _ base: URLParts) -> String {
        let prefix = "\(base.scheme.rawValue)://\(authority(of: base))"
        if let mark = text.utf8.firstRange(of: "://".utf8), hasScheme(text[..<mark.lowerBound]) {
            return text
        }
        if text.utf8.starts(with: "//".utf8) { return "\(base.scheme.rawValue):\(text)" }
        if text.utf8.first == UInt8(ascii: "/") { return prefix + text }
        if text.utf8.first == UInt8(ascii: "?") { return prefix + base.path + text }
        let path = base.path
        let directory = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[...$0]) }
        return prefix + (directory ?? "/") + text
    }

    private static func hasScheme(_ text: Substring) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit || $0 == 0x2B }
    }

    /// Host and port as written, without user information. By the byte: a slash with a combining
    /// mark after it is another character, and what follows would be taken for the host.
    private static func authority(of base: URLParts) -> Substring {
        guard let mark = base.url.utf8.firstRange(of: "://".utf8) else { return "" }
        let rest = base.url.utf8[mark.upperBound...]
        let authority = rest.prefix { !"/?#".utf8.contains($0) }
        guard let at = authority.lastIndex(of: UInt8(ascii: "@")) else {
            return Substring(authority)
        }
        return Substring(authority[authority.index(after: at)...])
    }
}
