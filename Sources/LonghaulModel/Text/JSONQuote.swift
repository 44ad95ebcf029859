/// A text as a JSON string (RFC 8259 §7). It changes nothing on a terminal: control characters and
/// invisible marks are written as `\u` escapes.
package enum JSONQuote {
    package static func append(_ string: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        let isPlain = string.utf8.allSatisfy {
            $0 >= 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\")
        }
        if isPlain {
            bytes += string.utf8
        } else {
            for scalar in string.unicodeScalars { bytes += escaped(scalar).utf8 }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private static func escaped(_ scalar: Unicode.Scalar) -> String {
        switch scalar {
        case "\"": return "\\\""
        case "\\": return "\\\\"
        case "\n": return "\\n"
        case "\r": return "\\r"
        case "\t": return "\\t"
        default:
            let character = String(scalar)
            if TerminalText.shown(character) == character { return character }
            // RFC 8259 §7: beyond the basic plane, a surrogate pair.
            return character.utf16.reduce(into: "") { text, unit in
                let digits = String(unit, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
            }
        }
    }
}
