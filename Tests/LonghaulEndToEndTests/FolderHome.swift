import Foundation
import LonghaulTestSupport
import Testing

/// A home with a folder that is watched, and a server for its files.
struct FolderHome {
    let home: LonghaulHome
    let server: UploadServer

    init() async throws {
        home = try LonghaulHome()
        server = try await UploadServer.start()
        _ = try home.scratch.directory("files/in")
    }

    /// Such a home whose files and queue are on a disk of its own.
    static func onDisk() async throws -> (FolderHome, OwnDisk) {
        let plain = try await FolderHome()
        let scratch = plain.home.scratch
        let disk = try OwnDisk(ext4: 64 << 20, at: scratch("files"), in: scratch)
        _ = try scratch.directory("files/in")
        let home = plain.home.with(["LONGHAUL_HOME": plain.home.file("state")])
        return (FolderHome(home: home, server: plain.server), disk)
    }

    private init(home: LonghaulHome, server: UploadServer) {
        self.home = home
        self.server = server
    }

    /// A path in the watched directory.
    func path(_ name: String) -> String { home.file("in/\(name)") }

    /// Writes a file in the watched directory.
    func write(_ text: String, to name: String) throws {
        try home.scratch.write(text, to: "files/in/\(name)")
    }

    @discardableResult
    func run(_ words: String..., status: Int32 = 0) async throws -> CLIProcess.Result {
        let result = try await home.start(words).wait()
        guard result.status == status else {
            throw Unexpected(description: "\(words) ended with \(result.status): \(result.errors)")
        }
        return result
    }

    /// Adds the folder `f`, which sends to the server by PUT.
    func add(_ options: String..., query: String = "") async throws {
        let words = ["folder", "add", "f", "in", server.url("plain/\(query)"), "--protocol", "put"]
        let isSettling = options.contains("--settle")
        let settle = isSettling ? [] : ["--settle", "0.2s"]
        let result = try await home.start(words + settle + options).wait()
        guard result.status == 0, result.output == "f\n" else {
            throw Unexpected(description: "folder add: \(result.errors)")
        }
    }

    var folder: JSONValue {
        get async throws { try await run("folder", "show", "f", "--json").rows[0] }
    }

    /// The files of the server by name, and how often each has come whole.
    var arrived: [String: Int] {
        get throws {
            try server.log.reduce(into: [:]) { all, request in
                guard request["method"] == "PUT", request["bytes"] == request["length"],
                    let path = request["path"].string
                else { return }
                let name = path.split(separator: "?")[0].split(separator: "/").last
                all[name?.removingPercentEncoding ?? "", default: 0] += 1
            }
        }
    }

    func text(_ name: String) -> String? {
        try? String(contentsOfFile: server.file(name), encoding: .utf8)
    }

    /// Waits until these, and no others, are at the server.
    func await(_ names: Set<String>) async throws {
        try await eventually("\(names) are there, not \((try? arrived) ?? [:])") {
            try Set(arrived.keys) == names
        }
    }

    /// Waits until nothing is left to be done.
    func awaitRest(_ uploaded: Int) async throws {
        try await eventually("\(uploaded) are recorded") {
            let folder = try await folder
            return folder["waiting"] == 0 && folder["uploaded"].int == uploaded
        }
    }

    /// Starts an engine, and waits until it has sent some of the files that were not sent.
    func engine(
        sendingSomeOf names: Set<String>, _ random: inout SeededRandom
    ) async throws -> CLIProcess {
        let engine = try home.start("daemon")
        let before = try arrived.count
        let more = Int.random(in: 0..<40, using: &random)
        try await eventually("\(more) of \(names.count) are sent") {
            try arrived.count >= min(names.count, before + more)
        }
        return engine
    }

    /// Each file, whose text is its name, is at the server, and no other. A crash costs at most the
    /// plain uploads that were on the line.
    func check(_ names: Set<String>, crashes: Int) throws {
        let arrived = try arrived
        #expect(Set(arrived.keys) == names)
        for name in names { #expect(text(name) == name) }
        let twice = arrived.values.reduce(0) { $0 + $1 - 1 }
        #expect(twice <= crashes * 16, "\(twice)")
    }

    func has(_ name: String) -> Bool { FileManager.default.fileExists(atPath: home.file(name)) }
}

private struct Unexpected: Error {
    let description: String
}
