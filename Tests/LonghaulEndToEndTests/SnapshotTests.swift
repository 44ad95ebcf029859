import Foundation
import LonghaulTestSupport
import Testing

/// `longhaul upload --snapshot`: the file arrives as it was, and its snapshot stays no longer than
/// it is needed.
@Suite(.enabled(if: UploadServer.isInstalled, "skipped: no python3"))
struct SnapshotTests {
    private static let before = Representation(size: 3_000_000, seed: 1)
    private static let after = Representation(size: 2_000_000, seed: 2)

    /// A file that is changed once its upload is recorded.
    private func enqueue(
        _ home: LonghaulHome, _ url: String, _ options: String...
    ) async throws -> CLIProcess.Result {
        try Self.before.write(to: home.file("source"))
        let result = try await home.start(
            ["upload", "--snapshot", "source", url] + options
        ).wait()
        try Self.after.write(to: home.file("source"))
        return result
    }

    private func snapshots(_ home: LonghaulHome) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: "\(home.state)/snapshots")) ?? []
    }

    @Test func theFileArrivesAsItWas() async throws {
        let server = try await UploadServer.start()
        let home = try LonghaulHome()
        let recorded = try await enqueue(home, server.url("tus/a"), "--protocol", "tus")
        #expect(recorded.status == 0, "\(recorded.errors)")
        #expect(snapshots(home).count == 1)
        let directory = try FileManager.default.attributesOfItem(atPath: "\(home.state)/snapshots")
        #expect(directory[.posixPermissions] as? Int == 0o700)
        let result = try await home.run("run")
        #expect(result.status == 0, "\(result.errors)")
        try Self.before.verify(file: server.file("a"))
        try Self.after.verify(file: home.file("source"))
        #expect(snapshots(home).isEmpty)
        for command in [["show", "1", "--json"], ["list", "--all", "--json"]] {
            let shown = try await home.start(command).wait().rows.first
            #expect(shown?["source"].string == home.file("source"), "\(command)")
        }
        let creation = try #require(try server.log.first { $0["method"] == "POST" })
        let metadata = try #require(creation["headers"]["upload-metadata"].string)
        #expect(metadata.hasPrefix("filename \(Data("source".utf8).base64EncodedString())"))
    }

    @Test func manyHaveOneEach() async throws {
        let server = try await UploadServer.start()
        let home = try LonghaulHome()
        var lines = ""
        for number in 1...300 {
            try home.scratch.write("file \(number)", to: "files/f\(number)")
            lines += #"{"source":"f\#(number)","url":"\#(server.url("plain/a\(number)"))"}"# + "\n"
        }
        let words = ["upload", "--snapshot", "--protocol", "put", "--input", "-"]
        let recorded = try await home.start(words, input: lines).wait()
        #expect(recorded.status == 0, "\(recorded.errors)")
        #expect(snapshots(home).count == 300)
        for number in 1...300 { try home.scratch.write("other", to: "files/f\(number)") }
        let result = try await home.run("run")
        #expect(result.status == 0, "\(result.errors)")
        for number in [1, 300] {
            let text = try String(contentsOfFile: server.file("a\(number)"), encoding: .utf8)
            #expect(text == "file \(number)")
        }
        #expect(snapshots(home).isEmpty)
    }

    @Test func anEqualUploadHasOne() async throws {
        let home = try LonghaulHome()
        try Self.before.write(to: home.file("source"))
        for _ in 0..<2 {
            let result = try await home.run(
                "upload", "--snapshot", "source", "http://127.0.0.1:9/a")
            #expect(result.output == "1\n", "\(result.errors)")
            #expect(snapshots(home).count == 1)
        }
        // What is refused has none.
        let refused = try await home.run("upload", "--snapshot", "source", "gopher://h/a")
        #expect(refused.status == 64)
        #expect(snapshots(home).count == 1)
    }

    // MARK: - Ends

    enum End: CaseIterable, Sendable { case whileQueued, whileRunning, whilePaused }

    @Test(arguments: End.allCases) func aCancelDeletesIt(_ end: End) async throws {
        let server = try await UploadServer.start()
        let home = try LonghaulHome()
        _ = try await enqueue(home, server.url("tus/a"), "--protocol", "tus", "--limit-rate", "50K")
        if end == .whileQueued {
            _ = try await home.run("cancel", "1")
            _ = try await home.run("run")
        } else {
            let engine = try home.start("daemon")
            try await eventually("it moves") {
                try await home.run("show", "1", "--json").rows.first?["bytesFetched"].int ?? 0 > 0
            }
            if end == .whilePaused { _ = try await home.run("pause", "1") }
            _ = try await home.run("cancel", "1")
            try await eventually("its snapshot is gone") { snapshots(home).isEmpty }
            engine.send(SIGTERM)
            _ = try await engine.wait()
        }
        #expect(snapshots(home).isEmpty)
        // It cannot be taken up again, and says so.
        let again = try await home.run("retry", "1")
        #expect(again.status == 5 && again.errors.contains("snapshot"), "\(again)")
        let shown = try #require(try await home.run("show", "1", "--json").rows.first)
        #expect(shown["state"] == "cancelled", "\(shown)")
    }

    @Test(arguments: ["retry", "remove", "clean"])
    func aFailedOneKeepsItAsLongAsItIsThere(_ end: String) async throws {
        let server = try await UploadServer.start()
        let home = try LonghaulHome()
        _ = try await enqueue(home, server.url("plain/a?status=413"), "--protocol", "put")
        _ = try await home.run("run")
        #expect(try await home.run("show", "1", "--json").rows.first?["state"] == "failed")
        #expect(snapshots(home).count == 1)
        _ = try await home.start(end == "clean" ? ["clean"] : [end, "1"]).wait()
        if end == "retry" {
            _ = try await home.run("run")
            try Self.before.verify(file: server.file("a"))
        }
        #expect(snapshots(home).isEmpty)
    }

    // MARK: - Crashes

    /// In the midst of the copy, and before the file is recorded.
    @Test(
        .enabled(if: Strace.isInstalled, "skipped: no strace"),
        arguments: ["copy_file_range", "fdatasync", "fsync"])
    func aKilledCommandLeavesNothingForLong(_ call: String) async throws {
        let home = try LonghaulHome()
        _ = try await home.run("list")
        try Self.before.write(to: home.file("source"))
        let directory = "\(home.state)/snapshots"
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true)
        let paths = call == "fsync" ? [directory] : []
        let killed = try await home.through(Strace.kill(before: call, 1, on: paths)).start(
            "upload", "--snapshot", "source", "http://127.0.0.1:9/a"
        ).wait()
        #expect(killed.status != 0)
        #expect(snapshots(home).count == 1)
        #expect(try await home.run("list", "--all", "--json").rows.isEmpty)
        _ = try await home.run("run")
        #expect(snapshots(home).isEmpty)
    }

    @Test func aKilledEngineCarriesOnWithIt() async throws {
        let server = try await UploadServer.start()
        let home = try LonghaulHome()
        _ = try await enqueue(home, server.url("tus/a"), "--protocol", "tus", "--limit-rate", "50K")
        let engine = try home.start("run")
        try await eventually("it moves") {
            try await home.run("show", "1", "--json").rows.first?["bytesFetched"].int ?? 0 > 0
        }
        engine.send(SIGKILL)
        _ = try await engine.wait()
        #expect(snapshots(home).count == 1)
        _ = try await home.run("set", "1", "--limit-rate", "none")
        let result = try await home.run("run")
        #expect(result.status == 0, "\(result.errors)")
        try Self.before.verify(file: server.file("a"))
        #expect(snapshots(home).isEmpty)
    }

    // MARK: - Disks

    /// The disk has no room for a copy.
    @Test(.enabled(if: OwnDisk.hasBtrfs, "skipped: no Btrfs"))
    func blocksAreSharedWhereTheFileSystemCan() async throws {
        let server = try await UploadServer.start()
        let plain = try LonghaulHome()
        let disk = try OwnDisk(
            btrfs: 256 << 20, at: plain.scratch("disk"), in: plain.scratch)
        let home = plain.with(["LONGHAUL_HOME": disk.path + "/state"])
        let content = Representation(size: 150 << 20, seed: 3)
        try content.write(to: disk.path + "/source")
        let recorded = try await home.run(
            "upload", "--snapshot", "--protocol", "put", disk.path + "/source",
            server.url("plain/a"))
        #expect(recorded.status == 0 && recorded.errors.isEmpty, "\(recorded.errors)")
        let handle = try #require(FileHandle(forWritingAtPath: disk.path + "/source"))
        try handle.write(contentsOf: Data("changed".utf8))
        try handle.close()
        let result = try await home.run("run")
        #expect(result.status == 0, "\(result.errors)")
        try content.verify(file: server.file("a"))
        let left = try FileManager.default.contentsOfDirectory(
            atPath: disk.path + "/state/snapshots")
        #expect(left.isEmpty)
        disk.unmount()
    }

    @Test(.enabled(if: OwnDisk.hasLoops, "skipped: no disks of our own"))
    func elsewhereItIsCopiedWhichIsSaid() async throws {
        let server = try await UploadServer.start()
        let plain = try LonghaulHome()
        let disk = try OwnDisk(memory: "16m", at: plain.scratch("disk"), in: plain.scratch)
        let home = plain.with(["LONGHAUL_HOME": disk.path + "/state"])
        try Self.before.write(to: home.file("source"))
        let result = try await home.run(
            "upload", "--wait", "-q", "--snapshot", "source", server.url("plain/a"))
        #expect(result.status == 0 && result.errors.contains("copying 2.9 MiB"), "\(result)")
        try Self.before.verify(file: server.file("a"))

        try Representation(size: 40 << 20, seed: 4).write(to: home.file("large"))
        let full = try await home.run("upload", "--snapshot", "large", server.url("plain/b"))
        #expect(full.status == 5 && full.errors.contains("no room for a snapshot"), "\(full)")
        let left = try FileManager.default.contentsOfDirectory(
            atPath: disk.path + "/state/snapshots")
        #expect(left.isEmpty)
        #expect(try await home.run("list", "--all", "--json").rows.count == 1)
        disk.unmount()
    }
}
