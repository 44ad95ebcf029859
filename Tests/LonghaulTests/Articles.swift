import Foundation

/// The Swift code in the documents of the repository.
struct Article {
    var path: String
    /// What stands between ```swift and ```, in order.
    var snippets: [String]

    static let root = URL(filePath: #filePath).resolvingSymlinksInPath()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    init(_ path: String) throws {
        self.path = path
        let text = try String(contentsOf: Article.root.appending(path: path), encoding: .utf8)
        var snippets: [String] = []
        var lines: [Substring]?
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line == "```swift" {
                lines = []
            } else if line == "```", let done = lines {
                snippets.append(done.joined(separator: "\n"))
                lines = nil
            } else {
                lines?.append(line)
            }
        }
        self.snippets = snippets
    }

    /// All that speak of the libraries.
    static func all() throws -> [Article] {
        func names(in folder: String) throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: root.appending(path: folder).path)
                .sorted()
        }
        let catalogues = try names(in: "Sources").map { "Sources/\($0)/\($0).docc" }
            .filter { FileManager.default.fileExists(atPath: root.appending(path: $0).path) }
        let articles = try catalogues.flatMap { folder in
            try names(in: folder).filter { $0.hasSuffix(".md") }.map { "\(folder)/\($0)" }
        }
        let pages = [
            "docs/errors.md", "docs/finite-work.md", "docs/from-bgtaskscheduler.md",
            "docs/from-urlsession.md", "docs/testing-hosts.md",
        ]
        return try (articles + pages).map(Article.init)
    }

    /// The path that a snippet names in its first lines; `nil` = it is no file of a package. The
    /// separate packages are made of such snippets.
    static func path(of snippet: String) -> String? {
        snippet.split(separator: "\n").prefix(2)
            .compactMap { $0.wholeMatch(of: /\/\/ (\S+\.swift)/) }.first.map { String($0.1) }
    }

    /// The snippet as a file: one that imports something is one already; the others are what stands
    /// in a function, with what their article takes for granted.
    static func file(_ snippet: String, number: Int) -> String {
        if snippet.contains("\nimport ") || snippet.hasPrefix("import ") { return snippet }
        let indented = snippet.split(separator: "\n", omittingEmptySubsequences: false)
            .map { "        \($0)" }.joined(separator: "\n")
        return """
            import Foundation
            import Longhaul

            func snippet\(number)(
                session: BackgroundSession, task: DownloadTask, request: TransferRequest, url: URL,
                file: URL
            ) async throws {
                do {
            \(indented)
                }
            }

            """
    }
}
