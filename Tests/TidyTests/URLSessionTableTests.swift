import Foundation
import Testing

/// The table of URLSession's members in `docs/from-urlsession.md` is that of the product.
@Suite struct URLSessionTableTests {
    private static let page = "docs/from-urlsession.md"
    private static let words: Set<String> = ["works", "accepted", "not here", "Linux only"]

    /// The rows of the tables: what is said of each member.
    private func rows() throws -> [String: String] {
        let text = try #require(Repository.shared.text(Self.page))
        let section = try #require(text.components(separatedBy: "\n## All members\n").last)
        var rows: [String: String] = [:]
        for line in section.split(separator: "\n") where line.hasPrefix("| `") {
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            try #require(cells.count >= 2, "\(line)")
            let members = cells[0].split(separator: "`").filter { $0 != ", " }
            for member in members {
                #expect(rows[String(member)] == nil, "\(member) is there twice")
                rows[String(member)] = cells[1]
            }
        }
        return rows
    }

    /// The public members of the product, as `URLSession.allTasks`.
    private var declared: Set<String> {
        var names: Set<String> = []
        for file in Repository.sources
        where file.path.hasPrefix("Sources/LonghaulURLSession/")
            && !file.path.hasSuffix("/AppleNames.swift")
        {
            let spans = file.typeSpans
            for index in file.code.indices {
                let span = spans.first { $0.lines.contains(index) }
                let isRequirement =
                    span.map { contains(file.code[$0.lines.lowerBound], "public protocol ") }
                    ?? false
                guard let member = name(in: file, at: index, isRequirement: isRequirement)
                else { continue }
                let owner = span.map { $0.name.replacing("Background", with: "") + "." } ?? ""
                names.insert(owner + member)
            }
        }
        return names
    }

    /// The member that the line begins to declare.
    private func name(in file: SourceFile, at index: Int, isRequirement: Bool) -> String? {
        var words = file.code[index].split(separator: " ")[...]
        let isPublic = words.first == "public"
        guard isPublic || (isRequirement && words.first == "func") else { return nil }
        let modifiers: Set<Substring> = ["public", "static", "final", "convenience", "required"]
        words = words.drop { modifiers.contains($0) }
        guard let word = words.first else { return nil }
        if word == "var" || word == "let" {
            return words.dropFirst().first.map { String($0.prefix { $0 != ":" }) }
        }
        let isInitialiser = word.hasPrefix("init(") || word.hasPrefix("init?(")
        guard word == "func" || isInitialiser else { return nil }
        let text = file.code[index...].joined(separator: " ")
        guard let open = text.firstIndex(of: "(") else { return nil }
        let name =
            isInitialiser
            ? "init" : String(words.dropFirst().first?.prefix { $0 != "(" } ?? "")
        if name == "==" || name == "hash" { return nil }
        return name + "(" + labels(text[text.index(after: open)...]) + ")"
    }

    /// `a:b:` of the parameters up to their closing parenthesis.
    private func labels(_ text: Substring) -> String {
        var depth = 0
        var parameters: [String] = [""]
        for character in text {
            if character == ")" || character == "]" || character == ">" { depth -= 1 }
            if depth < 0 { break }
            if character == "(" || character == "[" || character == "<" { depth += 1 }
            // An arrow closes nothing.
            if character == ">", parameters[parameters.count - 1].hasSuffix("-") { depth += 1 }
            if character == ",", depth == 0 {
                parameters.append("")
            } else {
                parameters[parameters.count - 1].append(character)
            }
        }
        return parameters.compactMap { parameter in
            parameter.split(separator: " ").first.map { label in
                label.hasSuffix(":") ? String(label) : label + ":"
            }
        }.joined()
    }

    @Test func everyMemberIsInTheTable() throws {
        let rows = try rows()
        #expect(rows.count > 100)
        #expect(Set(rows.values).subtracting(Self.words).isEmpty, "\(Set(rows.values))")
        let here = Set(rows.filter { $0.value != "not here" }.keys)
        let declared = declared
        #expect(declared.subtracting(here).sorted() == [], "not in the table")
        #expect(here.subtracting(declared).sorted() == [], "not in the product")
        #expect(rows["URLSession.downloadTask(with:)"] == "works")
    }
}
