internal import LonghaulCore

/// The lines of one head, as libcurl handed them over, made into fields.
///
/// Field values are bytes: shown as UTF-8 where they are that, else each byte as the character of
/// ISO 8859-1, which is what RFC 9110 §5.5 calls their history. Lines that are no field are left
/// out, folded ones joined (RFC 9112 §5.2).
enum HeadBlock {
    static func fields(of block: UnsafeRawBufferPointer) -> HeaderFields {
        var fields: [HeaderFields.Field] = []
        fields.reserveCapacity(16)
        var start = block.startIndex
        var isStatusLine = true
        while start < block.endIndex {
            let end = block[start...].firstIndex(of: lineFeed) ?? block.endIndex
            let line = trimmed(block[start..<end])
            let isFolded = start < end && isBlank(block[start])
            start = end < block.endIndex ? end + 1 : end
            if isStatusLine {
                isStatusLine = false
            } else if isFolded {
                if let last = fields.indices.last, !line.isEmpty {
                    fields[last].value += " " + text(line)
                }
            } else if let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex {
                fields.append(
                    HeaderFields.Field(
                        name: text(trimmed(line[..<colon])),
                        value: text(trimmed(line[(colon + 1)...]))))
            }
        }
        return HeaderFields(fields)
    }

    private static let lineFeed = UInt8(ascii: "\n")

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
    }

    private static func trimmed(_ bytes: Slice<UnsafeRawBufferPointer>) -> Slice<
        UnsafeRawBufferPointer
    > {
        var bytes = bytes
        while let first = bytes.first, isBlank(first) { bytes.removeFirst() }
        while let last = bytes.last, isBlank(last) || last == UInt8(ascii: "\r") {
            bytes.removeLast()
        }
        return bytes
    }

    private static func text(_ bytes: Slice<UnsafeRawBufferPointer>) -> String {
        // What nearly all fields are, without the cost of looking for more than that.
        if bytes.allSatisfy({ $0 < 0x80 }) { return String(decoding: bytes, as: UTF8.self) }
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        var text = ""
        for byte in bytes { text.unicodeScalars.append(Unicode.Scalar(byte)) }
        return text
    }
}
