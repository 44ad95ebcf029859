/// Gives equivalent URLs one spelling (RFC 3986 §6.2.2 and §6.2.3): scheme and host in lower case,
/// the port always there, unreserved characters not percent-encoded and the digits of other
/// encodings in upper case, no dot segments, no fragment. The query's order stays: it may have a
/// meaning to servers. User information is left out: it is a credential and does not identify the
/// resource.
package enum CanonicalURL {
    /// `nil` for text that is not a fetchable URL.
    package static func of(_ url: String) -> String? {
        guard let parts = try? URLParts(url) else { return nil }
        var tail = Array(parts.path.utf8)
        if let query = parts.query { tail += [UInt8(ascii: "?")] + Array(query.utf8) }
        return parts.origin + String(decoding: CanonicalURL.tail(tail[...]), as: UTF8.self)
    }

    /// True if two URLs lead to the same place, user information aside. A text that is not a URL
    /// equals itself alone.
    package static func areSame(_ one: String, _ other: String) -> Bool {
        one.isExactly(other) || (of(one).map { of(other).isExactly($0) } ?? false)
    }

    /// True if a segment of the path is `.` or `..`, encoded or not.
    package static func hasDotSegments(_ url: String) -> Bool {
        guard let path = try? URLParts(url).path else { return false }
        let normal = percentNormalised(Array(path.utf8)[...])
        return normal.split(separator: UInt8(ascii: "/")).contains {
            $0.count <= 2 && $0.allSatisfy { $0 == UInt8(ascii: ".") }
        }
    }

    /// Path and query of an absolute URL, as written and without its fragment, in canonical form.
    package static func tail(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        let normal = percentNormalised(bytes)
        let mark = normal.firstIndex(of: UInt8(ascii: "?")) ?? normal.endIndex
        // Dots come first out of their encoding, which is why this is second.
        return withoutDotSegments(normal[..<mark]) + normal[mark...]
    }

    /// True if path and query, as written, are in canonical form already: most are.
    package static func isCanonical(tail bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        guard bytes.first == UInt8(ascii: "/") else { return false }
        var last: UInt8 = 0
        for byte in bytes {
            if byte == UInt8(ascii: "%") { return false }
            if byte == UInt8(ascii: "."), last == UInt8(ascii: "/") { return false }
            last = byte
        }
        return true
    }

    /// A percent sign that encodes nothing is encoded: left as it is, it could encode something
    /// with what is decoded behind it.
    private static func percentNormalised(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var index = bytes.startIndex
        while index < bytes.endIndex {
            let byte = bytes[index]
            index += 1
            guard byte == UInt8(ascii: "%") else {
                result.append(byte)
                continue
            }
            guard index + 1 < bytes.endIndex, let high = bytes[index].hexValue,
                let low = bytes[index + 1].hexValue
            else {
                result += "%25".utf8
                continue
            }
            index += 2
            let value = high << 4 | low
            if value.isUnreserved {
                result.append(value)
            } else {
                result += [byte, high.upperHexDigit, low.upperHexDigit]
            }
        }
        return result
    }

    /// RFC 3986 §5.2.4, segment by segment.
    private static func withoutDotSegments(_ path: ArraySlice<UInt8>) -> [UInt8] {
        guard !path.isEmpty else { return [UInt8(ascii: "/")] }
        var kept: [ArraySlice<UInt8>] = []
        let segments = path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        let dot = UInt8(ascii: ".")
        for (index, segment) in segments.enumerated().dropFirst() {
            let isLast = index == segments.count - 1
            if segment.elementsEqual([dot]) {
                if isLast { kept.append([]) }
            } else if segment.elementsEqual([dot, dot]) {
                _ = kept.popLast()
                if isLast { kept.append([]) }
            } else {
                kept.append(segment)
            }
        }
        return kept.reduce(into: []) { $0 += [UInt8(ascii: "/")] + $1 }
    }
}

extension UInt8 {
    /// RFC 3986 §2.3.
    fileprivate var isUnreserved: Bool {
        isASCIIDigit || isASCIILetter || self == 0x2D || self == 0x2E || self == 0x5F
            || self == 0x7E
    }

    /// The digit of a value below 16.
    fileprivate var upperHexDigit: UInt8 { self < 10 ? 0x30 + self : 0x41 + self - 10 }
}

/// Hosts that are this machine itself and need no network: 127.0.0.0/8, ::1, and `localhost` with
/// its subdomains (RFC 6761 §6.3).
package enum Loopback {
    package static func isLoopback(host: some StringProtocol) -> Bool {
        if host == "::1" || host == "0:0:0:0:0:0:0:1" { return true }
        let name = host.hasSuffix(".") ? host.dropLast() : host[...]
        if name.equalsIgnoringCase("localhost") { return true }
        if name.count > 10, name.suffix(10).equalsIgnoringCase(".localhost") { return true }
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 4, parts[0] == "127" else { return false }
        return parts.allSatisfy { $0.utf8.count <= 3 && ($0.decimalValue ?? 256) < 256 }
    }

    /// - Parameter origin: `scheme://host:port`, see ``URLParts/origin``.
    package static func isLoopback(origin: String) -> Bool {
        guard let mark = origin.firstIndex(of: "/") else { return isLoopback(host: origin) }
        var host = origin[mark...].drop { $0 == "/" }
        if let colon = host.lastIndex(of: ":") { host = host[..<colon] }
        if host.first == "[", host.last == "]" { host = host.dropFirst().dropLast() }
        return isLoopback(host: host)
    }
}
