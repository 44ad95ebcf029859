struct Function {
    let name: String
    /// Index of its first line.
    let line: Int
    /// Lines from its first word to its closing brace.
    let length: Int
}

extension SourceFile {
    /// Functions and initialisers with a body, found by their braces.
    var functions: [Function] {
        code.indices.compactMap { index in
            guard let name = declaredName(code[index]) else { return nil }
            return length(from: index).map { Function(name: name, line: index, length: $0) }
        }
    }

    private func declaredName(_ line: String) -> String? {
        let words = line.split(whereSeparator: { $0 == " " })
        for (index, word) in words.enumerated() {
            if word == "func", index + 1 < words.count {
                return String(words[index + 1].prefix { $0 != "(" && $0 != "<" })
            }
            if ["init(", "init?(", "init<"].contains(where: { word.hasPrefix($0) }) {
                return "init"
            }
            let isModifier =
                word.hasPrefix("@") || word.hasSuffix(")") || word.allSatisfy { $0.isLetter }
            if !isModifier { return nil }
        }
        return nil
    }

    /// `nil` for a requirement without a body: the next declaration or the end of the type comes
    /// first.
    private func length(from start: Int) -> Int? {
        var parentheses = 0
        var braces = 0
        var opened = false
        for index in start..<code.count {
            for character in code[index] {
                switch character {
                case "(": parentheses += 1
                case ")": parentheses -= 1
                case "{" where parentheses == 0 || opened:
                    braces += 1
                    opened = true
                case "}" where parentheses == 0 || opened: braces -= 1
                default: break
                }
                if opened && braces == 0 { return index - start + 1 }
                if braces < 0 { return nil }
            }
            let next = index + 1 < code.count ? code[index + 1] : ""
            if !opened && parentheses == 0 && !continues(next) && !continues(code[index]) {
                return nil
            }
        }
        return nil
    }

    /// Whether a signature may go on with this line: swift-format breaks it before `{`, `->`,
    /// `where` and closing parentheses.
    private func continues(_ line: String) -> Bool {
        let trimmed = line.drop { $0 == " " }
        return ["{", "->", "where", ")", "async", "throws"].contains { trimmed.hasPrefix($0) }
            || line.hasSuffix("->") || line.hasSuffix("where") || line.hasSuffix(",")
    }
}
