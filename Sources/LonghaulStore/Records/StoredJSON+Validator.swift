internal import LonghaulCore

extension StoredJSON {
    /// The same text as ``encode(_:)``, which costs ten thousand instructions more: every file has
    /// one.
    static func text(_ validator: Validator) -> String {
        var text: [UInt8] = [UInt8(ascii: "{")]
        text.reserveCapacity(256)
        guard add("digest", validator.digest, to: &text), add("etag", validator.etag, to: &text),
            add("lastModified", validator.lastModified, to: &text)
        else { return encode(validator) }
        text +=
            (validator.lastModifiedIsStrong
            ? "\"lastModifiedIsStrong\":true" : "\"lastModifiedIsStrong\":false").utf8
        if let length = validator.length { text += ",\"length\":\(length)".utf8 }
        text.append(UInt8(ascii: "}"))
        return String(decoding: text, as: UTF8.self)
    }

    /// `false` for what is not plain ASCII text.
    private static func add(_ name: String, _ value: String?, to text: inout [UInt8]) -> Bool {
        guard let value else { return true }
        text.append(UInt8(ascii: "\""))
        text += name.utf8
        text += "\":\"".utf8
        guard value.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) else { return false }
        if value.utf8.contains(where: isEscaped) {
            for byte in value.utf8 {
                if isEscaped(byte) { text.append(UInt8(ascii: "\\")) }
                text.append(byte)
            }
        } else {
            text += value.utf8
        }
        text += "\",".utf8
        return true
    }

    private static func isEscaped(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }
}
