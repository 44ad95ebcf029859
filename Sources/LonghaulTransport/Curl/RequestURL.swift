internal import CLonghaul

/// The parts of a URL that the transport needs, taken from libcurl's own parser, so that
/// comparisons match the request that is sent.
struct RequestURL {
    /// Scheme, host and port: what credentials belong to (RFC 6454 §4).
    struct Origin: Hashable {
        var scheme: String
        var host: String
        var port: String

        var text: String { "\(scheme)://\(host):\(port)" }
    }

    let text: String
    let origin: Origin
    /// Decoded; `nil` = not given.
    let user: String?
    let password: String?

    /// `nil` if libcurl cannot parse it.
    init?(_ text: String) {
        self.init(reference: text, base: nil)
    }

    /// Resolves a Location value against the URL of its answer (RFC 9110 §10.2.2).
    init?(location: String, base: RequestURL) {
        self.init(reference: location, base: base.text)
    }

    private init?(reference: String, base: String?) {
        guard let parts = curl_url() else { return nil }
        defer { curl_url_cleanup(parts) }
        // Servers send spaces and raw bytes in Location; unknown schemes are refused later, with
        // their name.
        let lenient = UInt32(CURLU_URLENCODE | CURLU_ALLOW_SPACE | CURLU_NON_SUPPORT_SCHEME)
        let strict = UInt32(CURLU_NON_SUPPORT_SCHEME)
        if let base {
            guard curl_url_set(parts, CURLUPART_URL, base, strict) == CURLUE_OK,
                curl_url_set(parts, CURLUPART_URL, reference, lenient) == CURLUE_OK
            else { return nil }
        } else {
            guard curl_url_set(parts, CURLUPART_URL, reference, strict) == CURLUE_OK else {
                return nil
            }
        }
        func part(_ which: CURLUPart, _ flags: Int32 = 0) -> String? {
            var value: UnsafeMutablePointer<CChar>?
            guard curl_url_get(parts, which, &value, UInt32(flags)) == CURLUE_OK, let value else {
                return nil
            }
            defer { curl_free(value) }
            return String(cString: value)
        }
        guard let scheme = part(CURLUPART_SCHEME)?.lowercased() else { return nil }
        let host = part(CURLUPART_HOST) ?? ""
        let port = part(CURLUPART_PORT, CURLU_DEFAULT_PORT) ?? ""
        text = base == nil ? reference : part(CURLUPART_URL) ?? reference
        origin = Origin(scheme: scheme, host: host.lowercased(), port: port)
        user = part(CURLUPART_USER, CURLU_URLDECODE)
        password = part(CURLUPART_PASSWORD, CURLU_URLDECODE)
    }
}

extension RequestURL {
    /// `scheme://authority` as written, for the queue's bookkeeping, where parsing every URL would
    /// cost too much.
    static func prefix(of url: String) -> Substring {
        var url = url
        let length = url.withUTF8 { bytes in
            guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else { return bytes.count }
            var index = colon + 1
            while index < bytes.count, bytes[index] == UInt8(ascii: "/") { index += 1 }
            while index < bytes.count, !endsAuthority(bytes[index]) { index += 1 }
            return index
        }
        return url[..<url.utf8.index(url.startIndex, offsetBy: length)]
    }

    private static func endsAuthority(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#")
    }

    /// The scheme as written, in lower case; empty if missing (RFC 3986 §3.1).
    static func scheme(of url: String) -> String {
        guard let colon = url.utf8.firstIndex(of: UInt8(ascii: ":")) else { return "" }
        let scheme = url[..<colon].lowercased()
        let isScheme = scheme.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."):
                true
            default: false
            }
        }
        return isScheme ? scheme : ""
    }

    /// Without user and password: the form that may be stored and shown.
    static func withoutUserInfo(_ url: String) -> String {
        var url = url
        guard url.withUTF8({ $0.contains(UInt8(ascii: "@")) }) else { return url }
        let prefix = prefix(of: url)
        guard let at = prefix.utf8.lastIndex(of: UInt8(ascii: "@")),
            let slash = prefix.utf8.lastIndex(of: UInt8(ascii: "/"))
        else { return url }
        return url[..<url.utf8.index(after: slash)] + String(url[url.utf8.index(after: at)...])
    }
}
