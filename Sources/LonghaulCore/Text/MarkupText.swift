/// Reads XML and HTML as far as short answers of servers need it.
enum MarkupText {
    /// The text of the first element of that name, without attributes, as it is written.
    static func element(_ name: String, in body: [UInt8]) -> String? {
        let text = String(decoding: body, as: UTF8.self)
        guard let open = text.firstRange(of: "<\(name)>"),
            let close = text[open.upperBound...].firstRange(of: "</\(name)>")
        else { return nil }
        return String(text[open.upperBound..<close.lowerBound])
    }

    /// The text between the tags.
    static func withoutTags(_ text: String) -> String {
        var result = ""
        var isTag = false
        for character in text {
            if character == "<" { isTag = true }
            if !isTag { result.append(character) }
            if character == ">", isTag {
                isTag = false
                result.append(" ")
            }
        }
        return unescaped(result)
    }

    /// The characters that XML predefines (XML 1.0 §4.6).
    static func unescaped(_ text: String) -> String {
        var result = text
        for (escape, character) in escapes {
            while let range = result.firstRange(of: escape) {
                result.replaceSubrange(range, with: character)
            }
        }
        return result
    }

    /// The ampersand last: what it stands before is no escape.
    private static let escapes = [
        ("&quot;", "\""), ("&#34;", "\""), ("&apos;", "'"), ("&#39;", "'"), ("&lt;", "<"),
        ("&gt;", ">"), ("&amp;", "\u{FFFE}"), ("\u{FFFE}", "&"),
    ]
}
