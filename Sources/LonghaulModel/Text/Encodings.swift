/// RFC 4648 §4.
package enum Base64 {
    private static let alphabet = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    /// `nil` for characters outside the alphabet and for wrong padding. Missing padding is taken
    /// (RFC 8941 §3.3.5).
    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        var result: [UInt8] = []
        var bits: UInt32 = 0
        var count = 0
        var padding = 0
        for byte in text.utf8 {
            if byte == UInt8(ascii: "=") {
                padding += 1
                continue
            }
            guard padding == 0, let digit = value(byte) else { return nil }
            bits = bits << 6 | digit
            count += 1
            if count % 4 == 0 {
                result.append(UInt8(truncatingIfNeeded: bits >> 16))
                result.append(UInt8(truncatingIfNeeded: bits >> 8))
                result.append(UInt8(truncatingIfNeeded: bits))
            }
        }
        if padding > 0 && (count + padding) % 4 != 0 || padding > 2 { return nil }
        switch count % 4 {
        case 2: result.append(UInt8(truncatingIfNeeded: bits >> 4))
        case 3:
            result.append(UInt8(truncatingIfNeeded: bits >> 10))
            result.append(UInt8(truncatingIfNeeded: bits >> 2))
        case 1: return nil
        default: break
        }
        return result
    }

    static func encode(_ bytes: [UInt8]) -> String {
        var result: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            let bits = group.reduce(UInt32(0)) { $0 << 8 | UInt32($1) } << (8 * (3 - group.count))
            for index in 0..<4 {
                let digit = alphabet[Int(bits >> (18 - 6 * UInt32(index)) & 0x3F)]
                result.append(index <= group.count ? digit : UInt8(ascii: "="))
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    private static func value(_ byte: UInt8) -> UInt32? {
        switch byte {
        case 0x41...0x5A: UInt32(byte) - 0x41
        case 0x61...0x7A: UInt32(byte) - 0x61 + 26
        case 0x30...0x39: UInt32(byte) - 0x30 + 52
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}

/// Bytes as pairs of hexadecimal digits.
package enum Hex {
    private static let digits = Array("0123456789abcdef".utf8)

    package static func text(_ bytes: some Sequence<UInt8>) -> String {
        var result: [UInt8] = []
        for byte in bytes {
            result.append(digits[Int(byte >> 4)])
            result.append(digits[Int(byte & 15)])
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// `nil` when there is an odd digit or none.
    package static func bytes(_ text: some StringProtocol) -> [UInt8]? {
        let digits = Array(text.utf8)
        guard digits.count % 2 == 0 else { return nil }
        var result: [UInt8] = []
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = digits[index].hexValue, let low = digits[index + 1].hexValue
            else { return nil }
            result.append(high << 4 | low)
        }
        return result
    }
}

/// RFC 3986 §2.1.
package enum PercentDecoding {
    /// The bytes meant by `text`. A percent sign that introduces no pair of hexadecimal digits
    /// stands for itself.
    package static func bytes(of text: some StringProtocol) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(text.utf8.count)
        var rest = text.utf8[...]
        while let byte = rest.first {
            rest = rest.dropFirst()
            guard byte == UInt8(ascii: "%"), let high = rest.first?.hexValue,
                let low = rest.dropFirst().first?.hexValue
            else {
                result.append(byte)
                continue
            }
            result.append(high << 4 | low)
            rest = rest.dropFirst(2)
        }
        return result
    }

    /// Decoded as UTF-8; invalid bytes stay percent-encoded, so that names in another encoding stay
    /// distinct.
    package static func text(_ text: some StringProtocol) -> String {
        if !text.utf8.contains(UInt8(ascii: "%")) { return String(text) }
        let bytes = bytes(of: text)
        if let whole = String(validating: bytes, as: UTF8.self) { return whole }
        var result = String.UnicodeScalarView()
        var parser = Unicode.UTF8.ForwardParser()
        var rest = bytes.makeIterator()
        var position = 0
        while true {
            switch parser.parseScalar(from: &rest) {
            case .valid(let encoded):
                result.append(Unicode.UTF8.decode(encoded))
                position += encoded.count
            case .error(let length):
                for byte in bytes[position..<position + length] {
                    result.append(contentsOf: "%\(Hex.text([byte]).uppercased())".unicodeScalars)
                }
                position += length
            case .emptyInput: return String(result)
            }
        }
    }
}

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
