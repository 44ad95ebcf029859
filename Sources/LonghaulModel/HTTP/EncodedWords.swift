/// The encoded words of mail (RFC 2047), used by some servers for file names:
/// `=?UTF-8?B?5rWL6K+VLnR4dA==?=`.
enum EncodedWords {
    /// The text with its words decoded; `nil` if it has none, or one cannot be decoded.
    static func decode(_ value: String) -> String? {
        var result = ""
        // Bytes of adjacent encoded words: a character may begin in one word and end in the next.
        var pending: (charset: Substring, bytes: [UInt8])?
        var rest = value[...]
        while let start = rest.firstRange(of: "=?") {
            let between = rest[..<start.lowerBound]
            let parts = rest[start.upperBound...].split(
                separator: "?", maxSplits: 3, omittingEmptySubsequences: false)
            guard parts.count == 4, parts[3].utf8.first == UInt8(ascii: "="),
                let bytes = bytes(of: parts[2], in: parts[1])
            else { return nil }
            if let word = pending {
                let goesOn =
                    between.allSatisfy { $0 == " " }
                    && word.charset.equalsIgnoringCase(parts[0])
                if goesOn {
                    pending?.bytes += bytes
                } else {
                    guard let text = text(of: word.bytes, in: word.charset) else { return nil }
                    result += text + between
                    pending = (parts[0], bytes)
                }
            } else {
                result += between
                pending = (parts[0], bytes)
            }
            rest = parts[3].dropFirst()
        }
        guard let word = pending, let text = text(of: word.bytes, in: word.charset) else {
            return nil
        }
        return result + text + rest
    }

    /// `nil` for bytes that are invalid in the charset, and for an unknown charset.
    static func text(of bytes: [UInt8], in charset: Substring) -> String? {
        if charset.equalsIgnoringCase("UTF-8") || charset.equalsIgnoringCase("US-ASCII") {
            return String(validating: bytes, as: UTF8.self)
        }
        guard charset.equalsIgnoringCase("ISO-8859-1") else { return nil }
        var text = String.UnicodeScalarView()
        for byte in bytes { text.append(Unicode.Scalar(byte)) }
        return String(text)
    }

    private static func bytes(of text: Substring, in encoding: Substring) -> [UInt8]? {
        if encoding.equalsIgnoringCase("B") { return Base64.decode(text) }
        guard encoding.equalsIgnoringCase("Q") else { return nil }
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "_") {
                bytes.append(0x20)
            } else if byte == UInt8(ascii: "=") {
                guard let high = rest.popFirst()?.hexValue, let low = rest.popFirst()?.hexValue
                else { return nil }
                bytes.append(high << 4 | low)
            } else {
                bytes.append(byte)
            }
        }
        return bytes
    }
}
