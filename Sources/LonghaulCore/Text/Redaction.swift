/// Takes secrets out of what is shown: the userinfo of URLs and the values of query parameters that carry signatures or
/// tokens. Names stay, so that people see what was there.
package enum Redaction {
    package static let mark = "REDACTED"

    /// Lower case; compared without regard to case. What ends in one of ``suffixes`` counts too.
    private static let names: Set<String> = [
        "sig", "signature", "token", "key", "apikey", "api_key", "api-key", "password", "passwd",
        "pwd", "secret", "auth", "authorization", "jwt", "code", "session", "sessionid", "sid",
        "awsaccesskeyid", "policy", "key-pair-id", "credential", "x-amz-signature",
        "x-amz-credential", "x-amz-security-token", "x-goog-signature", "x-goog-credential",
        "access_token", "id_token", "refresh_token", "se", "sv", "hdnts", "hdnea",
    ]
    private static let suffixes = [
        "token", "signature", "secret", "password", "credential", "_key",
    ]

    /// Of something that is a URL; anything else comes back as it is, see ``text(_:)``.
    package static func url(_ url: String) -> String {
        text(url)
    }

    /// Works on any text that may be, or hold, a URL: errors quote what users typed.
    package static func text(_ text: String) -> String {
        guard text.utf8.contains(UInt8(ascii: "?")) || text.utf8.contains(UInt8(ascii: "@"))
        else { return text }
        return query(userInfo(text))
    }

    private static func userInfo(_ text: String) -> String {
        var result = ""
        var rest = Substring(text)
        while let mark = rest.range(ofText: "://") {
            result += rest[..<mark.upperBound]
            rest = rest[mark.upperBound...]
            let authority = rest.prefix { !"/?# \t\n".contains($0) }
            if let at = authority.lastIndex(of: "@") {
                result += Redaction.mark
                rest = rest[at...]
            }
        }
        return result + rest
    }

    private static func query(_ text: String) -> String {
        guard let start = text.firstIndex(of: "?") else { return text }
        var result = String(text[...start])
        var rest = text[text.index(after: start)...]
        while !rest.isEmpty {
            let pair = rest.prefix { !"&;#? ".contains($0) }
            result += redacted(pair)
            rest = rest[pair.endIndex...]
            if let separator = rest.first {
                result.append(separator)
                rest.removeFirst()
            }
        }
        return result
    }

    private static func redacted(_ pair: Substring) -> String {
        guard let equals = pair.firstIndex(of: "=") else { return String(pair) }
        let name = PercentDecoding.text(pair[..<equals]).lowercased()
        guard names.contains(name) || suffixes.contains(where: { name.hasSuffix($0) })
        else { return String(pair) }
        return pair[...equals] + mark
    }
}

extension Substring {
    fileprivate func range(ofText text: String) -> Range<Substring.Index>? {
        var start = startIndex
        while start < endIndex {
            if self[start...].hasPrefix(text) {
                return start..<index(start, offsetBy: text.count)
            }
            start = index(after: start)
        }
        return nil
    }
}
