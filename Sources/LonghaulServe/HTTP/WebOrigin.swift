internal import Longhaul
internal import LonghaulPlatform

/// `HOST` or `HOST:PORT`, lower case.
struct HostAndPort: Equatable, Sendable {
    /// An IPv6 address without its brackets.
    let name: String
    let isBracketed: Bool
    let port: UInt16?

    init?(_ text: some StringProtocol) {
        let text = text.lowercased()
        let end = text.lastIndex(of: "]").map { text.index(after: $0) } ?? text.startIndex
        var host = text[...]
        if let colon = text[end...].lastIndex(of: ":") {
            guard let number = String(text[text.index(after: colon)...]).decimalValue,
                let port = UInt16(exactly: number)
            else { return nil }
            (host, self.port) = (text[..<colon], port)
        } else {
            port = nil
        }
        isBracketed = host.hasPrefix("[") && host.hasSuffix("]") && host.utf8.count > 2
        if isBracketed {
            name = String(host.dropFirst().dropLast())
            guard HostAddress(name)?.isIPv6 == true else { return nil }
        } else {
            name = String(host)
            guard !name.isEmpty, name.utf8.allSatisfy({ $0.isHostCharacter && $0 < 0x80 }) else {
                return nil
            }
        }
    }
}

/// The origin of a page, `SCHEME://HOST[:PORT]` (RFC 6454).
enum WebOrigin {
    /// The origin as a browser sends it: in lower case, without a slash at its end and without the
    /// port that its scheme has anyway. `nil` for everything else.
    static func normal(_ text: String) -> String? {
        var (scheme, rest) = split(text)
        scheme = scheme.lowercased()[...]
        if rest.hasSuffix("/") { rest = rest.dropLast() }
        guard scheme.utf8.first?.isASCIILetter == true,
            scheme.utf8.allSatisfy({ $0.isSchemeCharacter }), let host = HostAndPort(rest)
        else { return nil }
        let name = host.isBracketed ? "[\(host.name)]" : host.name
        let origin = "\(scheme)://\(name)"
        guard let port = host.port, port != ports[String(scheme)] else { return origin }
        return "\(origin):\(port)"
    }

    static func host(of origin: String) -> HostAndPort? { HostAndPort(split(origin).rest) }

    /// Both empty where there is no `://`.
    private static func split(_ text: String) -> (scheme: Substring, rest: Substring) {
        guard let colon = text.firstIndex(of: ":"), text[colon...].hasPrefix("://") else {
            return ("", "")
        }
        return (text[..<colon], text[colon...].dropFirst(3))
    }

    private static let ports: [String: UInt16] = ["http": 80, "https": 443]
}
