internal import LonghaulCore

extension StoredJSON {
    /// The same text as ``encode(_:)``, which costs ten thousand instructions more: every file has
    /// one.
    static func text(_ validator: Validator) -> String {
        var text = "{"
        guard add("digest", validator.digest, to: &text), add("etag", validator.etag, to: &text),
            add("lastModified", validator.lastModified, to: &text)
        else { return encode(validator) }
        text +=
            validator.lastModifiedIsStrong
            ? "\"lastModifiedIsStrong\":true" : "\"lastModifiedIsStrong\":false"
        if let length = validator.length { text += ",\"length\":\(length)" }
        text += "}"
        return text
    }

    /// `false` for what is not plain ASCII text.
    private static func add(_ name: String, _ value: String?, to text: inout String) -> Bool {
        guard let value else { return true }
        var isPlain = true
        for byte in value.utf8 {
            guard (0x20..<0x7F).contains(byte) else { return false }
            if byte == 0x22 || byte == 0x5C { isPlain = false }
        }
        text += "\""
        text += name
        text += "\":\""
        if isPlain {
            text += value
        } else {
            for byte in value.utf8 {
                if byte == 0x22 || byte == 0x5C { text += "\\" }
                text.unicodeScalars.append(Unicode.Scalar(byte))
            }
        }
        text += "\","
        return true
    }
}
