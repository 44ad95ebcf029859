import Foundation
import LonghaulTestSupport
import Testing

/// A package of somebody else's, outside the repository, with nothing but what the README says. Its
/// build folder stays beside the tests' own, so that only the first time takes minutes.
@Suite(.timeLimit(.minutes(30))) struct SeparatePackageTests {
    @Test func theReadmeIsEnough() async throws {
        let swift = try #require(InstalledProgram.find("swift"))
        let scratch = try Scratch("embedder")
        try FileManager.default.createSymbolicLink(
            atPath: scratch("longhaul"), withDestinationPath: Article.root.path)
        _ = try scratch.directory("fetch/Sources/fetch")
        let readme = try Article("README.md")
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
            let name = "a.bin?size=3M&etag=v1"
            let fetch = try CLIProcess(
                "\(folder)/debug/fetch", [server.url(name), scratch("a.bin")],
                environment: ["PATH": "/usr/bin:/bin", "LONGHAUL_HOME": scratch("state")])
            let result = try await fetch.wait()
            #expect(result.status == 0, "\(result.errors)")
            #expect(result.output.hasSuffix("done: \(scratch("a.bin"))\n"))
            let content = try Data(contentsOf: URL(fileURLWithPath: scratch("a.bin")))
            #expect(try [UInt8](content) == server.expected(name).bytes)
        }
    }
}
