import FoundationEssentials

/// Reads the enclosures of RSS and Atom feeds, by their tags alone.
enum FeedParser {
    static func episodes(in data: Data) -> [FeedDatabase.Episode] {
        let text = String(decoding: data, as: UTF8.self)
        return (elements("item", in: text) + elements("entry", in: text)).compactMap(episode)
    }

    private static func episode(_ item: Substring) -> FeedDatabase.Episode? {
        let links =
            tags("enclosure", in: item).compactMap { attribute("url", of: $0) }
            + tags("link", in: item).filter { attribute("rel", of: $0) == "enclosure" }
            .compactMap { attribute("href", of: $0) }
        guard let link = links.first else { return nil }
        let id = elements("guid", in: item).first ?? elements("id", in: item).first
        let title = elements("title", in: item).first.map(plain) ?? link
        return FeedDatabase.Episode(id: id.map(plain) ?? link, title: title, enclosure: link)
    }

    /// Texts between `<name …>` and `</name>`.
    private static func elements(_ name: String, in text: some StringProtocol) -> [Substring] {
        var found: [Substring] = []
        var rest = Substring(text)
        while let tag = firstTag(name, in: rest),
            let end = rest[tag.upperBound...].firstRange(of: "</\(name)>")
        {
            found.append(rest[tag.upperBound..<end.lowerBound])
            rest = rest[end.upperBound...]
        }
        return found
    }

    private static func tags(_ name: String, in text: Substring) -> [Substring] {
        var found: [Substring] = []
        var rest = text
        while let tag = firstTag(name, in: rest) {
            found.append(rest[tag])
            rest = rest[tag.upperBound...]
        }
        return found
    }

    /// Range from `<name` to `>`.
    private static func firstTag(_ name: String, in text: Substring) -> Range<Substring.Index>? {
        var rest = text
        while let start = rest.firstRange(of: "<\(name)") {
            let next = rest[start.upperBound...].first
            if next == ">" || next == "/" || next?.isWhitespace == true,
                let end = rest[start.upperBound...].firstIndex(of: ">")
            {
                return start.lowerBound..<rest.index(after: end)
            }
            rest = rest[start.upperBound...]
        }
        return nil
    }

    private static func attribute(_ name: String, of tag: Substring) -> String? {
        for quote in ["\"", "'"] {
            if let start = tag.firstRange(of: " \(name)=\(quote)"),
                let end = tag[start.upperBound...].firstRange(of: quote)
            {
                return plain(tag[start.upperBound..<end.lowerBound])
            }
        }
        return nil
    }

    /// Without white space around, CDATA marks and the five entities of XML.
    private static func plain(_ text: Substring) -> String {
        var text = text
        while let first = text.first, first.isWhitespace { text.removeFirst() }
        while let last = text.last, last.isWhitespace { text.removeLast() }
        if text.hasPrefix("<![CDATA["), text.hasSuffix("]]>") {
            return String(text.dropFirst(9).dropLast(3))
        }
        let entities = [
            ("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&"),
        ]
        return entities.reduce(String(text)) { $0.replacing($1.0, with: $1.1) }
    }
}
