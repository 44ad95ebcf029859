/// An `ETag` value (RFC 9110 §8.8.3).
package struct EntityTag: Hashable, Sendable {
    /// As sent.
    package let text: String
    package let isWeak: Bool

    /// `nil` for what is no entity tag: unquoted, with blanks or quotes inside. A tag with bytes
    /// above ASCII is none for us: they would not survive the way back unchanged, and two of them
    /// could look alike.
    package init?(_ text: String) {
        var opaque = text.utf8[...]
        isWeak = opaque.starts(with: "W/".utf8)  // case matters: `w/` is no prefix
        if isWeak { opaque = opaque.dropFirst(2) }
        guard opaque.count >= 2, opaque.first == UInt8(ascii: "\""),
            opaque.last == UInt8(ascii: "\"")
        else { return nil }
        let inside = opaque.dropFirst().dropLast()
        guard inside.allSatisfy({ $0 == 0x21 || (0x23...0x7E).contains($0) })
        else { return nil }
        self.text = text
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
