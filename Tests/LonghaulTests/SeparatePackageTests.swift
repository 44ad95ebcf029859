import Foundation
import LonghaulTestSupport
import Testing

/// Packages of somebody else's, outside the repository, with nothing but what the documents say.
/// Their build folders stay beside the tests' own, so that only the first time takes minutes.
@Suite(.timeLimit(.minutes(30))) struct SeparatePackageTests {
    @Test func thePageIsEnough() async throws {
        let scratch = try Scratch("embedder")
        try writePackage("fetch", "Fetch", of: Article("docs/swift.md"), in: scratch)
        let folder = try await build("fetch", in: scratch, into: ".build/embedder")

        try await LoopbackServer.run { server in
            func run(_ arguments: String...) async throws -> CLIProcess.Result {
                try await start("\(folder)/debug/fetch", arguments, scratch).wait()
            }
            // What failed is said and done with; the next runs go on.
            let refused = try await run(server.url("x.bin?status=404"), scratch("x.bin"))
            #expect(refused.status == 0, "\(refused.errors)")
            #expect(refused.output.contains("failed: the server has no such file (404)"))
            #expect(!refused.output.contains("--") && !refused.output.contains("`"))
            let idle = try await run()
            #expect(idle.status == 0 && idle.output.isEmpty, "\(idle)")
            let name = "a.bin?size=3M&etag=v1"
            let result = try await run(server.url(name), scratch("a.bin"))
            #expect(result.status == 0, "\(result.errors)")
            #expect(result.output.hasSuffix("done: \(scratch("a.bin"))\n"))
            try expect(scratch("a.bin"), isWhole: name, of: server)
        }
    }

    /// The packages that SwiftPM fetches for the traits of an embedder are those that the page
    /// names.
    @Test func whatIsFetchedIsAsDocumented() async throws {
        let swift = try #require(InstalledProgram.find("swift"))
        let text = try String(
            contentsOf: Article.root.appending(path: "docs/swift.md"), encoding: .utf8)
        let rows = try #require(text.components(separatedBy: "| `traits:` |").last)
            .split(separator: "\n").dropFirst(2).prefix { $0.hasPrefix("|") }
        try #require(rows.count == 4)
        for row in rows {
            let cells = row.split(separator: "|").map { $0.split(separator: "`") }
            let traits = cells[0].count > 1 ? ", traits: \(cells[0][1])" : ""
            let named = Set(cells[1].filter { $0.hasPrefix("swift-") }.map(String.init))
            let scratch = try Scratch("fetched")
            try writePackage("fetch", "Fetch", of: Article("docs/swift.md"), in: scratch)
            let manifest = try scratch.text(of: "fetch/Package.swift")
            #expect(manifest.contains(", traits: []"))
            try scratch.write(
                manifest.replacing(", traits: []", with: traits), to: "fetch/Package.swift")
            let result = try await CLIProcess.run(
                swift, ["package", "resolve"], directory: scratch("fetch"),
                within: .seconds(300))
            try #require(result.status == 0, "\(result.errors)")
            let fetched = try scratch.names(in: "fetch/.build/checkouts")
            #expect(Set(fetched) == named, "\(row)")
        }
    }

    /// On a machine without the libraries the compiler says what to install, and so does the
    /// README.
    @Test(arguments: [
        ("CLibcurl/include/CLibcurl.h", "libcurl4-openssl-dev"),
        ("CLibcrypto/include/CLibcrypto.h", "libssl-dev"),
        ("CSQLite/CSQLite.h", "libsqlite3-dev"),
        ("CSystemd/include/CSystemd.h", "libsystemd-dev"),
    ]) func whatIsMissingIsNamed(header: String, package: String) async throws {
        let clang = try #require(InstalledProgram.find("clang"))
        let result = try await CLIProcess.run(
            clang,
            ["-fsyntax-only", "-nostdinc", "-x", "c", Article.root.path + "/Sources/" + header])
        #expect(result.status != 0 && result.errors.contains("install \(package)"))
        let readme = try String(
            contentsOf: Article.root.appending(path: "README.md"), encoding: .utf8)
        #expect(readme.contains("`\(package)`"))
    }

    // MARK: -

    /// Writes what a page shows: the manifest, and the program's only file.
    private func writePackage(
        _ name: String, _ file: String, of page: Article, in scratch: Scratch
    ) throws {
        try FileManager.default.createSymbolicLink(
            atPath: scratch("longhaul"), withDestinationPath: Article.root.path)
        _ = try scratch.directory("\(name)/Sources/\(name)")
        for path in ["Package.swift", "Sources/\(name)/\(file).swift"] {
            let snippet = page.snippets.first { $0.contains("// \(path)\n") }
            try scratch.write(try #require(snippet), to: "\(name)/\(path)")
        }
    }

    /// Returns the folder of what was built.
    private func build(
        _ name: String, in scratch: Scratch, into folder: String
    ) async throws -> String {
        let swift = try #require(InstalledProgram.find("swift"))
        let folder = Article.root.appending(path: folder).path
        let build = try CLIProcess(
            swift, ["build", "--scratch-path", folder], directory: scratch(name))
        let built = try await build.wait(within: .seconds(25 * 60))
        try #require(built.status == 0, "\(built.output.suffix(4000))\(built.errors)")
        return folder
    }

    private func start(
        _ program: String, _ arguments: [String], _ scratch: Scratch, state: String = "state"
    ) throws -> CLIProcess {
        try CLIProcess(
            program, arguments,
            environment: ["PATH": "/usr/bin:/bin", "LONGHAUL_HOME": scratch(state)])
    }

    private func expect(_ file: String, isWhole name: String, of server: LoopbackServer) throws {
        let content = try Data(contentsOf: URL(fileURLWithPath: file))
        #expect(try [UInt8](content) == server.expected(name).bytes)
    }
}
