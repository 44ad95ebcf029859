/// Removes secrets from output: lists, logs, errors, events. Stored text keeps them.
///
/// Redacted are a URL's user information and the values of parameters, of its query or its path,
/// that carry signatures, tokens or keys; the names stay. Values of the header fields of requests
/// are never shown.
package enum Redaction {
    /// The mark in the place of a secret.
    package static let mark = "REDACTED"

    /// A URL, well-formed or not.
    package static func url(_ url: String) -> String {
        if !url.utf8.contains(where: { $0 == 0x40 || $0 == 0x3D }) { return url }  // @ or =
        return String(decoding: redacted(Array(url.utf8)[...]), as: UTF8.self)
    }

    /// True if ``url(_:)`` has taken a secret out of it.
    package static func isRedacted(_ url: String) -> Bool {
        if !url.utf8.contains(where: { $0 == 0x40 || $0 == 0x3D }) { return false }  // @ or =
        // A longer one is refused as a URL.
        if url.utf8.count > Limits.urlBytes || self.url(url) != url { return false }
        let other = String(decoding: replacing(mark, with: "a", in: url.utf8), as: UTF8.self)
        return other != url && self.url(other) != other
    }

    /// A sentence that may have URLs in it.
    package static func text(_ text: String) -> String {
        if !text.utf8.contains(where: { $0 == 0x40 || $0 == 0x3D }) { return text }
        var result: [UInt8] = []
        var word: [UInt8] = []
        for byte in withoutQuotedProxy(Array(text.utf8)) {
            if endsURL(byte) {
                result += shownWord(word)
                word.removeAll(keepingCapacity: true)
                result.append(byte)
            } else {
                word.append(byte)
            }
        }
        result += shownWord(word)
        return String(decoding: result, as: UTF8.self)
    }

    /// The value of a field of an answer: its URLs redacted, nothing of a cookie or a token.
    package static func value(_ value: String, ofField name: String) -> String {
        let lower = name.lowercased()
        if parts.contains(where: lower.contains) || ends.contains(where: lower.hasSuffix) {
            return mark
        }
        switch lower {
        case "location", "content-location": return url(value)
        // URLs in the field may be relative (RFC 8288 §3).
        case "link":
            let pieces = value.utf8.split(
                separator: UInt8(ascii: "<"), omittingEmptySubsequences: false)
            return pieces.map(Substring.init).map { piece in
                guard let end = piece.utf8.firstIndex(of: UInt8(ascii: ">")) else {
                    return text(String(piece))
                }
                return url(String(piece[..<end])) + piece[end...]
            }.joined(separator: "<")
        default: return text(value)
        }
    }

    // MARK: Bytes

    private static let schemeEnd = Array("://".utf8)

    /// How libcurl begins to quote a proxy that it cannot use. Blanks and quotes in it are no end.
    private static let quotingStart = Array("Unsupported proxy".utf8)

    private static func withoutQuotedProxy(_ text: [UInt8]) -> [UInt8] {
        guard let start = text.indices.first(where: { text[$0...].starts(with: quotingStart) }),
            let open = text[start...].firstIndex(of: UInt8(ascii: "'"))
        else { return text }
        let close = text[(open + 1)...].lastIndex(of: UInt8(ascii: "'")) ?? text.endIndex
        return Array(text[...open]) + Array(mark.utf8) + text[close...]
    }

    /// Sources of bundles whose version stands behind an `@`.
    private static let versioned = ["hf:", "github:", "oci:"]

    /// `user:password@host` without a scheme, as proxies are often given. The `user` of a path is
    /// not a user name.
    private static func userInfoWithoutScheme(_ word: [UInt8]) -> Range<Int>? {
        guard let colon = word.firstIndex(where: { $0 == 0x3A || $0 == 0x40 || $0 == 0x2F }),
            colon > 0, word[colon] == 0x3A,
            let at = word.lastIndex(of: UInt8(ascii: "@")), at > colon,
            !versioned.contains(where: { word[...colon].elementsEqual($0.utf8) })
        else { return nil }
        let start = word[..<colon].firstIndex { $0 != UInt8(ascii: "(") } ?? colon
        return start..<at
    }

    private static func shownWord(_ word: [UInt8]) -> [UInt8] {
        guard let start = schemeEndIndex(in: word[...]) else {
            guard let secret = userInfoWithoutScheme(word) else { return word }
            return Array(word[..<secret.lowerBound]) + Array(mark.utf8)
                + word[secret.upperBound...]
        }
        // Characters before the scheme in the word, as an opening bracket, are not part of the URL.
        var scheme = start
        while scheme > 0, word[scheme - 1].isSchemeCharacter { scheme -= 1 }
        return word[..<scheme] + redacted(word[scheme...])
    }

    private static func redacted(_ url: ArraySlice<UInt8>) -> [UInt8] {
        var result: [UInt8] = []
        var rest = url
        if let start = schemeEndIndex(in: url) {
            let afterScheme = start + schemeEnd.count
            result += url[..<afterScheme]
            rest = url[afterScheme...]
            if let at = userInfoEnd(in: rest, wellFormed: isWellFormed(url)) {
                result += Array(mark.utf8)
                rest = rest[at...]
            }
        }
        let query = rest.firstIndex { $0 == 0x3F || $0 == 0x23 } ?? rest.endIndex
        result += redactedPath(rest[..<query])
        result += redactedParameters(rest[query...])
        return result
    }

    /// `/a;jsessionid=1/b`: a segment may have parameters (RFC 3986 §3.3).
    private static func redactedPath(_ path: ArraySlice<UInt8>) -> [UInt8] {
        var result: [UInt8] = []
        var rest = path
        while let start = rest.firstIndex(of: UInt8(ascii: ";")) {
            let end = rest[start...].firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
            result += rest[..<start] + redactedParameters(rest[start..<end])
            rest = rest[end...]
        }
        return result + rest
    }

    /// The place of the `@` that ends the user information. In a malformed URL that is the last one
    /// at all: a slash in a password must not show the rest of it.
    private static func userInfoEnd(in rest: ArraySlice<UInt8>, wellFormed: Bool) -> Int? {
        guard wellFormed else { return rest.lastIndex(of: UInt8(ascii: "@")) }
        let authority = rest.prefix { $0 != 0x2F && $0 != 0x3F && $0 != 0x23 }
        // `http://user:/secret@host` reads as a host with an empty port, which no URL has in
        // practice.
        if authority.last == UInt8(ascii: ":") { return rest.lastIndex(of: UInt8(ascii: "@")) }
        guard let at = authority.lastIndex(of: UInt8(ascii: "@")), at > authority.startIndex
        else { return nil }
        return at
    }

    private static func isWellFormed(_ url: ArraySlice<UInt8>) -> Bool {
        (try? URLParts(String(decoding: url, as: UTF8.self))) != nil
    }

    /// `?a=1&b=2` or `#a=1`: values of secret names are replaced. Tokens come in fragments too (RFC
    /// 6749 §4.2.2).
    private static func redactedParameters(_ query: ArraySlice<UInt8>) -> [UInt8] {
        var result: [UInt8] = []
        var name: [UInt8] = []
        var state = State.name
        for byte in query {
            // A later ? belongs to a value (RFC 3986 §3.4).
            if byte == 0x23 || byte == 0x26 || byte == 0x3B || result.isEmpty {  // # & ;
                state = .name
                name.removeAll(keepingCapacity: true)
                result.append(byte)
                continue
            }
            switch state {
            case .name:
                result.append(byte)
                if byte == UInt8(ascii: "=") {
                    let isSecret = isSecret(parameter: String(decoding: name, as: UTF8.self))
                    state = isSecret ? .secret : .value
                    if isSecret { result += Array(mark.utf8) }
                } else {
                    name.append(byte)
                }
            case .value: result.append(byte)
            case .secret: break
            }
        }
        return result
    }

    private enum State { case name, value, secret }

    private static func schemeEndIndex(in bytes: ArraySlice<UInt8>) -> Int? {
        guard bytes.count >= schemeEnd.count else { return nil }
        return (bytes.startIndex...bytes.endIndex - schemeEnd.count).first {
            bytes[$0] == schemeEnd[0] && bytes[$0 + 1] == schemeEnd[1]
                && bytes[$0 + 2] == schemeEnd[2]
        }
    }

    /// Blanks, quotes and angle brackets enclose URLs in sentences.
    private static func endsURL(_ byte: UInt8) -> Bool {
        byte <= 0x20 || byte == 0x22 || byte == 0x27 || byte == 0x3C || byte == 0x3E
    }
}

extension Redaction {
    /// True if the value of a query parameter of that name is a secret, compared after decoding and
    /// without regard to case.
    ///
    /// There is no complete list of such names in services and programs, and no reader misses a
    /// value that is hidden for nothing: names are judged by the words in them.
    package static func isSecret(parameter name: some StringProtocol) -> Bool {
        let name = PercentDecoding.text(name)
        let lower = name.lowercased()
        return parts.contains(where: lower.contains) || ends.contains(where: lower.hasSuffix)
            || words(of: name).contains(where: secretWords.contains)
    }

    /// Wherever they stand: no other word has them in it.
    private static let parts = [
        "token", "secret", "password", "passwd", "passkey", "passphrase", "passcode", "credential",
        "signature", "session", "sessid", "ticket", "cookie", "authoriz", "oauth", "accesskey",
        "accessid", "hmac",
    ]
    /// `rlkey`, `tempauth`, `urlsig`; with `key` at its end a name rarely is anything else.
    private static let ends = ["key", "auth", "sig"]
    /// Words that count alone, for they are part of others: `keyword`, `design`, `author`,
    /// `encode`, `outside`.
    private static let secretWords: Set<String> = [
        "key", "keys", "sig", "sign", "auth", "authkey", "pass", "pwd", "pw", "pin", "otp", "nonce",
        "jwt", "sas", "sid", "sess", "code", "verify", "verifier", "policy", "bearer", "secure",
        // nginx, Akamai.
        "md5", "mac", "hash", "hdnts", "hdnea", "hdntl", "gda",
    ]

    /// `X-Key`, `auth_key`, `user[key]` and `apiKey` have two each.
    private static func words(of name: String) -> [String] {
        var words: [String] = []
        var word = ""
        var wasSmall = false
        for scalar in name.unicodeScalars {
            let isBig = ("A"..."Z").contains(scalar)
            let isSmall = ("a"..."z").contains(scalar) || ("0"..."9").contains(scalar)
            if (isBig && wasSmall) || !(isBig || isSmall) {
                words.append(word)
                word = ""
            }
            if isBig || isSmall { word.unicodeScalars.append(scalar) }
            wasSmall = isSmall
        }
        words.append(word)
        return words.map { $0.lowercased() }
    }
}
