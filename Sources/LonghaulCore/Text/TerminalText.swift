/// Text from outside, made fit for a terminal or a log line: no escape sequence, line break or
/// reversal of direction in a URL, header or file name takes effect where it is shown.
package enum TerminalText {
    /// Control characters and invisible marks become `\u{XX}`; all else stays.
    package static func shown(_ text: String) -> String {
        if text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) { return text }
        var result = ""
        for scalar in text.unicodeScalars {
            if scalar.isUnfitForDisplay {
                result += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}

extension Unicode.Scalar {
    /// C0 and C1 controls, line and paragraph separators, bidirectional controls (UAX #9),
    /// zero-width and other invisible format characters: what makes a text show as something other
    /// than it is.
    var isUnfitForDisplay: Bool {
        switch value {
        case 0x00...0x1F, 0x7F...0x9F: true
        case 0xAD, 0x061C, 0x180E: true
        case 0x200B...0x200F, 0x2028...0x202E, 0x2060...0x206F: true
        case 0xFEFF, 0xFFF9...0xFFFB: true
        // Tag characters spell out invisible text; noncharacters have no business in a name.
        case 0xE0000...0xE007F: true
        default: value & 0xFFFE == 0xFFFE
        }
    }
}
