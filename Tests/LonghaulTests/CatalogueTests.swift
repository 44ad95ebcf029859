import Foundation
import LonghaulTestSupport
import Testing

/// The documentation of each library is one that DocC takes: every symbol that an article or a doc
/// comment links to is there, and every parameter is spoken of.
@Suite(.timeLimit(.minutes(10))) struct CatalogueTests {
    private static let extract =
        InstalledProgram.find("swift-symbolgraph-extract") ?? beside("swift-symbolgraph-extract")
    private static let docc = InstalledProgram.find("docc") ?? beside("docc")

    /// Where the toolchain is, its programs are.
    private static func beside(_ name: String) -> String? {
        guard let swift = InstalledProgram.find("swift") else { return nil }
        let path = URL(filePath: swift).resolvingSymlinksInPath().deletingLastPathComponent()
            .appending(path: name).path
        return FileManager.default.isExecutableFile(atPath: path) ? path : nil
    }

    private static let libraries = [
        "Longhaul", "LonghaulHTTPTypes", "LonghaulServiceLifecycle", "LonghaulTesting",
        "LonghaulURLRequest", "LonghaulURLSession",
    ]

    @Test(.enabled(if: extract != nil && docc != nil, "skipped: no docc"), arguments: libraries)
    func everyLinkLeadsSomewhere(library: String) async throws {
        let scratch = try Scratch("docc")
        let graphs = try scratch.directory("graphs")
        // Longhaul exports the values of the core; another library may only extend them.
        let (all, options) =
            library == "Longhaul"
            ? (["Longhaul", "LonghaulModel"], [])
            : ([library], ["-emit-extension-block-symbols"])
        for module in all {
            try await run(
                Self.extract,
                [
                    "-module-name", module, "-target", try target(), "-minimum-access-level",
                    "public", "-output-dir", graphs,
                ] + options + modules())
        }
        let catalogue = "Sources/\(library)/\(library).docc"
        try await run(
            Self.docc,
            [
                "convert", Article.root.appending(path: catalogue).path,
                "--additional-symbol-graph-dir", graphs, "--fallback-display-name", library,
                "--fallback-bundle-identifier", library, "--output-path", scratch("archive"),
                "--warnings-as-errors",
            ])
    }

    /// The libraries of the manifest are those above and those whose documentation is published.
    @Test func everyLibraryIsDocumented() throws {
        func text(_ path: String) throws -> String {
            try String(contentsOf: Article.root.appending(path: path), encoding: .utf8)
        }
        let products = try text("Package.swift").matches(of: /\.library\(name: "(\w+)"/)
        #expect(products.map { String($0.1) }.sorted() == Self.libraries)
        let published = try text(".spi.yml").matches(of: /- (Longhaul\w*)/).map { String($0.1) }
        #expect(published.filter { $0 != "LonghaulModel" } == Self.libraries)
    }

    /// The folder with what was built.
    private func products() throws -> URL {
        URL(filePath: try BuiltBinary.named("longhaul")).resolvingSymlinksInPath()
            .deletingLastPathComponent()
    }

    /// As the folder is called that the package manager builds into.
    private func target() throws -> String {
        try products().deletingLastPathComponent().lastPathComponent
    }

    private func modules() throws -> [String] {
        let products = try products()
        var words = ["-I", products.appending(path: "Modules").path]
        for name in ["CDelayLoad", "CLibcrypto", "CLibcurl", "CLonghaul", "CSystemd"] {
            let include = Article.root.appending(path: "Sources/\(name)/include").path
            let map = products.appending(path: "\(name).build/module.modulemap").path
            words += ["-Xcc", "-I\(include)", "-Xcc", "-fmodule-map-file=\(map)"]
        }
        let sqlite = Article.root.appending(path: "Sources/CSQLite/module.modulemap").path
        words += ["-Xcc", "-fmodule-map-file=\(sqlite)"]
        let checkouts = Article.root.appending(path: ".build/checkouts")
        for map in [
            "swift-system/Sources/CSystem/include/module.modulemap",
            "swift-atomics/Sources/_AtomicsShims/include/module.modulemap",
        ] {
            let path = checkouts.appending(path: map).path
            if FileManager.default.fileExists(atPath: path) {
                words += ["-Xcc", "-fmodule-map-file=\(path)"]
            }
        }
        return words
    }

    private func run(_ program: String?, _ arguments: [String]) async throws {
        let process = try CLIProcess(try #require(program), arguments)
        let result = try await process.wait()
        #expect(result.status == 0, "\(result.errors.suffix(4000))\(result.output.suffix(1000))")
    }
}
