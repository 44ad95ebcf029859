/// Text from outside, made fit for a terminal or a log line: no escape sequence, line break or
/// reversal of direction in a URL, header or file name takes effect where it is shown.
package enum TerminalText {
    /// Control characters and invisible marks become `\u{XX}`; all else stays.
    package static func shown(_ text: String) -> String {
        if text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) { return text }
        var result = ""
        let scalars = text.unicodeScalars
        var before: Unicode.Scalar?
        for index in scalars.indices {
            let scalar = scalars[index]
            let after = scalars[scalars.index(after: index)...].first
            if scalar.isUnfitForDisplay, !scalar.joins(before, after) {
                result += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
            } else {
                result.unicodeScalars.append(scalar)
            }
            before = scalar
        }
        return result
    }

    /// The same for bytes that were meant as text: what in them is not UTF-8 becomes `\xE9`.
    package static func shown(bytes: some Sequence<UInt8>) -> String {
        var result = ""
        var valid: [UInt8] = []
        var parser = Unicode.UTF8.ForwardParser()
        var rest = bytes.makeIterator()
        // The bytes that the parser took before it met a byte that fits no scalar.
        var taken: [UInt8] = []
        var source = AnyIterator<UInt8> {
            let byte = rest.next()
            if let byte { taken.append(byte) }
            return byte
        }
        while true {
            switch parser.parseScalar(from: &source) {
            case .valid(let scalar):
                valid += scalar
                taken.removeFirst(scalar.count)
            case .error(let length):
                result += shown(String(decoding: valid, as: UTF8.self))
                valid.removeAll()
                for byte in taken.prefix(length) {
                    result +=
                        "\\x" + (byte < 16 ? "0" : "")
                        + String(byte, radix: 16, uppercase: true)
                }
                taken.removeFirst(length)
            case .emptyInput:
                return result + shown(String(decoding: valid, as: UTF8.self))
            }
        }
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

    /// A joiner or non-joiner where writing has a use for it: within a word of a script that is
    /// written with them, or an emoji put together of several. Between Latin letters it hides.
    fileprivate func joins(_ before: Unicode.Scalar?, _ after: Unicode.Scalar?) -> Bool {
        guard value == 0x200C || value == 0x200D, let before, let after else { return false }
        return before.canBeJoined && after.canBeJoined
    }

    private var canBeJoined: Bool {
        // Variation selector 16 and the signs of vowels are marks.
        value >= 0x250
            && (properties.isAlphabetic || properties.isEmoji
                || properties.generalCategory == .nonspacingMark)
    }
}
