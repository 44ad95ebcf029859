import Foundation
import LonghaulTestSupport
import Testing

/// `longhaul upload -`: what comes on standard input is kept in the state directory, and sent from
/// there.
@Suite(.enabled(if: UploadServer.isInstalled, "skipped: no python3"))
struct StandardInputTests {
    private func snapshots(_ state: String) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: "\(state)/snapshots")) ?? []
    }

    @Test(arguments: [[], ["--wait", "-q"]]) func itArrives(_ options: [String]) async throws {
        let server = try await UploadServer.start()
        let home = try LonghaulHome()
        let words = ["upload", "--protocol", "put", "-", server.url("plain/a.txt")]
        let recorded = try await home.start(words + options, input: "hello").wait()
        #expect(recorded.status == 0, "\(recorded.errors)")
        #expect(recorded.errors.contains("standard input is kept in the state directory"))
        if options.isEmpty {
            #expect(snapshots(home.state).count == 1)
            #expect(try await home.run("run").status == 0)
        }
        #expect(try String(contentsOfFile: server.file("a.txt"), encoding: .utf8) == "hello")
        #expect(snapshots(home.state).isEmpty)
        let shown = try #require(try await home.run("show", "1", "--json").rows.first)
        #expect(shown["source"] == "/dev/stdin" && shown["state"] == "completed")
        if FileManager.default.fileExists(atPath: "/etc/mime.types") {
            #expect(try server.log.first?["headers"]["content-type"] == "text/plain")
        }
    }

    @Test func aURLWithoutANameIsRefused() async throws {
        let home = try LonghaulHome()
        for url in ["http://127.0.0.1:1/d/", "s3://bucket", "sftp://h/d/"] {
            let result = try await home.run("upload", "-", url, input: "x")
            #expect(result.status == 64 && result.errors.contains("NAME"), "\(result)")
        }
        let result = try await home.run("upload", "-", "a", "http://127.0.0.1:1/d/", input: "x")
        #expect(result.status == 64 && result.errors.contains("sent alone"), "\(result)")
        #expect(snapshots(home.state).isEmpty)
    }

    /// Nothing is recorded, and no empty file is sent.
    @Test(arguments: [("<&-", "closed"), ("<.", "a directory"), ("0>/dev/null", "closed")])
    func whatCannotBeReadIsRefused(_ how: String, _ word: String) async throws {
        let home = try LonghaulHome()
        let shell = home.through(["/bin/sh", "-c", "exec \"$@\" \(how)", "sh"])
        for options in [["--no-start"], ["--wait"]] {
            let result = try await shell.start(
                ["upload", "-", "http://127.0.0.1:1/a"] + options
            ).wait()
            #expect(result.status == 64 && result.errors.contains(word), "\(result)")
        }
        #expect(snapshots(home.state).isEmpty)
        #expect(try await home.run("list", "--all", "--json").rows.isEmpty)
    }

    /// A tus server makes a resource there.
    @Test func aResourceNeedsNoName() async throws {
        let home = try LonghaulHome()
        let words = ["upload", "--protocol", "tus", "-", "http://127.0.0.1:1/files/"]
        let result = try await home.start(words, input: "x").wait()
        #expect(result.status == 0, "\(result.errors)")
        #expect(try await home.run("cancel", "1").status == 0)
        _ = try await home.run("run", "--max-time", "5s")
        #expect(snapshots(home.state).isEmpty)
    }

    @Test func whatAKilledCommandLeavesGoes() async throws {
        let home = try LonghaulHome()
        let pipe = home.file("pipe")
        #expect(mkfifo(pipe, 0o600) == 0)
        let upload = try home.through(["/bin/sh", "-c", "exec \"$@\" <pipe", "sh"]).start(
            "upload", "-", "http://127.0.0.1:1/a")
        let writer = open(pipe, O_WRONLY)
        #expect(write(writer, "hello", 5) == 5)
        try await eventually("it is kept") {
            let file = snapshots(home.state).first.map { "\(home.state)/snapshots/\($0)" }
            return file.flatMap { FileManager.default.contents(atPath: $0) }?.count == 5
        }
        upload.send(SIGKILL)
        _ = try await upload.wait()
        close(writer)
        #expect(snapshots(home.state).count == 1)
        #expect(try await home.run("run").status == 0)
        #expect(snapshots(home.state).isEmpty)
        #expect(try await home.run("list", "--all", "--json").rows.isEmpty)
    }

    @Test(.enabled(if: OwnDisk.hasLoops, "skipped: no disks of our own"))
    func aFullDiskRefusesIt() async throws {
        let plain = try LonghaulHome()
        let disk = try OwnDisk(memory: "48m", at: plain.scratch("disk"), in: plain.scratch)
        let home = plain.with(["LONGHAUL_HOME": disk.path + "/state"])
        let text = String(repeating: "x", count: 24 << 20)
        let full = try await home.run("upload", "-", "http://127.0.0.1:1/a", input: text)
        #expect(full.status == 5 && full.errors.contains("no room for the whole"), "\(full)")
        #expect(snapshots(disk.path + "/state").isEmpty)
        #expect(try await home.run("list", "--all", "--json").rows.isEmpty)
        disk.unmount()
    }
}
