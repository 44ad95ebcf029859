/// Columns of text on a terminal, and fitting it.
enum DisplayWidth {
    static func of(_ text: some StringProtocol) -> Int {
        if text.utf8.allSatisfy({ $0 < 0x80 }) { return text.utf8.count }
        return text.reduce(0) { $0 + of($1) }
    }

    /// At most `width` columns; the middle is left out, because the ends of a name say most.
    static func shortened(_ text: String, to width: Int, ellipsis: String) -> String {
        if of(text) <= width { return text }
        let room = width - of(ellipsis)
        if room < 2 { return prefix(text, width) }
        let tail = suffix(text, room / 2)
        return prefix(text, room - of(tail)) + ellipsis + tail
    }

    /// At most `width` columns; the end is left out, because the beginning of a sentence says most.
    static func cut(_ text: String, to width: Int, ellipsis: String) -> String {
        if of(text) <= width { return text }
        return width > of(ellipsis) ? prefix(text, width - of(ellipsis)) + ellipsis : ""
    }

    /// The beginning of the text in at most `width` columns.
    static func prefix(_ text: String, _ width: Int) -> String {
        var used = 0
        return String(
            text.prefix { character in
                used += of(character)
                return used <= width
            })
    }

    static func padded(_ text: String, to width: Int, right: Bool = false) -> String {
        let blanks = String(repeating: " ", count: max(0, width - of(text)))
        return right ? blanks + text : text + blanks
    }

    private static func suffix(_ text: String, _ width: Int) -> String {
        var used = 0
        let kept = text.reversed().prefix { character in
            used += of(character)
            return used <= width
        }
        return String(kept.reversed())
    }

    private static func of(_ character: Character) -> Int {
        var width = 0
        for scalar in character.unicodeScalars {
            // Variation selector 16 asks for the emoji form, which is wide.
            if scalar.value == 0xFE0F { return 2 }
            // Two of them are a flag.
            if isRegionalIndicator(scalar) {
                width += 1
            } else if width == 0 {
                width = of(scalar)
            }
        }
        return width
    }

    private static func isRegionalIndicator(_ scalar: Unicode.Scalar) -> Bool {
        (0x1F1E6...0x1F1FF).contains(scalar.value)
    }

    /// UAX #11, coarsely: wide and full-width blocks and every character that is an emoji by itself
    /// (UTS #51) take two columns, marks none.
    private static func of(_ scalar: Unicode.Scalar) -> Int {
        switch scalar.value {
        case 0x20...0x7E: return 1
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF, 0x4E00...0x9FFF,
            0xA000...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F,
            0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x16FE0...0x18DFF, 0x1AFF0...0x1B2FF,
            0x1F200...0x1F265, 0x1FA70...0x1FAFF, 0x20000...0x3FFFD:
            return 2
        default: break
        }
        if scalar.properties.isEmojiPresentation { return 2 }
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format, .control: return 0
        default: return 1
        }
    }
}
