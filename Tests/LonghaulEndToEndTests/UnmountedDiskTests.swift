import Foundation
import LonghaulTestSupport
import Testing

/// The disk under a part file is not mounted, and the directory where it was mounted is as good as
/// any other: nothing is given up, nothing is fetched to the disk below, and it goes on by itself
/// when the disk is back.
@Suite(
    .serialized, .timeLimit(.minutes(60)),
    .enabled(if: OwnDisk.hasLoops, "skipped: no ext4 in a file can be mounted"))
struct UnmountedDiskTests {
    private let home: LonghaulHome
    private let disk: OwnDisk

    init() throws {
        home = try LonghaulHome()
        // What is seen where the disk is not.
        _ = try home.scratch.directory("files/disk/there")
        disk = try OwnDisk(ext4: 64 << 20, at: home.file("disk"), in: home.scratch)
        _ = try home.scratch.directory("files/disk/there")
        _ = try home.scratch.directory("files/disk/onlyHere")
    }

    /// The directory is there without the disk as well, or comes and goes with it.
    @Test(arguments: ["", "there/", "onlyHere/"]) func betweenTwoRuns(below: String) async throws {
        try await LoopbackServer.run { server in
            let url = try await killed(server, at: "disk/\(below)a.bin")
            disk.unmount()
            let before = server.log.count
            try await waits("run", "--max-time", "2s")
            // Looked at again.
            try await again()
            try await waits("run", "--max-time", "2s")
            #expect(server.log.count == before)
            let kept = try await shown()["bytesDone"].int ?? 0
            #expect(kept > 4 << 20)
            try await goesOn(server, url, at: "disk/\(below)a.bin")
            let requests = server.log.all.dropFirst(before)
            #expect(requests.map { $0["Range"] } == ["bytes=\(kept)-"])
            #expect(try await shown()["restarts"] == 0)
        }
    }

    /// Recorded while the disk was there, and never begun: nothing lands where it was mounted.
    @Test(arguments: ["", "there/", "onlyHere/", "new/"]) func neverBegun(
        below: String
    ) async throws {
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=1M&seed=5")
            let place = home.file("disk/\(below)")
            let way = below == "there/" ? ["-d", place] : ["-o", place + "a.bin"]
            let added = try await home.start(["enqueue", "--no-start", url] + way).wait()
            #expect(added.status == 0, "\(added.errors)")
            disk.unmount()
            _ = try await home.run("run", "--max-time", "2s")
            let wait = try #require(try await shown()["waitingFor"].items.first)
            #expect(wait["reason"] == "storage" && wait["required"] == "its disk", "\(wait)")
            #expect(wait["current"].string?.contains("`set -o`") == true)
            try belowIsEmpty()
            #expect(server.log.count == 0)
            try await goesOn(server, url, at: "disk/\(below)a.bin")
        }
    }

    /// The disk is gone for good: what was cancelled begins on the one that is there.
    @Test func neverBegunAndAskedForAnew() async throws {
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=1M&seed=5")
            _ = try await home.run("enqueue", "--no-start", url, "-o", home.file("disk/a.bin"))
            disk.unmount()
            #expect(try await home.run("cancel", "1").status == 0)
            #expect(try await home.run("run").status == 0)
            #expect(try await home.run("retry", "1", "--no-start").status == 0)
            #expect(try await home.run("run").status == 0)
            try server.expected(url).verify(file: home.file("disk/a.bin"))
        }
    }

    /// Another place is chosen instead.
    @Test func neverBegunAndMoved() async throws {
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=1M&seed=5")
            _ = try await home.run("enqueue", "--no-start", url, "-o", home.file("disk/a.bin"))
            disk.unmount()
            #expect(try await home.run("set", "1", "-o", home.file("a.bin")).status == 0)
            #expect(try await home.run("run").status == 0)
            try server.expected(url).verify(file: home.file("a.bin"))
        }
    }

    /// What no checkpoint had made durable may have been in the page cache alone, and that goes
    /// with the mount, though it is the same boot.
    @Test func mountedAgain() async throws {
        try await LoopbackServer.run { server in
            let url = try await killed(server, at: "disk/a.bin")
            let written = home.scratch.size(of: "files/disk/.a.bin.1.longhaul-part") ?? 0
            disk.unmount()
            try disk.mount()
            #expect(try await home.run("run").status == 0)
            try server.expected(url).verify(file: home.file("disk/a.bin"))
            let range = try #require(server.log.all.last?["Range"])
            let kept = try #require(Int(range.dropFirst("bytes=".count).dropLast()))
            #expect(kept > 4 << 20 && kept < written, "\(kept) of \(written)")
            #expect(try await shown()["restarts"] == 0)
        }
    }

    /// While bytes come, and then it goes on by itself; or between two attempts.
    @Test(arguments: [false, true]) func underARunningEngine(isMoving: Bool) async throws {
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=16M&seed=5&etag=v1&rate=4M")
            _ = try await home.run(
                "enqueue", url, "-o", home.file("disk/a.bin"), "--connections", "1")
            let engine = try home.start("daemon")
            try await server.log.waitForBytes(5 << 20)
            if !isMoving {
                #expect(try await home.run("pause", "1").status == 0)
                try await eventually("it is paused") {
                    try await shown()["bytesPerSecond"] == .null
                }
            }
            disk.detach()
            if !isMoving { #expect(try await home.run("resume", "1").status == 0) }
            try await eventually("it waits for its disk") {
                try await shown()["waitingFor"].items.first?["required"] == "its disk"
            }
            try belowIsEmpty()
            let before = server.log.count
            let kept = try await shown()["bytesDone"].int ?? 0
            #expect(kept > 0)
            try disk.mount()
            if !isMoving { try await again() }
            _ = try await home.run("wait", "1")
            try server.expected(url).verify(file: home.file("disk/a.bin"))
            let requests = server.log.all.dropFirst(before)
            #expect(requests.map { $0["Range"] } == ["bytes=\(kept)-"])
            engine.send(SIGTERM)
            _ = try await engine.wait()
        }
    }

    /// Whole, and killed before it had its name or before that was recorded.
    @Test(
        .enabled(if: Strace.isInstalled, "skipped: no strace"),
        arguments: ["renameat2", "fsync"])
    func aboutToBePublished(killedAt call: String) async throws {
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=1M&seed=5&etag=v1")
            _ = try await home.run("enqueue", url, "-o", home.file("disk/a.bin"))
            let dying = home.through(Strace.inject(call, "signal=SIGKILL:when=1"))
            _ = try await dying.start("run").wait()
            let isNamed = home.scratch.exists("files/disk/a.bin")
            #expect(isNamed == (call == "fsync"))
            disk.unmount()
            let before = server.log.count
            try await waits("run", "--max-time", "2s")
            try await goesOn(server, url, at: "disk/a.bin")
            #expect(try await shown()["state"] == "completed")
            #expect(server.log.count == before)
        }
    }

    /// An equal transfer to another disk need not wait for that of its leader.
    @Test func whoSharesItsFetchGoesOn() async throws {
        try await LoopbackServer.run { server in
            let url = try await killed(server, at: "disk/a.bin")
            _ = try await home.run("enqueue", url, "-o", home.file("b.bin"))
            disk.unmount()
            try await waits("run", "--max-time", "20s")
            try server.expected(url).verify(file: home.file("b.bin"))
            let kept = try await shown()["bytesDone"].int ?? 0
            #expect(kept > 4 << 20)
            try await goesOn(server, url, at: "disk/a.bin")
            #expect(server.log.all.last?["Range"] == "bytes=\(kept)-")
        }
    }

    /// One that comes later, when nobody but a paused one has bytes.
    @Test func whoComesLaterGoesOn() async throws {
        try await LoopbackServer.run { server in
            let url = try await killed(server, at: "disk/onlyHere/a.bin")
            #expect(try await home.run("pause", "1").status == 0)
            disk.unmount()
            _ = try await home.run("enqueue", url, "-o", home.file("b.bin"))
            #expect(try await home.run("run").status == 0)
            try server.expected(url).verify(file: home.file("b.bin"))
            let kept = try await shown()["bytesDone"].int ?? 0
            #expect(kept > 4 << 20)
            #expect(try await home.run("show", "2", "--json").rows.first?["restarts"] == 0)
            try belowIsEmpty()
            try disk.mount()
            #expect(try await home.run("resume", "1", "--no-start").status == 0)
            #expect(try await home.run("run").status == 0)
            try server.expected(url).verify(file: home.file("disk/onlyHere/a.bin"))
            #expect(server.log.all.last?["Range"] == "bytes=\(kept)-")
        }
    }

    /// The disk is gone for good.
    @Test func theWayOut() async throws {
        try await LoopbackServer.run { server in
            let url = try await killed(server, at: "disk/there/a.bin")
            disk.unmount()
            try await waits("run", "--max-time", "2s")
            #expect(try await home.run("cancel", "1").status == 0)
            #expect(try await home.run("run").status == 0)
            #expect(try await home.run("retry", "1", "--no-start").status == 0)
            #expect(try await home.run("run").status == 0)
            try server.expected(url).verify(file: home.file("disk/there/a.bin"))
            #expect(server.log.all.last?["Range"] == nil)
        }
    }

    @Test func isRemovedWithoutItsDisk() async throws {
        try await LoopbackServer.run { server in
            _ = try await killed(server, at: "disk/a.bin")
            disk.unmount()
            try await waits("run", "--max-time", "2s")
            #expect(try await home.run("cancel", "1", "--keep-bytes").status == 0)
            #expect(try await home.run("run").status == 0)
            #expect(try await home.run("remove", "1").status == 0)
            #expect(try await home.run("list", "--json").rows.isEmpty)
        }
    }

    /// `get` waits for no storage: it fails, and its bytes are used when the disk is back.
    @Test func getFails() async throws {
        try await LoopbackServer.run { server in
            let url = try await killed(server, at: "disk/a.bin", by: "get")
            disk.unmount()
            #expect(try await home.run("run").status == 1)
            let error = try await shown()["error"]
            #expect(error["code"] == "io" && error["bytesKept"].int ?? 0 > 4 << 20, "\(error)")
            #expect(error["message"].string?.contains("is not mounted") == true, "\(error)")
            try belowIsEmpty()
            try disk.mount()
            #expect(try await home.run("resume", "1", "--no-start").status == 0)
            #expect(try await home.run("run").status == 0)
            try server.expected(url).verify(file: home.file("disk/a.bin"))
            #expect(server.log.all.last?.status == 206)
        }
    }

    /// Somebody deleted the part file on a disk that is there.
    @Test func aPartFileThatWasDeleted() async throws {
        try await LoopbackServer.run { server in
            let url = try await killed(server, at: "disk/a.bin")
            #expect(unlink(home.file("disk/.a.bin.1.longhaul-part")) == 0)
            #expect(try await home.run("run").status == 0)
            try server.expected(url).verify(file: home.file("disk/a.bin"))
            #expect(try await shown()["restarts"] == 1)
        }
    }

    /// Nobody can delete what is on it; who starts when it is back does.
    @Test func whatWasCancelledWithoutItIsDeletedLater() async throws {
        try await LoopbackServer.run { server in
            _ = try await killed(server, at: "disk/a.bin")
            disk.unmount()
            #expect(try await home.run("cancel", "1").status == 0)
            #expect(try await home.run("run").status == 0)
            #expect(try await shown()["state"] == "cancelled")
            try belowIsEmpty()
            try disk.mount()
            let part = home.file("disk/.a.bin.1.longhaul-part")
            #expect(access(part, F_OK) == 0)
            #expect(try await home.run("run").status == 0)
            #expect(access(part, F_OK) != 0)
        }
    }

    // MARK: -

    /// An engine was killed with more than one checkpoint on the disk.
    private func killed(
        _ server: LoopbackServer, at file: String, by command: String = "enqueue"
    ) async throws -> String {
        let url = server.url("a.bin?size=16M&seed=5&etag=v1&rate=8M&stall=11M&stalls=1")
        let asks = [command, url, "-o", home.file(file), "--connections", "1"]
        if command == "enqueue" { _ = try await home.start(asks).wait() }
        let engine = try home.start(command == "enqueue" ? ["run"] : asks)
        let name = file.split(separator: "/").last ?? ""
        let part = file.dropLast(name.count) + ".\(name).1.longhaul-part"
        try await eventually("more than one checkpoint") {
            home.scratch.size(of: "files/\(part)") ?? 0 > 10 << 20
        }
        engine.send(SIGKILL)
        _ = try await engine.wait()
        return url
    }

    private func shown() async throws -> JSONValue {
        try #require(try await home.run("show", "1", "--json").rows.first)
    }

    /// The disk is back, and with it the file comes to its end.
    private func goesOn(_ server: LoopbackServer, _ url: String, at name: String) async throws {
        try disk.mount()
        try await again()
        #expect(try await home.run("run").status == 0)
        try server.expected(url).verify(file: home.file(name))
    }

    /// It is looked at now, and not in half a minute.
    private func again() async throws {
        #expect(try await home.run("pause", "1").status == 0)
        #expect(try await home.run("resume", "1", "--no-start").status == 0)
    }

    private func waits(_ arguments: String...) async throws {
        #expect(try await home.start(arguments).wait().status == 0)
        let why = try #require(try await home.run("why", "1", "--json").rows.first)
        let wait = try #require(why["waitingFor"].items.first)
        #expect(why["state"] == "waiting" && wait["reason"] == "storage", "\(why)")
        #expect(wait["required"] == "its disk", "\(why)")
        let says = wait["current"].string ?? ""
        #expect(says.contains("mounted at \(disk.path)") && says.contains("`retry`"), "\(says)")
        try belowIsEmpty()
    }

    private func belowIsEmpty() throws {
        #expect(try home.scratch.names(in: "files/disk") == ["there"])
        #expect(try home.scratch.names(in: "files/disk/there").isEmpty)
    }
}
