import LonghaulCore

/// What the simulated server holds under one URL: versions that differ at every byte.
struct SimContent {
    enum Proof: CaseIterable {
        case strongTag, weakTag, date, nothing
    }

    var proof: Proof
    var sizes: [Int]
    /// Index of the version that is served now.
    var version: Int { sizes.count - 1 }
    /// Ignores Range.
    var ignoresRanges = false

    static func byte(_ version: Int, _ offset: Int) -> UInt8 {
        let mixed = UInt64(truncatingIfNeeded: offset) &* 0x9E37_79B9 &+ UInt64(offset >> 9)
        return UInt8(truncatingIfNeeded: (mixed >> 7) &+ UInt64(version) &* 89)
    }

    static func bytes(_ version: Int, _ range: Range<Int>) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: range.count)
        bytes.withUnsafeMutableBufferPointer { buffer in
            var index = 0
            while index < buffer.count {
                buffer[index] = byte(version, range.lowerBound + index)
                index += 1
            }
        }
        return bytes
    }

    /// Which version these bytes are, whole and nothing else; `nil` if none.
    func version(of bytes: [UInt8]) -> Int? {
        sizes.indices.first { version in
            sizes[version] == bytes.count && Self.bytes(version, 0..<bytes.count) == bytes
        }
    }

    func headers() -> HeaderFields {
        var fields = HeaderFields()
        switch proof {
        case .strongTag: fields["ETag"] = "\"v\(version)\""
        case .weakTag: fields["ETag"] = "W/\"v\(version)\""
        case .date:
            fields["Last-Modified"] = HTTPDate.format(
                Timestamp(milliseconds: 1_600_000_000_000 + Int64(version) * 86_400_000))
            fields["Date"] = HTTPDate.format(Timestamp(milliseconds: 1_790_000_000_000))
        case .nothing: break
        }
        return fields
    }

    /// RFC 9110 §13.1.5, for the proofs that are strong.
    func meets(_ ifRange: String?) -> Bool {
        guard let ifRange else { return true }
        let now = headers()
        switch proof {
        case .strongTag: return ifRange == now["ETag"]
        case .date: return ifRange == now["Last-Modified"]
        case .weakTag, .nothing: return false
        }
    }
}
