/// The parts of an absolute URL, found in one pass over its bytes and not decoded.
///
/// Only what Longhaul can fetch is accepted: http, https, ftp, ftps and sftp with a host. Control
/// characters and spaces are refused wherever they stand: they are how requests and log lines are
/// forged.
package struct URLParts: Hashable, Sendable {
    package let url: String
    package let scheme: Scheme
    /// Host as written, after the user information; an IPv6 address without its brackets.
    private let hostBytes: Range<Int>
    private let userInfoBytes: Range<Int>
    private let pathBytes: Range<Int>
    /// Excludes the question mark; empty without a query.
    private let queryBytes: Range<Int>
    private let fragmentBytes: Range<Int>
    private let hostIsIPv6: Bool
    /// The port that is connected to: the one given, else the scheme's.
    package let port: UInt16

    package enum Scheme: String, Hashable, Sendable, CaseIterable {
        case http, https, ftp, ftps, sftp

        package var defaultPort: UInt16 {
            switch self {
            case .http: 80
            case .https: 443
            case .ftp: 21
            case .ftps: 990
            case .sftp: 22
            }
        }
    }

    package init(_ url: String) throws(URLProblem) {
        var url = url
        // A failure is carried out of the closure as a value: typed throws do not cross it.
        let found = url.withUTF8 { URLScanner(bytes: $0).scan() }
        let parts = try found.get()
        self.url = url
        scheme = parts.scheme
        hostBytes = parts.host
        userInfoBytes = parts.userInfo
        pathBytes = parts.path
        queryBytes = parts.query
        fragmentBytes = parts.fragment
        hostIsIPv6 = parts.hostIsIPv6
        port = parts.port ?? parts.scheme.defaultPort
    }

    /// The host in lower case.
    package var host: String { lowercased(hostBytes) }
    /// `user:password` as written, `nil` if missing.
    package var userInfo: String? {
        userInfoBytes.isEmpty ? nil : slice(userInfoBytes)
    }
    /// Starts with a slash or is empty.
    package var path: String { slice(pathBytes) }
    package var query: String? { hasQuery ? slice(queryBytes) : nil }
    package var fragment: String? { hasFragment ? slice(fragmentBytes) : nil }

    /// The text after the last slash of the path, as written.
    package var lastPathSegment: Substring {
        let path = url.utf8.dropFirst(pathBytes.lowerBound).prefix(pathBytes.count)
        guard let slash = path.lastIndex(of: UInt8(ascii: "/")) else { return Substring(path) }
        return Substring(path[path.index(after: slash)...])
    }

    /// `scheme://host:port`, in lower case, the port always there: equal for equal origins (RFC
    /// 6454 §4).
    package var origin: String {
        let capacity = 16 + hostBytes.count
        let digits = String(port)
        return String(unsafeUninitializedCapacity: capacity) { buffer in
            var length = 0
            func put(_ byte: UInt8) {
                buffer[length] = byte
                length += 1
            }
            for byte in scheme.rawValue.utf8 { put(byte) }
            for byte in "://".utf8 { put(byte) }
            if hostIsIPv6 { put(UInt8(ascii: "[")) }
            for byte in url.utf8.dropFirst(hostBytes.lowerBound).prefix(hostBytes.count) {
                put(byte.asciiLowercased)
            }
            if hostIsIPv6 { put(UInt8(ascii: "]")) }
            put(UInt8(ascii: ":"))
            for byte in digits.utf8 { put(byte) }
            return length
        }
    }

    private var hasQuery: Bool { queryBytes.lowerBound > pathBytes.upperBound }
    private var hasFragment: Bool { fragmentBytes.lowerBound > queryBytes.upperBound }

    private func slice(_ range: Range<Int>) -> String {
        String(Substring(url.utf8.dropFirst(range.lowerBound).prefix(range.count)))
    }

    private func lowercased(_ range: Range<Int>) -> String {
        String(unsafeUninitializedCapacity: range.count) { buffer in
            var length = 0
            for byte in url.utf8.dropFirst(range.lowerBound).prefix(range.count) {
                buffer[length] = byte.asciiLowercased
                length += 1
            }
            return length
        }
    }
}

/// Why a text is not a fetchable URL.
package enum URLProblem: Error, Hashable, Sendable {
    case empty
    case tooLong
    /// A control character or a space.
    case badCharacter
    case noScheme
    case unsupportedScheme(String)
    /// A second @ before the host.
    case badUser
    case missingHost
    case badHost
    case badPort
}

extension URLProblem: CustomStringConvertible {
    package var description: String {
        switch self {
        case .empty: "the URL is empty"
        case .tooLong: "the URL is longer than \(Limits.urlBytes) bytes"
        case .badCharacter:
            "the URL contains a space or a control character; write it percent-encoded"
        case .noScheme: "the URL has no scheme; write http:// or https:// in front"
        case .unsupportedScheme(let scheme):
            "the scheme \(scheme): is not supported; use http, https, ftp, ftps or sftp"
        case .badUser: "an @ in the URL's user or password is written percent-encoded: %40"
        case .missingHost: "the URL names no host"
        case .badHost: "the URL's host is malformed"
        case .badPort: "the URL's port is not a number from 1 to 65535"
        }
    }
}
