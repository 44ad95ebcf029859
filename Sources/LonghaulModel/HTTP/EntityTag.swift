/// An `ETag` value (RFC 9110 §8.8.3).
package struct EntityTag: Hashable, Sendable {
    /// The tag as the server sent it.
    package let text: String
    package let isWeak: Bool

    /// `nil` for text that is no entity tag: unquoted, with blanks or quotes inside. A tag with
    /// bytes above ASCII is rejected, too: it would not survive the way back unchanged, and two of
    /// them could look alike.
    package init?(_ text: String) {
        var text = text
        guard let isWeak = text.withUTF8(Self.weakness) else { return nil }
        self.text = text
        self.isWeak = isWeak
    }

    /// `nil` for bytes that are no tag.
    private static func weakness(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool? {
        let quote = UInt8(ascii: "\"")
        // Case matters: `w/` is no prefix.
        let isWeak = bytes.starts(with: "W/".utf8)
        let opaque = bytes.dropFirst(isWeak ? 2 : 0)
        guard opaque.count >= 2, opaque.first == quote, opaque.last == quote else { return nil }
        for byte in opaque.dropFirst().dropLast()
        where byte != 0x21 && !(0x23...0x7E).contains(byte) { return nil }
        return isWeak
    }

    package var isStrong: Bool { !isWeak }

    /// Quotes included, the weakness left out.
    package var opaque: Substring { isWeak ? text.dropFirst(2) : text[...] }

    /// RFC 9110 §8.8.3.2: both strong and equal.
    package func matchesStrongly(_ other: EntityTag) -> Bool {
        isStrong && other.isStrong && text == other.text
    }

    /// RFC 9110 §8.8.3.2: equal but for the weakness.
    package func matchesWeakly(_ other: EntityTag) -> Bool { opaque == other.opaque }
}

/// A `Content-Range` field in the unit of bytes (RFC 9110 §14.4), with nothing read into it: a
/// value that breaks the grammar in any way is no Content-Range.
package enum ContentRange: Hashable, Sendable {
    /// The bytes enclosed, end exclusive, and the length of the whole, `nil` for `*`.
    case bytes(Range<Int64>, total: Int64?)
    /// `bytes */N`: no byte of the asked range exists; the whole has N bytes.
    case unsatisfied(total: Int64)

    package init?(_ value: String) {
        let words = value.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 2, words[0].equalsIgnoringCase("bytes") else { return nil }
        let parts = words[1].split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        if parts[0] == "*" {
            guard let total = parts[1].decimalValue else { return nil }
            self = .unsatisfied(total: total)
            return
        }
        let ends = parts[0].split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let first = ends[0].decimalValue, let last = ends[1].decimalValue,
            first <= last, last < .max
        else { return nil }
        var total: Int64?
        if parts[1] != "*" {
            guard let number = parts[1].decimalValue, number > last else { return nil }
            total = number
        }
        self = .bytes(first..<last + 1, total: total)
    }

    /// The numbers in a field that is malformed, in order.
    package static func numbers(in value: String) -> [Int64] {
        value.split { !$0.isASCII || !$0.isNumber }.compactMap(\.decimalValue)
    }
}
