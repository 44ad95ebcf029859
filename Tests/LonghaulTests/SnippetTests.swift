import Foundation
import LonghaulTestSupport
import Testing

/// What the documents show compiles against the library that was just built.
@Suite(.timeLimit(.minutes(60))) struct SnippetTests {
    /// The language of an embedder: its mode, and features that change what its source means.
    @Test(arguments: [
        ["-swift-version", "5"], ["-swift-version", "6"],
        [
            "-swift-version", "6", "-enable-upcoming-feature", "ExistentialAny",
            "-enable-upcoming-feature", "InferIsolatedConformances",
            "-enable-upcoming-feature", "InternalImportsByDefault",
            "-enable-upcoming-feature", "NonisolatedNonsendingByDefault",
        ],
    ]) func everySnippetCompiles(language: [String]) async throws {
        let compiler = try #require(InstalledProgram.find("swiftc"))
        let scratch = try Scratch("snippets")
        var files: [String] = []
        for article in try Article.all() {
            #expect(!article.snippets.isEmpty, "\(article.path)")
            for snippet in article.snippets where Article.path(of: snippet) == nil {
                let name = article.path.split(separator: "/").last ?? ""
                let file = try scratch.write(
                    Article.file(snippet, number: files.count),
                    to: "\(files.count)-\(name).swift")
                files.append(file)
            }
        }
        try #require(files.count > 10)
        let check = try CLIProcess(
            compiler, ["-typecheck"] + language + modules() + files)
        let result = try await check.wait(within: .seconds(240))
        #expect(result.status == 0, "\(result.output)\(result.errors)")
        #expect(!result.errors.contains("always true"), "\(result.errors)")
    }

    /// Where the modules of this build are, and the C modules that they stand on.
    private func modules() throws -> [String] {
        let build = URL(fileURLWithPath: try BuiltBinary.named("LonghaulTestSession"))
            .deletingLastPathComponent()
        let root = Article.root
        let folders = [
            root.appending(path: "Sources/CDelayLoad/include"),
            root.appending(path: "Sources/CLibcurl/include"),
            root.appending(path: "Sources/CLibcrypto/include"),
            root.appending(path: "Sources/CSystemd/include"),
            root.appending(path: "Sources/CLonghaul/include"),
            build.appending(path: "CDelayLoad.build"), build.appending(path: "CLibcurl.build"),
            build.appending(path: "CLibcrypto.build"),
            build.appending(path: "CSystemd.build"), build.appending(path: "CLonghaul.build"),
            root.appending(path: "Sources/CSQLite"),
        ]
        var arguments = ["-I", build.appending(path: "Modules").path]
        for folder in folders {
            let map = "\(folder.path)/module.modulemap"
            if FileManager.default.fileExists(atPath: map) {
                arguments += ["-Xcc", "-fmodule-map-file=\(map)"]
            }
            arguments += ["-Xcc", "-I\(folder.path)"]
        }
        return arguments
    }
}
