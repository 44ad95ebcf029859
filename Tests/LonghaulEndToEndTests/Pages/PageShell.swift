import Foundation
import LonghaulTestSupport

/// Runs what a page shows as a reader would: by bash, with `longhaul` in the `PATH` and with local
/// servers in place of the page's. Background engines start as they do for the reader.
struct PageShell {
    let home: LonghaulHome
    let server: LoopbackServer
    /// Stands in for `https://nas.example.com/`.
    var uploads: UploadServer?
    /// What the server is to do with a file, by its name.
    var knobs: [String: String] = [:]

    init(server: LoopbackServer) throws {
        let plain = try LonghaulHome()
        let programs = try plain.scratch.directory("bin")
        try FileManager.default.createSymbolicLink(
            atPath: "\(programs)/longhaul", withDestinationPath: try BuiltBinary.longhaul)
        home = plain.with([
            "PATH": "\(programs):/usr/bin:/bin", "LONGHAUL_AUTOSTART": nil,
            "LONGHAUL_CONDITIONS": "power=battery,network=unmetered",
        ])
        self.server = server
    }

    /// A program that the page names and that need not be there: a shell script.
    func standIn(_ name: String, _ script: String) throws {
        let path = try home.scratch.write("#!/bin/sh\n\(script)\n", to: "bin/\(name)")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
    }

    func run(_ script: String) async throws -> CLIProcess.Result {
        try await CLIProcess(
            "/bin/bash", ["-euc", real(script)], environment: home.environment,
            directory: home.scratch("files")
        ).wait(within: .seconds(120))
    }

    private func real(_ script: String) -> String {
        var script = script
        if let uploads {
            script = script.replacing("https://nas.example.com/", with: uploads.url("plain/"))
        }
        let pattern = /https:\/\/(mirror\.)?example\.com\/(?:[a-z]+\/)*([^\s"']+)/
        return script.replacing(pattern) { match in
            let url = url(String(match.2))
            return match.1 == nil ? url : url.replacing("127.0.0.1", with: "localhost")
        }
    }

    /// In quotes where the shell would understand something else.
    private func url(_ name: String) -> String {
        guard let knobs = knobs[name] else { return server.url("\(name)?etag=v1") }
        return "'\(server.url("\(name)?etag=v1&\(knobs)"))'"
    }

    /// What a command has printed, as the page has it.
    func shown(_ text: String) -> String {
        var text = text
        for (name, knobs) in knobs {
            text = text.replacing(
                server.url("\(name)?etag=v1&\(knobs)"), with: "https://example.com/\(name)")
        }
        return text.replacing(home.scratch("files"), with: "/home/me")
            .replacing("~/files", with: "~")
    }

    /// Ends the background engine as `pkill -9 longhaul` would, and no other.
    func signalEngine(_ signal: Int32) async throws {
        let status = try await home.run("status", "--json").rows.first
        if let pid = status?["engine"]["pid"].int { kill(pid_t(pid), signal) }
        try await eventually("it has left") {
            try await home.run("status", "--json").rows.first?["engine"] == .null
        }
    }
}
