internal import LonghaulModel

/// Parses the lines of one head, as libcurl delivered them, into fields.
///
/// Field values are bytes: decoded as UTF-8 if they are valid, else as ISO 8859-1, their historical
/// encoding (RFC 9110 §5.5). The bytes of a Location are in the server's own encoding, and are sent
/// back unchanged. Lines without a field are ignored; folded ones are joined (RFC 9112 §5.2).
enum HeadBlock {
    static func fields(of block: UnsafeRawBufferPointer) -> HeaderFields {
        block.withMemoryRebound(to: UInt8.self) { HeaderFields(fields(in: $0)) }
    }

    private static func fields(in block: UnsafeBufferPointer<UInt8>) -> [HeaderFields.Field] {
        var fields: [HeaderFields.Field] = []
        fields.reserveCapacity(16)
        var start = 0
        var isStatusLine = true
        while start < block.count {
            let end = block[start...].firstIndex(of: UInt8(ascii: "\n")) ?? block.count
            let line = trimmed(start..<end, of: block)
            let isFolded = start < end && block[start].isBlank
            start = end + 1
            if isStatusLine {
                isStatusLine = false
            } else if isFolded {
                if let last = fields.indices.last, !line.isEmpty {
                    fields[last].value += " " + text(line, of: block)
                }
            } else if let colon = block[line].firstIndex(of: UInt8(ascii: ":")),
                colon > line.lowerBound
            {
                let name = trimmed(line.lowerBound..<colon, of: block)
                let value = trimmed((colon + 1)..<line.upperBound, of: block)
                let field = text(name, of: block)
                let isURL = field.equalsIgnoringCase("location")
                fields.append(
                    HeaderFields.Field(
                        name: field,
                        value: isURL ? encoded(value, of: block) : text(value, of: block)))
            }
        }
        return fields
    }

    private static func trimmed(
        _ range: Range<Int>, of block: UnsafeBufferPointer<UInt8>
    ) -> Range<Int> {
        var (start, end) = (range.lowerBound, range.upperBound)
        while start < end, block[start].isBlank { start += 1 }
        while start < end, block[end - 1].isBlank || block[end - 1] == UInt8(ascii: "\r") {
            end -= 1
        }
        return start..<end
    }

    /// All bytes above ASCII percent-encoded.
    private static func encoded(
        _ range: Range<Int>, of block: UnsafeBufferPointer<UInt8>
    ) -> String {
        PercentEncoding.encode(block[range], keeping: Array(0..<0x80))
    }

    private static func text(
        _ range: Range<Int>, of block: UnsafeBufferPointer<UInt8>
    ) -> String {
        let bytes = UnsafeBufferPointer(rebasing: block[range])
        // Nearly all fields are ASCII, which needs no validation.
        if bytes.reduce(0, |) < 0x80 { return String(decoding: bytes, as: UTF8.self) }
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        var text = ""
        for byte in bytes { text.unicodeScalars.append(Unicode.Scalar(byte)) }
        return text
    }
}
