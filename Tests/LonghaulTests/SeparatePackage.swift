import Foundation
import LonghaulTestSupport
import Testing

/// A package of somebody else's, beside a directory `longhaul` that is this checkout. It begins
/// empty.
struct SeparatePackage {
    let path: String

    /// - Parameters:
    ///   - pages: Their snippets that name a path are the files of the package.
    ///   - parent: The directory of the package. The default is the same in each run: the
    ///     compiler's commands name it, so that only the first build takes minutes.
    init(
        _ name: String, of pages: Article..., in parent: String = SeparatePackage.parent
    ) throws {
        path = "\(parent)/\(name)"
        let files = FileManager.default
        if files.fileExists(atPath: path) { try files.removeItem(atPath: path) }
        try files.createDirectory(atPath: path, withIntermediateDirectories: true)
        // Tests at the same time make the same link.
        let root = parent == Self.parent ? "../.." : Article.root.path
        if symlink(root, "\(parent)/longhaul") != 0, errno != EEXIST {
            throw SystemFailure("symlink in \(parent)")
        }
        for snippet in pages.flatMap(\.snippets) {
            if let file = Article.path(of: snippet) { try write(snippet, to: file) }
        }
    }

    static let parent = Article.root.appending(path: ".build/separate").path

    func write(_ text: String, to name: String) throws {
        let file = URL(filePath: "\(path)/\(name)")
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: file)
    }

    func text(of name: String) throws -> String {
        try String(contentsOfFile: "\(path)/\(name)", encoding: .utf8)
    }

    /// Builds the package into a folder of the checkout, or builds and tests it.
    ///
    /// - Returns: The folder of what was built.
    func build(into folder: String, by command: String = "build") async throws -> String {
        let swift = try #require(InstalledProgram.find("swift"))
        let folder = Article.root.appending(path: folder).path
        let build = try CLIProcess(
            swift, [command, "--scratch-path", folder], directory: path)
        let built = try await build.wait(within: .seconds(25 * 60))
        try #require(built.status == 0, "\(built.output.suffix(4000))\(built.errors)")
        return folder
    }
}
