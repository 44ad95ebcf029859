internal import LonghaulModel

/// A live transfer's exclusive claim. A download reserves the path of its file, free of links; an
/// upload a text that identifies equal uploads of the session.
package struct Reservation: Sendable {
    let text: String
    /// The version of an upload's file, if uploads of other versions to the same URL are a
    /// conflict; `nil` for a download, and if each request creates a separate resource.
    let version: String?
    /// See ``ReservationKey``.
    let key: Int64

    package init(_ text: String, version: String? = nil) {
        self.text = text
        self.version = version
        key = ReservationKey.of(text)
    }

    func isExactly(_ other: Reservation) -> Bool {
        text.isExactly(other.text) && version.isExactly(other.version)
    }

    /// The columns of `transfer` that hold it, as one text and its version.
    static let columns = "coalesce(uploadIdentity, realPath, destination), uploadVersion"

    /// Reads ``columns``.
    init(_ row: StoredRow<Int>, at index: Int) {
        self.init(row[index], version: row[index + 1])
    }
}

/// A number to look up a live transfer by its reserved path or, for an upload, identity. Equal
/// texts have equal keys; different texts may share one, so the text decides.
///
/// The key is FNV-1a over everything but the longest run of digits in the file's name, with that
/// run's value below: numbered files of one directory have neighbouring keys, and a batch of them
/// fills neighbouring pages of the index one after the other. A plain hash scatters them, which
/// costs as much as the rest of the insertion.
enum ReservationKey {
    /// Digits that take part in the value; more would not fit its 31 bits.
    private static let maximumDigits = 9

    static func of(_ path: String) -> Int64 {
        var path = path
        return path.withUTF8 { of($0) }
    }

    static func of(_ bytes: UnsafeBufferPointer<UInt8>) -> Int64 {
        let run = longestRun(bytes)
        var hash = FNV1a()
        for index in 0..<run.lowerBound { hash.mix(bytes[index]) }
        for index in run.upperBound..<bytes.count { hash.mix(bytes[index]) }
        var value: UInt64 = 0
        for index in run { value = value &* 10 &+ UInt64(bytes[index] &- 0x30) }
        // The length tells 7 from 007.
        hash.mix(UInt8(truncatingIfNeeded: run.count))
        return Int64(bitPattern: (hash.value >> 33) << 31 | value)
    }

    /// The longest (among equals the last) run of at most nine digits after the last slash.
    private static func longestRun(_ bytes: UnsafeBufferPointer<UInt8>) -> Range<Int> {
        var best = bytes.count..<bytes.count
        var end = bytes.count
        var index = bytes.count
        while index > 0 {
            let byte = bytes[index - 1]
            if byte == 0x2F { break }
            let isDigit = byte >= 0x30 && byte <= 0x39
            index -= 1
            if !isDigit {
                end = index
            } else if end - index <= maximumDigits, end - index > best.count {
                best = index..<end
            }
        }
        return best
    }
}

/// A hash by FNV-1a of 64 bits.
package struct FNV1a {
    package private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

    package init() {}

    @inline(__always)
    mutating func mix(_ byte: UInt8) {
        value = (value ^ UInt64(byte)) &* 0x100_0000_01B3
    }

    package mutating func mix(_ text: String) {
        for byte in text.utf8 { mix(byte) }
    }
}

/// A number to look up live transfers with an equal request. Equal requests have equal keys;
/// ``FetchIdentity`` decides whether requests with equal keys are equal. It is computed from
/// origin, path and query only, which is cheap enough for every insertion.
///
/// As with ``ReservationKey``, numbered URLs of one directory have neighbouring keys, so that the
/// index costs an insertion little.
enum IdentityKey {
    static func of(_ url: String, origin: Int64) -> Int64 {
        var url = url
        let place = url.withUTF8 { bytes in
            let tail = UnsafeBufferPointer(rebasing: bytes[tail(of: bytes)])
            if CanonicalURL.isCanonical(tail: tail) { return ReservationKey.of(tail) }
            return CanonicalURL.tail(Array(tail)[...]).withUnsafeBufferPointer(ReservationKey.of)
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
