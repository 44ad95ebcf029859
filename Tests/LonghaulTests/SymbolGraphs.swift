import Foundation
import LonghaulTestSupport
import Testing

/// The symbol graphs of the libraries that were just built: what the compiler writes of their
/// public names.
enum SymbolGraphs {
    /// The libraries of the manifest.
    static let libraries = [
        "Longhaul", "LonghaulHTTPTypes", "LonghaulServiceLifecycle", "LonghaulTesting",
        "LonghaulURLRequest", "LonghaulURLSession",
    ]

    static var canBeMade: Bool { extract != nil }

    private static let extract = tool("swift-symbolgraph-extract")

    /// A program of the toolchain: where the compiler is, the others are.
    static func tool(_ name: String) -> String? {
        if let found = InstalledProgram.find(name) { return found }
        guard let swift = InstalledProgram.find("swift") else { return nil }
        let path = URL(filePath: swift).resolvingSymlinksInPath().deletingLastPathComponent()
            .appending(path: name).path
        return FileManager.default.isExecutableFile(atPath: path) ? path : nil
    }

    /// Writes the graphs of a library into a folder. Longhaul exports the values of the model.
    static func write(
        of library: String, _ options: [String] = [], into folder: String
    ) async throws {
        let extract = try #require(extract)
        let modules = library == "Longhaul" ? ["Longhaul", "LonghaulModel"] : [library]
        for module in modules {
            let result = try await CLIProcess.run(
                extract,
                [
                    "-module-name", module, "-target", try target(), "-minimum-access-level",
                    "public", "-output-dir", folder,
                ] + options + self.modules())
            try #require(result.status == 0, "\(result.errors.suffix(4000))")
        }
    }

    /// The folder with what was built.
    private static func products() throws -> URL {
        URL(filePath: try BuiltBinary.named("longhaul")).resolvingSymlinksInPath()
            .deletingLastPathComponent()
    }

    /// As the folder is called that the package manager builds into.
    private static func target() throws -> String {
        try products().deletingLastPathComponent().lastPathComponent
    }

    private static func modules() throws -> [String] {
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
}
