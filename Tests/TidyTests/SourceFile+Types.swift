/// A declaration of a type at the top of a file, or an extension, with the lines that it spans.
struct TypeSpan {
    enum Kind { case type, extending }

    let kind: Kind
    /// Without what stands before the last dot of an extended nested type's outermost name.
    let name: String
    let isPrivate: Bool
    let lines: Range<Int>
    /// `let` and `var` that are neither static nor computed.
    let storedProperties: Int
}

extension SourceFile {
    /// The types and extensions at the top level of the file.
    var typeSpans: [TypeSpan] {
        var spans: [TypeSpan] = []
        var index = 0
        while index < code.count {
            guard let head = typeHead(code[index]), let end = closingLine(from: index) else {
                index += 1
                continue
            }
            spans.append(
                TypeSpan(
                    kind: head.kind, name: head.name, isPrivate: head.isPrivate,
                    lines: index..<end + 1,
                    storedProperties: head.kind == .type ? storedProperties(in: index...end) : 0))
            index = end + 1
        }
        return spans
    }

    /// The names of types as they are used, by their first part (`Outer` of `Outer.Inner`).
    var namedTypes: Set<String> {
        var names: Set<String> = []
        for line in code {
            var previous: UInt8 = 0
            var word: [UInt8] = []
            for byte in Array(line.utf8) + [0] {
                let isWord =
                    byte == UInt8(ascii: "_") || (0x30...0x39).contains(byte)
                    || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                if isWord {
                    word.append(byte)
                    continue
                }
                if let first = word.first, (0x41...0x5A).contains(first), word.count >= 4,
                    previous != UInt8(ascii: ".")
                {
                    names.insert(String(decoding: word, as: UTF8.self))
                }
                word = []
                previous = byte
            }
        }
        return names
    }

    /// Types that are declared within others, and names of generic parameters.
    var nestedTypes: Set<String> {
        var names: Set<String> = []
        for line in code {
            let words = line.split(whereSeparator: { !$0.isLetter && !$0.isNumber })
            for (index, word) in words.dropLast().enumerated() {
                let declares = ["struct", "class", "enum", "actor", "typealias", "case"]
                if line.hasPrefix("  "), declares.contains(String(word)) {
                    names.insert(String(words[index + 1]))
                }
            }
            if let open = line.firstIndex(of: "<"),
                contains(line, "func ") || contains(line, "init")
            {
                let parameters = line[open...].prefix { $0 != ">" }
                names.formUnion(
                    parameters.split(whereSeparator: { !$0.isLetter && !$0.isNumber })
                        .map(String.init))
            }
        }
        return names
    }

    private func typeHead(_ line: String) -> (kind: TypeSpan.Kind, name: String, isPrivate: Bool)? {
        guard let first = line.first, first != " ", first != "}" else { return nil }
        let words = line.split(separator: " ")
        for (index, word) in words.enumerated() where index + 1 < words.count {
            switch word {
            case "struct", "class", "enum", "protocol", "actor", "extension":
                let name = words[index + 1].prefix {
                    $0.isLetter || $0.isNumber || $0 == "_"
                }
                let isPrivate = words[..<index].contains { $0 == "private" || $0 == "fileprivate" }
                return (word == "extension" ? .extending : .type, String(name), isPrivate)
            case "func", "let", "var", "import", "typealias": return nil
            default: continue
            }
        }
        return nil
    }

    private func closingLine(from start: Int) -> Int? {
        var depth = 0
        for index in start..<code.count {
            for byte in code[index].utf8 {
                if byte == UInt8(ascii: "{") { depth += 1 }
                if byte == UInt8(ascii: "}") {
                    depth -= 1
                    if depth == 0 { return index }
                }
            }
        }
        return nil
    }

    /// swift-format indents members of a type at the top level by four columns.
    private func storedProperties(in lines: ClosedRange<Int>) -> Int {
        lines.count { index in
            let line = code[index]
            guard line.hasPrefix("    "), !line.hasPrefix("     ") else { return false }
            let words = line.split(separator: " ")
            guard let mark = words.firstIndex(where: { $0 == "let" || $0 == "var" }),
                !words[..<mark].contains("static"), !words[..<mark].contains("case"),
                !words[..<mark].contains("func")
            else { return false }
            let isComputed = line.hasSuffix("{") || line.hasSuffix("}")
            let isObserved =
                index < lines.upperBound
                && ["didSet", "willSet"].contains { contains(code[index + 1], $0) }
            let isClosure = contains(line, "= {")
            return !isComputed || isObserved || isClosure
        }
    }
}
