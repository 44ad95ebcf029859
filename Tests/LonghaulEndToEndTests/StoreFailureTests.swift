import Foundation
import LonghaulTestSupport
import Testing

/// A store that cannot be used: every command says why and what to do, ends with 73, touches
/// nothing, and when it is mended the queue is there as it was.
@Suite(.serialized, .timeLimit(.minutes(60))) struct StoreFailureTests {
    struct Row: CustomTestStringConvertible, Sendable {
        var what: String
        var says: String
        var command = ["list", "--json"]
        var needs: String?
        /// What starts the command while it is broken.
        var launcher: @Sendable (LonghaulHome) -> [String] = { _ in [] }
        var breaks: @Sendable (LonghaulHome) throws -> Void = { _ in }
        var mends: @Sendable (LonghaulHome) async throws -> Void = { _ in }

        var testDescription: String { what }
    }

    private static let enqueue = ["enqueue", "--json", "http://127.0.0.1:1/b"]

    static let rows: [Row] = [
        Row(
            what: "network file system", says: "network file system (NFS)", needs: "strace",
            launcher: { _ in
                Strace.inject("statfs", "poke_exit=@arg2=6969000000000000")
            }),
        Row(
            what: "failing disk, reading", says: "cannot read", needs: "strace",
            launcher: { Strace.inject("pread64", "error=EIO", on: [$0.state + "/queue.sqlite"]) }),
        Row(
            what: "failing disk, looking", says: "Input/output error", needs: "strace",
            launcher: { Strace.inject("newfstatat", "error=EIO", on: [$0.state + "/queue.sqlite"]) }
        ),
        Row(
            what: "failing disk, writing", says: "errors of the disk", command: enqueue,
            needs: "strace",
            launcher: {
                Strace.inject("pwrite64", "error=EIO", on: [$0.state + "/queue.sqlite-wal"])
            }
        ),
        Row(
            what: "full disk", says: "free some space", command: enqueue, needs: "strace",
            launcher: {
                Strace.inject("pwrite64", "error=ENOSPC", on: [$0.state + "/queue.sqlite-wal"])
            }),
        // A file of its own, made by whoever comes first.
        Row(
            what: "full disk, nobody there", says: "is full", needs: "strace",
            launcher: {
                Strace.inject("pwrite64", "error=ENOSPC", on: [$0.state + "/queue.sqlite-shm"])
            }),
        Row(
            what: "somebody else's", says: "belongs to user", needs: "root",
            breaks: { chown($0.state, 65_534, 65_534) }, mends: { chown($0.state, 0, 0) }),
        Row(
            what: "of a newer version", says: "newer version", command: enqueue,
            // PRAGMA user_version stands at offset 60 of the file, big-endian.
            breaks: { try patch($0, at: 60, [0, 0, 255, 255]) },
            mends: { try patch($0, at: 60, [0, 0, 0, 3]) }),
        Row(
            what: "another program's", says: "another program",
            breaks: { try patch($0, at: 68, [1]) },
            mends: { try patch($0, at: 68, [0x4C]) }),
        Row(
            what: "damaged", says: "doctor --repair",
            breaks: { try patch($0, at: 0, Array("not a database!!".utf8)) },
            mends: { try patch($0, at: 0, Array("SQLite format 3\0".utf8)) }),
        Row(
            what: "not a directory", says: "not a directory",
            breaks: { home in
                rename(home.state, home.state + "-away")
                try home.scratch.write("a file", to: "state")
            },
            mends: { home in
                unlink(home.state)
                rename(home.state + "-away", home.state)
            }),
    ]

    @Test(arguments: rows) func saysWhatIsWrong(_ row: Row) async throws {
        if let needs = row.needs, !Self.has(needs) { return }
        let home = try LonghaulHome()
        for name in ["a", "b"] {
            let url = "http://127.0.0.1:1/\(name)"
            #expect(try await home.run("enqueue", url, "-o", home.file(name + "1")).status == 0)
        }
        let before = try await home.run("list", "--json").rows.map { $0["url"] }
        #expect(before.count == 2)
        try row.breaks(home)
        let broken = home.through(row.launcher(home))
        let result = try await broken.start(row.command).wait()
        #expect(result.status == 73, "\(result.output)\(result.errors)")
        let error = try #require(try result.rows.last?["error"])
        #expect(error["code"] == "storeUnavailable")
        #expect(error["message"].string?.contains(row.says) == true, "\(error)")
        try await row.mends(home)
        #expect(try await home.run("list", "--json").rows.map { $0["url"] } == before)
        #expect(try await home.run("cancel", "1").status == 0)
    }

    /// Commands that only show read it, and say that it is newer.
    @Test(arguments: [["list", "--json"], ["show", "1", "--json"], ["status", "--json"]])
    func aNewerQueueIsShown(_ command: [String]) async throws {
        let home = try LonghaulHome()
        #expect(try await home.run("enqueue", "http://127.0.0.1:1/a").status == 0)
        try Self.patch(home, at: 60, [0, 0, 0, 9])
        let shown = try await home.start(command).wait()
        #expect(shown.status == 0, "\(shown.output)\(shown.errors)")
        #expect(try shown.rows.count == 1)
        #expect(shown.errors.contains("a newer version has written this queue (version 9)"))
        #expect(try await home.run("cancel", "1").status == 73)
    }

    /// The same on a real file system, and `doctor` says it too.
    @Test(.enabled(if: geteuid() == 0, "skipped: mounting a tmpfs needs root"))
    func aReadOnlyFileSystem() async throws {
        let home = try LonghaulHome()
        let disk = try OwnDisk(memory: "8m,mode=700", at: home.state)
        #expect(try await home.run("enqueue", "http://127.0.0.1:1/a").status == 0)
        try disk.remount("ro")
        let result = try await home.run("enqueue", "http://127.0.0.1:1/b")
        #expect(result.status == 73, "\(result.output)\(result.errors)")
        #expect(result.errors.contains("is read-only"), "\(result.errors)")
        try disk.remount("rw")
        #expect(try await home.run("enqueue", "http://127.0.0.1:1/b").status == 0)
        #expect(try await home.run("list", "--json").rows.count == 2)
        disk.unmount()
    }

    /// The disk fills up while a run moves bytes: that is no reason to overstay its time.
    @Test(.enabled(if: Strace.isInstalled, "skipped: no strace"))
    func aBoxEndsInTime() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=60M&rate=1M&etag=v1&seed=3")
            _ = try await home.run("enqueue", "--no-start", url, "-o", home.file("a.bin"))
            let run = try home.start("run", "--max-time", "6s")
            try await eventually("bytes come") {
                let shown = try await home.run("show", "1", "--json").rows.first
                return shown?["bytesDone"].int ?? 0 > 1 << 20
            }
            let full = try CLIProcess(
                InstalledProgram.find("strace") ?? "",
                [
                    "-f", "-qq", "-o", "/dev/null", "-P", home.state + "/queue.sqlite-wal",
                    "-e", "trace=pwrite64", "-e", "inject=pwrite64:error=ENOSPC",
                    "-p", String(run.pid),
                ])
            let result = try await run.wait()
            _ = try await full.wait()
            #expect(result.status == 73, "\(result.output)\(result.errors)")
            #expect(result.seconds < 20)
            #expect(try await home.run("list", "--json").rows.first?["state"] == "waiting")
        }
    }

    @Test func whoHasNoRightIsToldSo() async throws {
        guard Self.has("setpriv"), Self.has("root") else { return }
        let home = try LonghaulHome()
        #expect(try await home.run("enqueue", "http://127.0.0.1:1/a").status == 0)
        chmod(home.scratch.path, 0o755)
        let other = home.through([
            InstalledProgram.find("setpriv") ?? "", "--reuid=65534", "--clear-groups",
        ])
        let doctor = try await other.run("doctor", "--json")
        #expect(doctor.status == 73)
        let finding = try #require(try doctor.rows.first { $0["check"] == "directory" })
        #expect(finding["detail"].string?.contains("belongs to user 0") == true)
        #expect(finding["fix"].string?.contains("LONGHAUL_HOME") == true)
        #expect(finding["fix"] != finding["detail"])
    }

    // MARK: -

    private static func has(_ need: String) -> Bool {
        need == "root" ? geteuid() == 0 : InstalledProgram.find(need) != nil
    }

    /// Changes the file itself, its log folded in and gone.
    private static func patch(_ home: LonghaulHome, at offset: UInt64, _ bytes: [UInt8]) throws {
        let store = home.state + "/queue.sqlite"
        let handle = try #require(FileHandle(forWritingAtPath: store))
        try handle.seek(toOffset: offset)
        try handle.write(contentsOf: Data(bytes))
        try handle.close()
        for suffix in ["-wal", "-shm"] {
            try? FileManager.default.removeItem(atPath: store + suffix)
        }
    }
}
