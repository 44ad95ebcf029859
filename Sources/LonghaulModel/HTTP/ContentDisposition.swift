/// The file name that a server proposes (RFC 6266), unchanged: it must pass through
/// ``FileNaming/sanitised(_:)`` before it names anything.
package enum ContentDisposition {
    /// `filename*` before `filename` (RFC 6266 §4.3); of copies the first.
    package static func fileName(_ value: String) -> String? {
        var plain: String?
        var extended: String?
        for (name, value) in parameters(value) {
            if name.equalsIgnoringCase("filename") {
                plain = plain ?? value
            } else if name.equalsIgnoringCase("filename*") {
                extended = extended ?? decodeExtended(value)
            }
        }
        return extended ?? plain.map(decodePlain)
    }

    /// No client should encode it, but many servers do: as a URL, or as in mail (RFC 2047).
    private static func decodePlain(_ value: String) -> String {
        if let words = EncodedWords.decode(value) { return words }
        if !value.utf8.contains(UInt8(ascii: "%")) { return value }
        return String(validating: PercentDecoding.bytes(of: value), as: UTF8.self) ?? value
    }

    /// The parameters after the disposition type, which some servers leave out. Blanks in unquoted
    /// values are common and unambiguous: a value ends at the semicolon.
    private static func parameters(_ value: String) -> [(name: String, value: String)] {
        var result: [(String, String)] = []
        var rest = value.utf8[...]
        skip(to: UInt8(ascii: ";"), in: &rest)
        let type = value.utf8[..<rest.startIndex]
        if type.contains(UInt8(ascii: "=")) { rest = Substring(";\(value)").utf8 }
        while rest.popFirst() != nil {
            let start = rest
            guard let equals = rest.firstIndex(where: { $0 == 0x3D || $0 == 0x3B }) else { break }
            rest = rest[equals...]
            guard rest.first == UInt8(ascii: "=") else { continue }
            let name = String(Substring(start[..<equals]).trimmingBlanks)
            rest = rest.dropFirst().drop(while: \.isBlank)
            if rest.first == UInt8(ascii: "\"") {
                result.append((name, takeQuoted(from: &rest)))
                skip(to: UInt8(ascii: ";"), in: &rest)
            } else {
                let valueStart = rest
                skip(to: UInt8(ascii: ";"), in: &rest)
                let taken = valueStart[..<rest.startIndex]
                result.append((name, String(Substring(taken).trimmingBlanks)))
            }
        }
        return result
    }

    private static func skip(to byte: UInt8, in rest: inout Substring.UTF8View) {
        rest = rest[(rest.firstIndex(of: byte) ?? rest.endIndex)...]
    }

    /// RFC 9110 §5.6.4; a missing closing quote ends with the field.
    private static func takeQuoted(from rest: inout Substring.UTF8View) -> String {
        var bytes: [UInt8] = []
        rest = rest.dropFirst()
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "\"") { break }
            if byte == UInt8(ascii: "\\"), let next = rest.popFirst() {
                bytes.append(next)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// `UTF-8'en'na%C3%AFve.txt` (RFC 8187 §3.2). ISO-8859-1 is no longer required but still sent.
    private static func decodeExtended(_ value: String) -> String? {
        let parts = value.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, !parts[2].isEmpty else { return nil }
        let bytes = PercentDecoding.bytes(of: parts[2])
        return EncodedWords.text(of: bytes, in: parts[0])
    }
}
