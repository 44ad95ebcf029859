import Foundation
import LonghaulTestSupport
import Testing

/// The documentation of each library is one that DocC takes: every symbol that an article or a doc
/// comment links to is there, and every parameter is spoken of.
@Suite(.timeLimit(.minutes(60))) struct CatalogueTests {
    private static let docc = SymbolGraphs.tool("docc")

    @Test(
        .enabled(if: SymbolGraphs.canBeMade && docc != nil, "skipped: no docc"),
        arguments: SymbolGraphs.libraries)
    func everyLinkLeadsSomewhere(library: String) async throws {
        let scratch = try Scratch("docc")
        let graphs = try scratch.directory("graphs")
        // Another library than Longhaul may only extend what this one exports.
        let options = library == "Longhaul" ? [] : ["-emit-extension-block-symbols"]
        try await SymbolGraphs.write(of: library, options, into: graphs)
        let catalogue = "Sources/\(library)/\(library).docc"
        let result = try await CLIProcess.run(
            try #require(Self.docc),
            [
                "convert", Article.root.appending(path: catalogue).path,
                "--additional-symbol-graph-dir", graphs, "--fallback-display-name", library,
                "--fallback-bundle-identifier", library, "--output-path", scratch("archive"),
                "--warnings-as-errors",
            ])
        #expect(result.status == 0, "\(result.errors.suffix(4000))\(result.output.suffix(1000))")
    }

    /// The libraries of the manifest are those above and those whose documentation is published.
    @Test func everyLibraryIsDocumented() throws {
        func text(_ path: String) throws -> String {
            try String(contentsOf: Article.root.appending(path: path), encoding: .utf8)
        }
        let products = try text("Package.swift").matches(of: /\.library\(name: "(\w+)"/)
        #expect(products.map { String($0.1) }.sorted() == SymbolGraphs.libraries)
        let published = try text(".spi.yml").matches(of: /- (Longhaul\w*)/).map { String($0.1) }
        #expect(published.filter { $0 != "LonghaulModel" } == SymbolGraphs.libraries)
    }
}
