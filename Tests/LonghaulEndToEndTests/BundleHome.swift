import Foundation
import LonghaulTestSupport
import Testing

/// A queue with bundles from lists of files of a server.
struct BundleHome {
    let home: LonghaulHome
    let server: LoopbackServer

    init(server: LoopbackServer) throws {
        home = try LonghaulHome()
        self.server = server
    }

    /// A file of a list.
    struct File {
        var path: String
        var url: String
        var content: Representation
        var sha256: String?

        var line: String {
            let digest = sha256 ?? content.sha256
            return #"{"path":"\#(path)","url":"\#(url)","size":\#(content.size),"#
                + #""sha256":"\#(digest)"}"#
        }
    }

    /// A file of the server; equal knobs are equal bytes.
    func file(_ path: String, _ nameAndKnobs: String) throws -> File {
        File(
            path: path, url: server.url(nameAndKnobs),
            content: try server.expected(nameAndKnobs))
    }

    var list: String { home.file("list.jsonl") }

    func write(_ files: [File]) throws {
        let text = files.map(\.line).joined(separator: "\n") + "\n"
        try text.write(toFile: list, atomically: true, encoding: .utf8)
    }

    func run(
        _ arguments: String..., status: Int32 = 0, location: SourceLocation = #_sourceLocation
    ) async throws -> CLIProcess.Result {
        let result = try await home.start(arguments).wait()
        #expect(
            result.status == status, "\(arguments): \(result.output)\(result.errors)",
            sourceLocation: location)
        return result
    }

    func bundle(_ name: String) async throws -> JSONValue {
        try #require(try await run("bundle", "show", name, "--json").rows.first)
    }

    /// The paths of the files that were asked for, in their order.
    var asked: [String] {
        server.log.all.map { String($0.head.pathAndQuery.path.dropFirst("/f/".count)) }
    }

    /// Checks all files below a directory of the home.
    func verify(_ files: [File], in directory: String) throws {
        for file in files { try file.content.verify(file: "\(directory)/\(file.path)") }
    }

    func names(in directory: String) throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: directory).sorted()
    }

    /// Changes one byte of a file, but not its size.
    func flip(_ path: String) throws {
        let handle = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        let byte = try #require(try handle.read(upToCount: 1))
        try handle.seek(toOffset: 0)
        handle.write(Data([byte[0] ^ 1]))
        try handle.close()
    }
}
