/// One field line of a request or an answer.
package struct HeaderField: Sendable, Equatable, CustomStringConvertible {
    package var name: String
    package var value: String

    package init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }

    package var description: String { "\(name): \(value)" }
}

/// A request as it was received: nothing is normalised, so tests see the bytes that were sent.
package struct RequestHead: Sendable, Equatable {
    package var method: String
    package var target: String
    package var version: String
    package var headers: [HeaderField]

    /// The value of the first field with this name, whatever its case.
    package subscript(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }

    /// The target without scheme and authority (a request to a proxy has the absolute form, RFC
    /// 9112 §3.2.2), split at the query.
    package var pathAndQuery: (path: Substring, query: Substring) {
        var rest = target[...]
        if let scheme = rest.firstRange(of: "://") {
            rest = rest[scheme.upperBound...].drop { $0 != "/" }
        }
        guard let mark = rest.firstIndex(of: "?") else { return (rest, "") }
        return (rest[..<mark], rest[rest.index(after: mark)...])
    }

    /// Reads a head without its final empty line. Nil if it is not HTTP/1.x.
    init?(parsing bytes: some Sequence<UInt8>) {
        let text = String(decoding: Array(bytes), as: UTF8.self)
        var lines = text.split(separator: "\r\n", omittingEmptySubsequences: false)[...]
        guard let first = lines.popFirst() else { return nil }
        let words = first.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 3, words[2].hasPrefix("HTTP/1.") else { return nil }
        method = String(words[0])
        target = String(words[1])
        version = String(words[2])
        headers = []
        for line in lines where !line.isEmpty {
            guard let colon = line.firstIndex(of: ":") else { return nil }
            let value = line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
            headers.append(HeaderField(String(line[..<colon]), String(value)))
        }
    }
}
