import Foundation
import LonghaulTestSupport
import Testing

/// The disk under a download fails, or its directory goes away. A clear error, the right exit
/// status, bytes and queue kept, and on it goes when mended.
@Suite(.serialized, .timeLimit(.minutes(60))) struct DiskFailureTests {
    private static let isRoot = geteuid() == 0

    struct Injection: CustomTestStringConvertible, Sendable {
        var call: String
        var when = "1+"
        var knobs = "size=16M&etag=v1&rate=12M"
        /// On the part file alone; else wherever the call is made.
        var isOnPart = true
        /// The least that is kept, in bytes.
        var kept = 0
        var says: String

        var testDescription: String { "\(call) \(when)" }
    }

    static let injections = [
        Injection(call: "pwrite64", when: "40+", kept: 1 << 16, says: "disk failed"),
        // What was written since the last checkpoint is unknown.
        Injection(call: "fdatasync", says: "disk failed"),
        Injection(
            call: "pread64", knobs: "size=1M&etag=v1&digest", kept: 1 << 20, says: "disk failed"),
        Injection(
            call: "renameat2", knobs: "size=1M&etag=v1", isOnPart: false, kept: 1 << 20,
            says: "disk failed"),
    ]

    @Test(
        .enabled(if: Strace.isInstalled, "skipped: no strace"),
        arguments: injections)
    func inputOutputErrors(_ row: Injection) async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?seed=5&\(row.knobs)")
            let part = home.file(".a.bin.1.longhaul-part")
            let failing = home.through(
                Strace.inject(
                    row.call, "error=EIO:when=\(row.when)", on: row.isOnPart ? [part] : []))
            let result = try await failing.run(
                "get", "--json", url, "-o", home.file("a.bin"), "--connections", "1")
            #expect(result.status == 1, "\(result.errors)")
            try await isKept(home, result, "io", says: row.says, atLeast: row.kept)
            try await goesOn(home, server, url)
        }
    }

    /// Mounts that cannot do it say so in several ways: the file comes all the same.
    @Test(
        .enabled(if: Strace.isInstalled, "skipped: no strace"),
        arguments: [
            ("fchmod", "EPERM"), ("fchmod", "EACCES"), ("fchmod", "EINVAL"),
            ("fdatasync", "EINVAL"), ("fdatasync", "EOPNOTSUPP"),
        ])
    func whatADiskCannotDoIsDoneWithout(call: String, error: String) async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?seed=5&size=1M&etag=v1")
            let part = home.file(".a.bin.1.longhaul-part")
            let poor = home.through(Strace.inject(call, "error=\(error)", on: [part]))
            let result = try await poor.run("get", url, "-o", home.file("a.bin"))
            #expect(result.status == 0, "\(result.errors)")
            try server.expected(url).verify(file: home.file("a.bin"))
        }
    }

    @Test(.enabled(if: isRoot, "skipped: mounting a tmpfs needs root"))
    func aFullDiskIsWaitedFor() async throws {
        let home = try LonghaulHome()
        let disk = try OwnDisk(memory: "4m", at: home.file("disk"))
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=6M&seed=5&etag=v1&nolength")
            _ = try await home.run("enqueue", url, "-o", home.file("disk/a.bin"))
            #expect(try await home.run("run", "--max-time", "2s").status == 0)
            let why = try #require(try await home.run("why", "1", "--json").rows.first)
            let reasons = why["waitingFor"].items.map { $0["reason"].string }
            #expect(why["state"] == "waiting" && reasons.first == "storage", "\(why)")
            let kept = try await shown(home)["bytesDone"].int ?? 0
            #expect(kept > 2 << 20)
            try disk.remount("size=16m")
            let run = try await home.start("run").wait()
            #expect(run.status == 0)
            try server.expected(url).verify(file: home.file("disk/a.bin"))
            #expect(server.log.requests(for: url).last?["Range"] == "bytes=\(kept)-")
        }
        disk.unmount()
    }

    /// Of many, a few find that out; the others make no file and ask nobody.
    @Test(.enabled(if: isRoot, "skipped: mounting a tmpfs needs root"))
    func aFullDiskIsFoundOutByFew() async throws {
        let home = try LonghaulHome()
        let disk = try OwnDisk(memory: "1m", at: home.file("disk"))
        try home.scratch.write(Data(count: 1 << 20), to: "files/disk/filler")
        try await LoopbackServer.run { server in
            let urls = try await enqueued(100, home, server, "size=4K&nolength")
            #expect(try await home.run("run", "--max-time", "2s").status == 0)
            #expect(server.log.count < 40)
            #expect(try home.scratch.names(in: "files/disk").count < 40)
            #expect(unlink(home.file("disk/filler")) == 0)
            // Now, and not in half a minute.
            #expect(try await home.run("pause", "--all").status == 0)
            #expect(try await home.run("resume", "--all", "--no-start").status == 0)
            #expect(try await home.run("run").status == 0)
            for (number, url) in urls.enumerated() {
                try server.expected(url).verify(file: home.file("disk/f\(number)"))
            }
        }
        disk.unmount()
    }

    /// Too full for one is not too full for all.
    @Test(.enabled(if: isRoot, "skipped: mounting a tmpfs needs root"))
    func whatFitsGoesOn() async throws {
        let home = try LonghaulHome()
        let disk = try OwnDisk(memory: "1m", at: home.file("disk"))
        try await LoopbackServer.run { server in
            let large = server.url("large?size=8M&seed=5")
            _ = try await home.run("enqueue", large, "-o", home.file("disk/large"))
            let urls = try await enqueued(40, home, server, "size=4K&nolength")
            #expect(try await home.run("run", "--max-time", "5s").status == 0)
            let why = try #require(try await home.run("why", "1", "--json").rows.first)
            #expect(why["waitingFor"].items.first?["reason"] == "storage", "\(why)")
            for (number, url) in urls.enumerated() {
                try server.expected(url).verify(file: home.file("disk/f\(number)"))
            }
        }
        disk.unmount()
    }

    private func enqueued(
        _ count: Int, _ home: LonghaulHome, _ server: LoopbackServer, _ knobs: String
    ) async throws -> [String] {
        let urls = (0..<count).map { server.url("f\($0)?seed=\($0)&\(knobs)") }
        let added = try await home.run(
            "enqueue", "--input", "-", "-d", home.file("disk"), input: urls.joined(separator: "\n"))
        #expect(added.status == 0, "\(added.errors)")
        return urls
    }

    /// As when the kernel has given the disk up, with files open for writing.
    @Test(.enabled(if: OwnDisk.hasLoops, "skipped: no ext4 in a file can be mounted"))
    func theDiskBecomesReadOnly() async throws {
        let home = try LonghaulHome()
        let disk = try OwnDisk(ext4: 48 << 20, at: home.file("disk"))
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=16M&seed=5&etag=v1&rate=4M&stall=12M")
            let get = try home.start(
                "get", "--json", url, "-o", home.file("disk/a.bin"), "--connections", "1")
            // The first checkpoint is due after 8 MiB or 2 s.
            try await server.log.waitForBytes(11 << 20)
            try disk.fail()
            server.goOn()
            let result = try await get.wait()
            #expect(result.status == 1, "\(result.errors)")
            try await isKept(home, result, "permission", says: "read-only", atLeast: 4 << 20)
            try disk.mend()
            try await goesOn(home, server, url, file: "disk/a.bin")
        }
        disk.unmount()
    }

    // MARK: - Directories

    @Test func aDirectoryThatWentBeforeTheStartIsMade() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=100K")
            _ = try home.scratch.directory("files/there")
            _ = try await home.run("enqueue", url, "-o", home.file("there/a.bin"))
            rmdir(home.file("there"))
            #expect(try await home.run("run").status == 0)
            try server.expected(url).verify(file: home.file("there/a.bin"))
        }
    }

    /// Moved away under the download: no file is reported to be where it is not. Seen at a
    /// checkpoint, or, when none was due, before it gets its name.
    @Test(arguments: ["size=12M&rate=2M", "size=900K&stall=500K"])
    func aDirectoryThatIsMovedMeanwhile(knobs: String) async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?seed=5&etag=v1&\(knobs)")
            let get = try await getting(home, server, url, until: 100 << 10)
            #expect(rename(home.file("there"), home.file("elsewhere")) == 0)
            if knobs.contains("stall") { server.goOn() }
            let result = try await get.wait()
            #expect(result.status == 1, "\(result.errors)")
            try await isKept(home, result, "io", says: "moved", atLeast: 100 << 10)
            #expect(rename(home.file("elsewhere"), home.file("there")) == 0)
            try await goesOn(home, server, url, file: "there/a.bin")
            let size = try server.expected(url).size
            #expect(try await shown(home)["bytesFetched"].int == size)
        }
    }

    @Test func aDirectoryThatIsDeletedMeanwhile() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=16M&seed=5&etag=v1&rate=2M")
            let get = try await getting(home, server, url)
            try FileManager.default.removeItem(atPath: home.file("there"))
            let result = try await get.wait()
            #expect(result.status == 1, "\(result.errors)")
            let error = try #require(try result.rows.last?["error"])
            #expect(error["code"] == "io" && error["bytesKept"] == 0, "\(error)")
            #expect(error["message"].string?.contains("deleted") == true)
            // Seen at a checkpoint, not at the end.
            #expect(try #require(try result.rows.last)["bytesFetched"].int ?? 0 < 16 << 20)
            try await goesOn(home, server, url, file: "there/a.bin", status: 200)
        }
    }

    /// A disk that is not mounted just now: nothing is begun anew in its place.
    @Test func aDirectoryThatIsAwayBetweenTwoRuns() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=16M&seed=5&etag=v1&rate=8M&stall=11M&stalls=1")
            // Past the first checkpoint.
            let get = try await getting(home, server, url, until: 10 << 20)
            get.send(SIGKILL)
            _ = try await get.wait()
            #expect(rename(home.file("there"), home.file("elsewhere")) == 0)
            #expect(try await home.run("run").status == 1)
            let failed = try await shown(home)
            #expect(failed["state"] == "failed" && failed["error"]["code"] == "io", "\(failed)")
            #expect(failed["error"]["bytesKept"].int ?? 0 > 4 << 20, "\(failed)")
            #expect(access(home.file("there"), F_OK) != 0)
            #expect(rename(home.file("elsewhere"), home.file("there")) == 0)
            try await goesOn(home, server, url, file: "there/a.bin")
        }
    }

    /// Cancelled, and killed before its bytes were deleted: who comes next sees to it.
    @Test(.enabled(if: Strace.isInstalled, "skipped: no strace"))
    func aCancelThatIsKilledLeavesNothing() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=16M&seed=5&etag=v1&stall=1M")
            let get = try await getting(home, server, url, until: 1 << 19)
            get.send(SIGKILL)
            _ = try await get.wait()
            let part = home.file("there/.a.bin.1.longhaul-part")
            let cancel = try await home.through(Strace.kill(before: "unlinkat", 1))
                .run("cancel", "1")
            #expect(cancel.status != 0)
            #expect(try await shown(home)["state"] == "cancelled")
            #expect(access(part, F_OK) == 0)
            #expect(try await home.run("run").status == 0)
            #expect(access(part, F_OK) != 0)
        }
    }

    /// Killed before its part file was recorded, and then a command comes before the next engine.
    @Test(.enabled(if: Strace.isInstalled, "skipped: no strace"))
    func whatWasNeverRecordedIsDeleted() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            _ = try home.scratch.directory("files/there")
            let url = server.url("a.bin?size=200000&seed=5&etag=v1&rate=2M")
            _ = try await home.run("enqueue", url, "-o", home.file("there/a.bin"))
            let part = home.file("there/.a.bin.1.longhaul-part")
            let dying = home.through(Strace.kill(before: "pwrite64", 2, on: [part]))
            #expect(try await dying.run("run").status != 0)
            #expect(home.scratch.size(of: "files/there/.a.bin.1.longhaul-part") ?? 0 > 0)
            #expect(try await home.run("pause", "1").status == 0)
            #expect(access(part, F_OK) != 0)
            #expect(try await home.run("resume", "1", "--no-start").status == 0)
            #expect(try await home.run("run").status == 0)
            #expect(try home.scratch.names(in: "files/there") == ["a.bin"])
        }
    }

    /// Cut off while nobody had it open: what is missing is fetched again, not filled with zeros.
    @Test func aPartFileThatWasCutOff() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=16M&seed=5&etag=v1&rate=8M&stall=11M&stalls=1")
            let get = try await getting(home, server, url, until: 10 << 20)
            get.send(SIGINT)
            _ = try await get.wait()
            #expect(truncate(home.file("there/.a.bin.1.longhaul-part"), 2 << 20) == 0)
            try await goesOn(home, server, url, file: "there/a.bin", from: 2 << 20)
        }
    }

    /// An engine with nothing to do keeps no disk from being unmounted.
    @Test func aDirectoryIsLetGo() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let engine = try home.start("daemon")
            let place = home.file("there")
            let url = server.url("a.bin?size=1K")
            _ = try await home.run("enqueue", url, "-o", place + "/a.bin")
            #expect(try await home.run("wait", "1").status == 0)
            let open = "/proc/\(engine.pid)/fd"
            try await eventually("\(place) is not open") {
                try FileManager.default.contentsOfDirectory(atPath: open).allSatisfy {
                    let path = try? FileManager.default.destinationOfSymbolicLink(
                        atPath: "\(open)/\($0)")
                    return path?.hasPrefix(place) != true
                }
            }
            engine.send(SIGTERM)
            _ = try await engine.wait()
        }
    }

    /// One directory has many spellings, and one of them once made a copy of the file for ever.
    @Test func aDirectoryWithTwoSlashes() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            _ = try home.scratch.directory("files/there")
            let path = home.file("there") + "//./a.bin"
            let get = try home.start("get", "--json", server.url("a?size=1M&seed=5"), "-o", path)
            #expect(try await get.wait().status == 0)
            #expect(try await shown(home)["destination"] == .string(home.file("there/a.bin")))
            #expect(home.scratch.size(of: "files/there/a.bin") == 1 << 20)
        }
    }

    // MARK: -

    /// Under way, with some bytes on disk.
    private func getting(
        _ home: LonghaulHome, _ server: LoopbackServer, _ url: String, until bytes: Int = 1 << 20
    ) async throws -> CLIProcess {
        _ = try home.scratch.directory("files/there")
        let get = try home.start(
            "get", "--json", url, "-o", home.file("there/a.bin"), "--connections", "1")
        let part = "files/there/.a.bin.1.longhaul-part"
        try await eventually("some bytes") {
            home.scratch.size(of: part) ?? 0 > bytes
        }
        return get
    }

    private func shown(_ home: LonghaulHome) async throws -> JSONValue {
        try #require(try await home.run("show", "1", "--json").rows.first)
    }

    private func isKept(
        _ home: LonghaulHome, _ result: CLIProcess.Result, _ code: String, says: String,
        atLeast least: Int
    ) async throws {
        let transfer = try #require(try result.rows.last)
        let error = transfer["error"]
        #expect(transfer["state"] == "failed" && error["code"] == .string(code), "\(error)")
        #expect(error["message"].string?.contains(says) == true, "\(error)")
        #expect(error["bytesKept"].int ?? -1 >= least, "\(error)")
        let now = try await shown(home)
        #expect(now["state"] == "failed" && now["bytesDone"] == error["bytesKept"])
    }

    /// After `resume`: from the bytes that were kept, and to the right end.
    private func goesOn(
        _ home: LonghaulHome, _ server: LoopbackServer, _ url: String, file: String = "a.bin",
        status: Int = 206, from kept: Int? = nil
    ) async throws {
        let shownDone = try await shown(home)["bytesDone"].int ?? 0
        let kept = kept ?? shownDone
        let expected = try server.expected(url)
        let before = server.log.count
        #expect(try await home.run("resume", "1").status == 0)
        let run = try await home.run("run")
        #expect(run.status == 0)
        do {
            try expected.verify(file: home.file(file))
        } catch {
            Issue.record("\(error): \(run.output)\(run.errors)\(try await shown(home))")
            return
        }
        let requests = server.log.all.dropFirst(before)
        if kept == expected.size {
            #expect(requests.isEmpty)
        } else {
            let isResumed = status == 206 && kept > 0
            #expect(requests.first?.status == (isResumed ? 206 : 200))
            #expect(requests.first?["Range"] == (isResumed ? "bytes=\(kept)-" : nil))
        }
        #expect(try await shown(home)["state"] == "completed")
    }
}
