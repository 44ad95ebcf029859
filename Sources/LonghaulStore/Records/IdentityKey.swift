internal import LonghaulCore

/// A number by which live transfers with an equal request are looked up. Equal requests have equal
/// keys; ``FetchIdentity`` decides whether requests with equal keys are equal. It is made from
/// origin, path and query only, which every insertion can afford.
///
/// As with ``DestinationKey``, numbered URLs of one directory have neighbouring keys, so that the
/// index costs an insertion little.
enum IdentityKey {
    static func of(_ url: String, origin: Int64) -> Int64 {
        var url = url
        let place = url.withUTF8 { bytes in
            let tail = UnsafeBufferPointer(rebasing: bytes[tail(of: bytes)])
            if CanonicalURL.isCanonical(tail: tail) { return DestinationKey.of(tail) }
            return CanonicalURL.tail(Array(tail)[...]).withUnsafeBufferPointer(DestinationKey.of)
        }
        // The low bits hold the number that makes neighbours.
        let spread = UInt64(bitPattern: origin) &* 0x9E37_79B9_7F4A_7C15
        return place ^ Int64(bitPattern: spread & ~((1 << 31) - 1))
    }

    /// Path and query, without the fragment.
    private static func tail(of bytes: UnsafeBufferPointer<UInt8>) -> Range<Int> {
        var start = 0
        // After the scheme's two slashes; every URL that is recorded has them.
        while start + 1 < bytes.count,
            !(bytes[start] == UInt8(ascii: "/") && bytes[start + 1] == UInt8(ascii: "/"))
        {
            start += 1
        }
        start = min(start + 2, bytes.count)
        while start < bytes.count, bytes[start] != UInt8(ascii: "/"),
            bytes[start] != UInt8(ascii: "?"), bytes[start] != UInt8(ascii: "#")
        {
            start += 1
        }
        return start..<(bytes[start...].firstIndex(of: UInt8(ascii: "#")) ?? bytes.count)
    }
}
