import Foundation
import Glibc
import LonghaulTestSupport
import Testing

/// `upload -r` and `upload` of several files: all arrive, whatever happens on the way, and the same
/// command again sends only what is new or changed.
@Suite(.serialized, .timeLimit(.minutes(60))) struct UploadTreeTests {
    private static let names = (0..<60).map { "d\($0 % 3)/e \($0 % 2)/f%\($0) ä" }

    private let home: LonghaulHome

    init() throws {
        home = try LonghaulHome()
        for directory in 0..<6 {
            _ = try home.scratch.directory("files/tree/d\(directory % 3)/e \(directory % 2)")
        }
        _ = try home.scratch.directory("files/tree/empty")
        for name in Self.names { try home.scratch.write("hello \(name)", to: "files/tree/\(name)") }
        try FileManager.default.createSymbolicLink(
            atPath: home.file("tree/link"), withDestinationPath: "d0")
    }

    private func summary(_ result: CLIProcess.Result) throws -> JSONValue {
        try #require(try result.rows.last { $0["type"] == "summary" }, "\(result.errors)")
    }

    private func check(_ root: String) throws {
        for name in Self.names {
            let text = try? String(contentsOfFile: "\(root)/\(name)", encoding: .utf8)
            #expect(text == "hello \(name)")
        }
        let all = FileManager.default.enumerator(atPath: root)?.allObjects as? [String] ?? []
        #expect(all.count { !$0.hasPrefix(".") } == 60 + 3 + 6, "\(all)")
    }

    /// Kills the first engine on its way, and gives the command again.
    private func send(
        to url: String, _ options: [String] = [], in home: LonghaulHome,
        hasBegun: () throws -> Bool
    ) async throws {
        let words = ["upload", "-r", "--json", "tree", url] + options
        let first = try home.start(words + ["--wait"])
        try await eventually("a file is there; \(first.errors)", hasBegun)
        first.send(SIGKILL)
        _ = try await first.wait()
        let second = try await home.start(words + ["--wait"]).wait()
        #expect(second.status == 0, "\(second.errors)")
        let sent = try summary(second)
        #expect(sent["failed"] == 0 && sent["passedOver"] == 1, "\(sent)")
        #expect((sent["completed"].int ?? 0) + (sent["skipped"].int ?? 0) == 60, "\(sent)")
        // Neither the transfers nor their sessions are needed to know what was sent.
        #expect(try await home.run("clean").status == 0)
        try home.scratch.write("other", to: "files/tree/d1/new")
        try home.scratch.write("hello \(Self.names[0])", to: "files/tree/\(Self.names[0])")
        let third = try await home.start(words + ["--no-start", "--session", "s"]).wait()
        let found = try summary(third)
        #expect(found["queued"] == 2 && found["skipped"] == 59, "\(found)")
        let again = try await home.start(words + ["--no-start", "--again"]).wait()
        #expect(try summary(again)["queued"] == 61)
    }

    @Test(.enabled(if: NginxServer.isInstalled, "skipped: no nginx"))
    func toWebDAV() async throws {
        var options = NginxServer.Options()
        options.extra = "location /dav/ { dav_methods PUT MKCOL; }"
        let server = try await NginxServer.start(options: options)
        let root = server.root + "/dav"
        try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
        try await send(to: server.http("dav/new/deep/"), in: home) {
            FileManager.default.fileExists(atPath: root + "/new/deep/d0/e 0")
        }
        try check(root + "/new/deep")
        await server.stop()
    }

    @Test(.enabled(if: FTPServer.isInstalled, "skipped: no vsftpd, or not root"))
    func overFTP() async throws {
        let server = try await FTPServer.start()
        let root = server.root + "/in/new"
        try await send(to: server.url("in/new/"), in: home) {
            FileManager.default.fileExists(atPath: root + "/d0/e 0")
        }
        try check(root)
        await server.stop()
    }

    @Test(.enabled(if: SFTPServer.isInstalled, "skipped: no sshd"))
    func overSFTP() async throws {
        let server = try await SFTPServer.start()
        _ = try home.scratch.directory(".ssh")
        try FileManager.default.copyItem(
            atPath: server.knownHosts, toPath: home.scratch(".ssh/known_hosts"))
        let root = server.root + "/new/deep"
        try await send(to: server.url("new/deep/"), ["--key", server.key], in: home) {
            FileManager.default.fileExists(atPath: root + "/d0/e 0")
        }
        try check(root)
        await server.stop()
    }

    @Test(.enabled("skipped: no packages of Python") { await PythonEnvironment.isReady })
    func toS3() async throws {
        let server = try await S3Server.start()
        try await send(to: server.url("new/"), in: home.with(server.environment)) {
            try server.log.contains { $0["method"] == "PUT" && $0["path"] != "/bucket" }
        }
        let keys = try await server.content.objects.keys
        #expect(Set(keys) == Set(Self.names.map { "new/" + $0 }))
    }

    // MARK: - What is refused

    @Test func usage() async throws {
        for (words, message) in [
            (["tree/\(Self.names[0])", "tree/\(Self.names[1])", "http://h/a"], "ends in a slash"),
            (["-r", "tree", "http://h/a"], "ends in a slash"),
            (["tree", "tree/\(Self.names[1])", "http://h/a/"], "with -r"),
            (["-r", "tree/\(Self.names[0])", "http://h/a/"], "no directory"),
            (["-r", "tree", "tree", "http://h/a/"], "one directory"),
            (["tree/\(Self.names[0])", "tree/\(Self.names[0])", "http://h/a/"], "the name"),
        ] {
            let result = try await home.start(["upload", "--no-start"] + words).wait()
            #expect(result.status == 64 && result.errors.contains(message), "\(result.errors)")
        }
        #expect(try await home.run("list").output.isEmpty)
        let empty = try await home.run("upload", "--no-start", "-r", "tree/empty", "http://h/a/")
        #expect(empty.status == 0 && empty.errors.contains("no file"), "\(empty.errors)")
    }

    @Test func severalFilesAreOneCommand() async throws {
        let files = Self.names.prefix(3).map { "tree/\($0)" }
        let words = ["upload", "--no-start"] + files + ["http://127.0.0.1:9/d/"]
        let first = try await home.start(words).wait()
        #expect(first.status == 0 && first.errors.contains("3 queued"), "\(first.errors)")
        let second = try await home.start(words).wait()
        #expect(second.errors.contains("0 queued, 3 recorded before"), "\(second.errors)")
        // A file that was changed since waits for the version before it.
        try home.scratch.write("changed", to: "files/\(files[0])")
        let third = try await home.start(words).wait()
        #expect(third.status == 5 && third.errors.contains("1 refused"), "\(third.errors)")
    }

    /// Skipped is only what the last upload to its URL has left there, of whatever command.
    @Test(.enabled(if: UploadServer.isInstalled, "skipped: no python3"))
    func theLastOneThereCounts() async throws {
        let server = try await UploadServer.start()
        for version in ["v1", "v2"] {
            _ = try home.scratch.directory("files/\(version)")
            try home.scratch.write(version, to: "files/\(version)/a")
        }
        let url = server.url("plain/")
        func send(_ words: String...) async throws -> JSONValue {
            let sent = try await home.start(
                ["upload", "--protocol", "put", "--wait", "--json"] + words
            ).wait()
            #expect(sent.status == 0, "\(sent)")
            return try summary(sent)
        }
        func stored() throws -> String {
            try String(contentsOfFile: server.file("a"), encoding: .utf8)
        }
        #expect(try await send("-r", "v1", url)["completed"] == 1)
        #expect(try await send("-r", "v1", url)["skipped"] == 1)
        #expect(try await send("-r", "v2", url)["completed"] == 1)
        #expect(try await send("-r", "v1", url)["completed"] == 1)
        #expect(try stored() == "v1")
        // By another command, under another spelling of the URL.
        let other = url.replacing("plain", with: "%70lain")
        let one = try await home.run("upload", "--wait", "-q", "v2/a", other)
        #expect(one.status == 0, "\(one)")
        #expect(try await send("-r", "v1", url)["completed"] == 1)
        #expect(try stored() == "v1")
        // By another user, and with another field.
        #expect(try await send("-r", "v1", url, "--user", "me:p")["completed"] == 1)
        #expect(try await send("-r", "v1", url, "--user", "me:q")["skipped"] == 1)
        #expect(try await send("-r", "v1", url, "--header", "X-Tenant: 2")["completed"] == 1)
        #expect(try await send("-r", "v1", url)["completed"] == 1)
        // A file that is on its way there may be there by the time that this one is not sent.
        _ = try await home.run("upload", "--protocol", "put", "--no-start", "v2/a", url)
        #expect(try await send("-r", "v1", url)["completed"] == 1)
    }
}
