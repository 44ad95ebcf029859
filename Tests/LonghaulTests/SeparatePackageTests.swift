import Foundation
import LonghaulTestSupport
import Testing

/// A package of somebody else's, outside the repository, with nothing but what docs/swift.md says.
/// Its build folder stays beside the tests' own, so that only the first time takes minutes.
@Suite(.timeLimit(.minutes(30))) struct SeparatePackageTests {
    @Test func thePageIsEnough() async throws {
        let swift = try #require(InstalledProgram.find("swift"))
        let scratch = try Scratch("embedder")
        try FileManager.default.createSymbolicLink(
            atPath: scratch("longhaul"), withDestinationPath: Article.root.path)
        _ = try scratch.directory("fetch/Sources/fetch")
        let readme = try Article("docs/swift.md")
        let manifest = try #require(readme.snippets.first { $0.contains("// Package.swift") })
        let program = try #require(
            readme.snippets.first { $0.contains("// Sources/fetch/Fetch.swift") })
        try scratch.write(manifest, to: "fetch/Package.swift")
        try scratch.write(program, to: "fetch/Sources/fetch/Fetch.swift")

        let folder = Article.root.appending(path: ".build/embedder").path
        let build = try CLIProcess(
            swift, ["build", "--scratch-path", folder], directory: scratch("fetch"))
        let built = try await build.wait(within: .seconds(25 * 60))
        try #require(built.status == 0, "\(built.output.suffix(4000))\(built.errors)")

        try await LoopbackServer.run { server in
            func run(_ arguments: String...) async throws -> CLIProcess.Result {
                try await CLIProcess(
                    "\(folder)/debug/fetch", arguments,
                    environment: ["PATH": "/usr/bin:/bin", "LONGHAUL_HOME": scratch("state")]
                ).wait()
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
            let content = try Data(contentsOf: URL(fileURLWithPath: scratch("a.bin")))
            #expect(try [UInt8](content) == server.expected(name).bytes)
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
}
