/// Scans the bytes of a URL once (RFC 3986 §3), without allocating.
struct URLScanner {
    struct Found {
        var scheme: URLParts.Scheme
        var userInfo: Range<Int>
        var host: Range<Int>
        var hostIsIPv6: Bool
        var port: UInt16?
        var path: Range<Int>
        var query: Range<Int>
        var fragment: Range<Int>
    }

    let bytes: UnsafeBufferPointer<UInt8>

    func scan() -> Result<Found, URLProblem> {
        if bytes.isEmpty { return .failure(.empty) }
        if bytes.count > Limits.urlBytes { return .failure(.tooLong) }
        for byte in bytes where byte <= 0x20 || byte == 0x7F { return .failure(.badCharacter) }
        guard let (scheme, afterScheme) = scanScheme() else { return .failure(schemeProblem) }
        let authority = afterScheme..<end(of: afterScheme, stoppingAt: "/?#")
        let path = authority.upperBound..<end(of: authority.upperBound, stoppingAt: "?#")
        let query = part(after: path.upperBound, mark: "?", stoppingAt: "#")
        let fragment = part(after: query.upperBound, mark: "#", stoppingAt: "")
        return scanAuthority(authority).map { found in
            Found(
                scheme: scheme, userInfo: found.userInfo, host: found.host,
                hostIsIPv6: found.isIPv6, port: found.port, path: path, query: query,
                fragment: fragment)
        }
    }

    // MARK: Scheme

    private func scanScheme() -> (URLParts.Scheme, Int)? {
        for scheme in URLParts.Scheme.allCases {
            let name = scheme.name
            let length = name.utf8CodeUnitCount
            guard bytes.count >= length + 3, bytes[length] == UInt8(ascii: ":"),
                bytes[length + 1] == UInt8(ascii: "/"), bytes[length + 2] == UInt8(ascii: "/")
            else { continue }
            let matches = name.withUTF8Buffer { name in
                (0..<length).allSatisfy { bytes[$0].asciiLowercased == name[$0] }
            }
            if matches { return (scheme, length + 3) }
        }
        return nil
    }

    /// Why ``scanScheme()`` found none. `host:8080/f` looks like a scheme too, but no scheme has a
    /// dot in practice and none is followed by digits.
    private var schemeProblem: URLProblem {
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), colon > 0,
            bytes[..<colon].allSatisfy({ $0.isSchemeCharacter }), bytes[0].isASCIILetter
        else { return .noScheme }
        let name = String(decoding: bytes[..<colon], as: UTF8.self).lowercased()
        let isSupported = URLParts.Scheme(rawValue: name) != nil
        if isSupported { return .missingHost }
        let next = colon + 1 < bytes.count ? bytes[colon + 1] : 0
        if next.isASCIIDigit || name.utf8.contains(UInt8(ascii: ".")) || name == "localhost" {
            return .noScheme
        }
        return .unsupportedScheme(name)
    }

    // MARK: Authority

    private typealias Authority = (
        userInfo: Range<Int>, host: Range<Int>, isIPv6: Bool, port: UInt16?
    )

    private func scanAuthority(_ range: Range<Int>) -> Result<Authority, URLProblem> {
        var start = range.lowerBound
        var userInfo = start..<start
        if let at = bytes[range].firstIndex(of: UInt8(ascii: "@")) {
            // Clients do not agree which of two ends the user information.
            if bytes[(at + 1)..<range.upperBound].contains(UInt8(ascii: "@")) {
                return .failure(.badUser)
            }
            userInfo = start..<at
            start = at + 1
        }
        let isIPv6 = start < range.upperBound && bytes[start] == UInt8(ascii: "[")
        let host: Range<Int>
        let afterHost: Int
        if isIPv6 {
            guard let close = bytes[start..<range.upperBound].firstIndex(of: UInt8(ascii: "]"))
            else { return .failure(.badHost) }
            host = start + 1..<close
            afterHost = close + 1
            guard isIPv6Address(host) else { return .failure(.badHost) }
        } else {
            afterHost =
                bytes[start..<range.upperBound].firstIndex(of: UInt8(ascii: ":"))
                ?? range.upperBound
            host = start..<afterHost
            if host.isEmpty { return .failure(.missingHost) }
            guard bytes[host].allSatisfy({ $0.isHostCharacter }) else { return .failure(.badHost) }
        }
        guard afterHost < range.upperBound else { return .success((userInfo, host, isIPv6, nil)) }
        guard bytes[afterHost] == UInt8(ascii: ":") else { return .failure(.badHost) }
        return port(in: afterHost + 1..<range.upperBound).map { (userInfo, host, isIPv6, $0) }
    }

    /// An empty port means the default one (RFC 3986 §3.2.3).
    private func port(in range: Range<Int>) -> Result<UInt16?, URLProblem> {
        if range.isEmpty { return .success(nil) }
        var value = 0
        for byte in bytes[range] {
            guard byte.isASCIIDigit else { return .failure(.badPort) }
            value = value * 10 + Int(byte - UInt8(ascii: "0"))
            if value > 65_535 { return .failure(.badPort) }
        }
        return value == 0 ? .failure(.badPort) : .success(UInt16(value))
    }

    /// Hexadecimal groups, colons, a dotted tail, a zone: close enough to refuse nonsense before it
    /// is recorded; the resolver has the last word.
    private func isIPv6Address(_ range: Range<Int>) -> Bool {
        var colons = 0
        for (offset, byte) in bytes[range].enumerated() {
            if byte == UInt8(ascii: "%") { return colons >= 2 && offset + 1 < range.count }
            if byte == UInt8(ascii: ":") {
                colons += 1
            } else if !byte.isASCIIHexDigit && byte != UInt8(ascii: ".") {
                return false
            }
        }
        return (2...7).contains(colons) || (colons == 8 && range.count <= 17)
    }

    // MARK: The rest

    private func end(of start: Int, stoppingAt stops: StaticString) -> Int {
        stops.withUTF8Buffer { stops in
            var index = start
            while index < bytes.count && !stops.contains(bytes[index]) { index += 1 }
            return index
        }
    }

    /// The part that `mark` introduces at `start`; an empty range at `start` when it is absent.
    private func part(
        after start: Int, mark: Unicode.Scalar, stoppingAt stops: StaticString
    ) -> Range<Int> {
        guard start < bytes.count, bytes[start] == UInt8(ascii: mark) else { return start..<start }
        return start + 1..<end(of: start + 1, stoppingAt: stops)
    }
}

extension URLParts.Scheme {
    fileprivate var name: StaticString {
        switch self {
        case .http: "http"
        case .https: "https"
        case .ftp: "ftp"
        case .ftps: "ftps"
        case .sftp: "sftp"
        }
    }
}
