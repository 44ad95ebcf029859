/// Checks the address of a proxy before it is recorded, by the rules of libcurl (CURLOPT_PROXY(3)).
/// libcurl would find the fault only when the transfer runs, and would quote the address as given.
package enum ProxyAddress {
    /// `socks` is another word for `socks4`.
    private static let schemes: Set<String> = [
        "http", "https", "socks", "socks4", "socks4a", "socks5", "socks5h",
    ]

    /// The proxy is on this machine.
    package static func isLoopback(_ text: String) -> Bool {
        guard let host = try? URLParts(withoutUser(text)).host else { return false }
        return Loopback.isLoopback(host: host)
    }

    /// An empty text means no proxy, regardless of the variables. A path is no fault: it names the
    /// socket of a `socks5h://localhost/run/socks`.
    package static func check(_ text: String) throws(ProxyProblem) {
        if text.isEmpty { return }
        let (scheme, rest) = parts(of: text)
        if let scheme, !schemes.contains(scheme.lowercased()) { throw .unsupportedScheme }
        // A slash in the user information would make libcurl take the rest for a path and show it.
        let afterHost = rest.utf8.drop { $0 != 0x2F && $0 != 0x3F && $0 != 0x23 }
        if afterHost.contains(UInt8(ascii: "@")) { throw .badUser }
        do throws(URLProblem) {
            _ = try URLParts(withoutUser(text))
            let user = userInfo(of: text) ?? ""
            // libcurl refuses control characters, however they are written.
            let isBad = PercentDecoding.bytes(of: user).contains { $0 < 0x20 || $0 == 0x7F }
            if isBad || user.utf8.contains(0x20) { throw URLProblem.badCharacter }
        } catch {
            throw ProxyProblem(error)
        }
    }

    /// `user:password`, whether or not the rest is good.
    package static func userInfo(of text: String) -> Substring? {
        let rest = parts(of: text).rest
        return rest.utf8.lastIndex(of: UInt8(ascii: "@")).map { rest[..<$0] }
    }

    /// The address as a URL. libcurl takes the text before the last @ for the user of a proxy.
    private static func withoutUser(_ text: String) -> String {
        let rest = parts(of: text).rest
        return "http://\(userInfo(of: text).map { rest[$0.endIndex...].dropFirst() } ?? rest)"
    }

    private static func parts(of text: String) -> (scheme: Substring?, rest: Substring) {
        let bytes = text.utf8
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")),
            bytes[colon...].starts(with: "://".utf8)
        else { return (nil, text[...]) }
        return (text[..<colon], text[bytes.index(colon, offsetBy: 3)...])
    }
}

/// Why a text names no proxy that can be used. No case carries a part of it: any may be the
/// password.
package enum ProxyProblem: Error, Hashable, Sendable {
    case tooLong
    case badCharacter
    case badUser
    case unsupportedScheme
    case missingHost
    case badHost
    case badPort

    fileprivate init(_ problem: URLProblem) {
        self =
            switch problem {
            case .tooLong: .tooLong
            case .badCharacter: .badCharacter
            case .unsupportedScheme, .noScheme: .unsupportedScheme
            case .empty, .missingHost: .missingHost
            case .badUser: .badUser
            case .badHost: .badHost
            case .badPort: .badPort
            }
    }
}

extension ProxyProblem: CustomStringConvertible {
    package var description: String {
        switch self {
        case .tooLong: "the proxy's URL is longer than \(Limits.urlBytes) bytes"
        case .badCharacter:
            "the proxy's URL contains a space or a control character; write a space as %20"
        case .badUser:
            "a /, ?, # or @ in the proxy's user or password is written percent-encoded: %2F, %3F, "
                + "%23, %40"
        case .unsupportedScheme:
            "the proxy's scheme is none of http, https, socks4, socks4a, socks5 and socks5h"
        case .missingHost: "the proxy's URL names no host; a proxy is http://HOST:PORT"
        case .badHost: "the host in the proxy's URL is malformed"
        case .badPort: "the port in the proxy's URL is not a number from 1 to 65535"
        }
    }
}

extension LonghaulError {
    /// The refusal of a request with such a proxy.
    package init(_ problem: ProxyProblem, at place: String = "") {
        self.init(
            problem == .unsupportedScheme ? .unsupported : .invalidRequest, "\(place)\(problem)")
    }
}
