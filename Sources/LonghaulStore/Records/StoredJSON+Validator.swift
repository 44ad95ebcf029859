internal import LonghaulModel

extension StoredJSON {
    /// The same text as ``encode(_:)``, which takes ten thousand instructions more. Every file has
    /// a validator. One with a property that is not written here is encoded.
    static func text(_ validator: Validator) -> String {
        var text: [UInt8] = [UInt8(ascii: "{")]
        text.reserveCapacity(256)
        let written = Validator(
            etag: validator.etag, lastModified: validator.lastModified,
            lastModifiedIsStrong: validator.lastModifiedIsStrong, length: validator.length,
            digest: validator.digest)
        guard validator == written,
            add("\"digest\":\"", validator.digest, to: &text),
            add("\"etag\":\"", validator.etag, to: &text),
            add("\"lastModified\":\"", validator.lastModified, to: &text)
        else { return encode(validator) }
        text +=
            (validator.lastModifiedIsStrong
            ? "\"lastModifiedIsStrong\":true" : "\"lastModifiedIsStrong\":false").utf8
        if let length = validator.length { text += ",\"length\":\(length)".utf8 }
        text.append(UInt8(ascii: "}"))
        return String(decoding: text, as: UTF8.self)
    }

    /// `false` for text that is not plain ASCII.
    private static func add(
        _ beginning: StaticString, _ value: String?, to text: inout [UInt8]
    ) -> Bool {
        guard var value else { return true }
        beginning.withUTF8Buffer { text += $0 }
        let isPlain = value.withUTF8 { bytes in
            for byte in bytes {
                guard (0x20..<0x7F).contains(byte) else { return false }
                if isEscaped(byte) { text.append(UInt8(ascii: "\\")) }
                text.append(byte)
            }
            return true
        }
        text.append(UInt8(ascii: "\""))
        text.append(UInt8(ascii: ","))
        return isPlain
    }

    private static func isEscaped(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }
}
