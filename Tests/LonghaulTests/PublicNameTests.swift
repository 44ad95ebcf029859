import Foundation
import LonghaulTestSupport
import Testing

/// The public names of the last release, in `docs/api`, are still there: a source that compiled
/// with it compiles with this version. `scripts/api` writes them.
@Suite(.timeLimit(.minutes(60))) struct PublicNameTests {
    @Test(
        .enabled(if: SymbolGraphs.canBeMade, "skipped: no swift-symbolgraph-extract"),
        arguments: SymbolGraphs.libraries)
    func noNameOfTheReleaseIsGone(library: String) async throws {
        let scratch = try Scratch("names")
        let folder = try scratch.directory("graphs")
        try await SymbolGraphs.write(of: library, ["-skip-synthesized-members"], into: folder)
        let names = try PublicNames(graphs: scratch.names(in: "graphs").map { "\(folder)/\($0)" })
        try #require(!names.lines.isEmpty)
        let file = Article.root.appending(path: "docs/api/\(library).txt")
        let order = ProcessInfo.processInfo.environment["LONGHAUL_API"]
        if order == "drop" { try names.text.write(to: file, atomically: true, encoding: .utf8) }
        let released = try? String(contentsOf: file, encoding: .utf8)
        if order == nil { try #require(released != nil, "run scripts/api") }
        let gone = Set((released ?? "").split(separator: "\n").map(String.init))
            .subtracting(names.lines)
        #expect(
            gone.isEmpty,
            """
            names of the release are gone or changed; keep each as a deprecated one \
            (docs/releases.md): \(gone.sorted().joined(separator: "\n"))
            """)
        if order == "add", gone.isEmpty {
            try names.text.write(to: file, atomically: true, encoding: .utf8)
        }
    }

    @Test func aLineIsADeclarationWithItsPath() throws {
        let scratch = try Scratch("lines")
        let graph = try scratch.write(
            """
            {"symbols": [
              {"identifier": {"precise": "s1"}, "pathComponents": ["A"],
               "declarationFragments": [
                 {"kind": "keyword", "spelling": "struct"}, {"kind": "text", "spelling": " "},
                 {"kind": "identifier", "spelling": "A"}]},
              {"identifier": {"precise": "s2"}, "pathComponents": ["A", "init(b:)"],
               "declarationFragments": [
                 {"kind": "keyword", "spelling": "init"}, {"kind": "text", "spelling": "("},
                 {"kind": "externalParam", "spelling": "b"},
                 {"kind": "text", "spelling": ": "},
                 {"kind": "typeIdentifier", "spelling": "Int"},
                 {"kind": "text", "spelling": ")"}]}],
             "relationships": [
              {"kind": "conformsTo", "source": "s1", "target": "s3",
               "targetFallback": "Swift.Hashable"},
              {"kind": "conformsTo", "source": "s1", "target": "s4",
               "targetFallback": "Swift.Copyable"}]}
            """, to: "a.symbols.json")
        let names = try PublicNames(graphs: [graph])
        #expect(names.text == "A.init(b: Int)\nA: Hashable\nstruct A\n")
    }
}

/// The public names of a library, a declaration or a conformance a line.
private struct PublicNames {
    private(set) var lines: Set<String> = []

    var text: String { lines.sorted().map { $0 + "\n" }.joined() }

    private struct Graph: Decodable {
        struct Symbol: Decodable {
            struct Identifier: Decodable { var precise: String }
            struct Fragment: Decodable { var kind, spelling: String }
            var identifier: Identifier
            var pathComponents: [String]
            var declarationFragments: [Fragment]
        }
        struct Relationship: Decodable {
            var kind, source, target: String
            var targetFallback: String?
        }
        var symbols: [Symbol]
        var relationships: [Relationship]
    }

    /// What every type conforms to without a word in the source.
    private static let implied: Set = [
        "BitwiseCopyable", "Copyable", "Escapable", "SendableMetatype",
    ]

    init(graphs: [String]) throws {
        for graph in graphs {
            let data = try Data(contentsOf: URL(filePath: graph))
            add(try JSONDecoder().decode(Graph.self, from: data))
        }
    }

    private mutating func add(_ graph: Graph) {
        var paths: [String: String] = [:]
        for symbol in graph.symbols {
            paths[symbol.identifier.precise] = symbol.pathComponents.joined(separator: ".")
            lines.insert(Self.line(of: symbol))
        }
        for relationship in graph.relationships where relationship.kind == "conformsTo" {
            guard let type = paths[relationship.source],
                let fact = paths[relationship.target]
                    ?? relationship.targetFallback?.split(separator: ".").last.map(String.init),
                !Self.implied.contains(fact)
            else { continue }
            lines.insert("\(type): \(fact)")
        }
    }

    /// The declaration on one line, its name with the types that it is in.
    private static func line(of symbol: Graph.Symbol) -> String {
        let parents = symbol.pathComponents.dropLast().map { $0 + "." }.joined()
        var isNamed = false
        var line = ""
        for fragment in symbol.declarationFragments {
            let isName =
                fragment.kind == "identifier" || ["init", "subscript"].contains(fragment.spelling)
            if isName, !isNamed {
                line += parents
                isNamed = true
            }
            line += fragment.spelling
        }
        return line.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }
}
