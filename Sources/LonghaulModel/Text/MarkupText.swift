/// Reads XML and HTML as far as short answers of servers need it.
package enum MarkupText {
    /// The text of the first element of that name, without attributes, unchanged.
    package static func element(_ name: String, in body: [UInt8]) -> String? {
        let text = String(decoding: body, as: UTF8.self)
        guard let open = text.firstRange(of: "<\(name)>"),
            let close = text[open.upperBound...].firstRange(of: "</\(name)>")
        else { return nil }
        return String(text[open.upperBound..<close.lowerBound])
    }

    /// The contents of all elements of that name, which must not be nested, and the text around
    /// them.
    package static func elements(
        _ name: String, in body: [UInt8]
    ) -> (found: [[UInt8]], rest: [UInt8]) {
        let (open, close) = (Array("<\(name)>".utf8), Array("</\(name)>".utf8))
        var found: [[UInt8]] = []
        var outside: [UInt8] = []
        var rest = body[...]
        while let start = rest.firstRange(of: open),
            let end = rest[start.upperBound...].firstRange(of: close)
        {
            found.append(Array(rest[start.upperBound..<end.lowerBound]))
            outside += rest[..<start.lowerBound]
            rest = rest[end.upperBound...]
        }
        return (found, outside + rest)
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
    package static func unescaped(_ text: String) -> String {
        String(decoding: unescaped(text.utf8), as: UTF8.self)
    }

    /// Unescaped in one pass: the text after an escaped ampersand is no escape.
    static func unescaped(_ bytes: some Collection<UInt8>) -> [UInt8] {
        var result: [UInt8] = []
        var index = bytes.startIndex
        while index < bytes.endIndex {
            let rest = bytes[index...]
            if bytes[index] == UInt8(ascii: "&"),
                let (escape, character) = escapes.first(where: { rest.starts(with: $0.0) })
            {
                result.append(character)
                index = bytes.index(index, offsetBy: escape.count)
            } else {
                result.append(bytes[index])
                index = bytes.index(after: index)
            }
        }
        return result
    }

    private static let escapes: [([UInt8], UInt8)] = [
        ("&quot;", "\""), ("&#34;", "\""), ("&apos;", "'"), ("&#39;", "'"), ("&lt;", "<"),
        ("&gt;", ">"), ("&amp;", "&"),
    ].map { (escape: String, character: Unicode.Scalar) in
        (Array(escape.utf8), UInt8(ascii: character))
    }
}
