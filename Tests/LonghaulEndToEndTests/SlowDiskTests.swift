import Foundation
import LonghaulTestSupport
import Testing

/// One slow disk does not slow down what goes to others.
@Suite(.timeLimit(.minutes(60)), .enabled(if: Strace.isInstalled, "skipped: no strace"))
struct SlowDiskTests {
    @Test func othersGoOnBesideASlowDisk() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            // Minutes' worth for the disk that it goes to.
            let slow = server.url("slow?size=10M&seed=1&etag=v1")
            let fast = server.url("fast?size=16M&seed=2&etag=v1")
            for url in [slow, fast] {
                let enqueue = try await home.run("enqueue", "--no-start", "-d", home.file(""), url)
                #expect(enqueue.status == 0)
            }
            let part = home.file(".slow.1.longhaul-part")
            let run = try home.through(
                Strace.inject("pwrite64", "delay_enter=2000000", on: [part])
            ).start("run")
            try await eventually("the fast one is there") {
                FileManager.default.fileExists(atPath: home.file("fast"))
            }
            func done() async throws -> Int {
                let rows = try await home.run("show", "--json", "1").rows
                return try #require(rows.first?["bytesDone"].int)
            }
            let first = try await done()
            #expect(first < 4 << 20, "\(first) bytes went to the slow one first")
            try await eventually("the slow one moves") { try await done() > 0 }
            try server.expected(fast).verify(file: home.file("fast"))
            run.sendToGroup(SIGKILL)
        }
    }

    /// A file on its way to a disk of its own, 8 MiB of which come; the whole is right in the end.
    private func withAFile(
        _ body: (LonghaulHome, OwnDisk, LoopbackServer) async throws -> Void
    ) async throws {
        let home = try LonghaulHome()
        let disk = try OwnDisk(ext4: 96 << 20, at: home.scratch("disk"))
        try await LoopbackServer.run { server in
            let hanging = server.url("hanging?size=48M&seed=1&etag=v1&stall=8M")
            #expect(
                try await home.run("enqueue", "--no-start", "-d", disk.path, hanging).status == 0)
            try await body(home, disk, server)
            try server.expected(hanging).verify(file: disk.path + "/hanging")
        }
        disk.unmount()
    }

    /// Writes to it do not come back: files for other disks come as ever, and its own is right in
    /// the end.
    @Test(.enabled(if: OwnDisk.hasLoops, "skipped: no loop devices"))
    func othersGoOnBesideADiskThatHangs() async throws {
        try await withAFile { home, disk, server in
            let run = try home.start("run")
            try await server.log.waitForBytes(8 << 20)
            try disk.freeze()
            server.goOn()
            do {
                defer { try? disk.thaw() }
                let other = server.url("other?size=32M&seed=2&etag=v1")
                #expect(
                    try await home.run("enqueue", "--no-start", "-d", home.file(""), other).status
                        == 0)
                try await eventually("the other one is there") {
                    FileManager.default.fileExists(atPath: home.file("other"))
                }
                try server.expected(other).verify(file: home.file("other"))
                let rows = try await home.run("show", "--json", "1").rows
                #expect(rows.first?["state"] == "running")
            }
            #expect(try await run.wait().status == 0)
        }
    }

    /// Who has done what was asked, or whose time is over, leaves half a minute later all the same,
    /// and what the disk has got is found again.
    @Test(
        .enabled(if: OwnDisk.hasLoops, "skipped: no loop devices"), arguments: ["get", "run"])
    func nobodyStaysForADiskThatHangs(command: String) async throws {
        try await withAFile { home, disk, server in
            let other = server.url("other?size=1M&seed=2&etag=v1&stall=500K")
            let process: CLIProcess
            if command == "get" {
                process = try home.start("get", "-q", other, "-o", home.file("other"))
            } else {
                process = try home.start("run", "--max-time", "30s")
            }
            try await server.log.waitForBytes(8 << 20, for: "hanging")
            try disk.freeze()
            do {
                defer { try? disk.thaw() }
                server.goOn(for: "hanging")
                try await eventually("it hangs") { try await hangs(process.pid) }
                // `get` leaves once its own file is whole: only after the other one hangs.
                server.goOn()
                try await process.waitForOutput("a disk does not answer", within: .seconds(120))
            }
            // The kernel lets go of a thread that waits for the disk only now.
            let ended = try await process.wait()
            #expect(ended.status == 0, "\(ended.errors)")
            if command == "get" { #expect(ended.output == home.file("other") + "\n") }
            #expect(try await home.run("run").status == 0)
        }
    }

    /// Whether one of its threads is in a call that nothing can end.
    private func hangs(_ pid: pid_t) async throws -> Bool {
        let before = try inDisks(pid)
        if before.isEmpty { return false }
        // A disk that is slow lets go again.
        try await Task.sleep(for: .milliseconds(500))
        return try !before.isDisjoint(with: inDisks(pid))
    }

    /// The threads that wait for a disk, and how often each has waited for anything.
    private func inDisks(_ pid: pid_t) throws -> Set<String> {
        let directory = "/proc/\(pid)/task"
        let threads = try FileManager.default.contentsOfDirectory(atPath: directory)
        return Set(
            threads.compactMap { thread in
                let path = "\(directory)/\(thread)/status"
                let status = try? String(contentsOfFile: path, encoding: .utf8)
                guard let status, status.contains("State:\tD") else { return nil }
                let waits = status.split(separator: "\n").filter { $0.contains("ctxt_switches") }
                return "\(thread) \(waits)"
            })
    }

    /// Nobody is kept waiting who insists.
    @Test(
        .enabled(if: OwnDisk.hasLoops, "skipped: no loop devices"), arguments: ["daemon", "run"])
    func theSecondSignalEndsIt(command: String) async throws {
        try await withAFile { home, disk, server in
            let process = try home.start(command)
            try await server.log.waitForBytes(8 << 20)
            try disk.freeze()
            do {
                defer { try? disk.thaw() }
                server.goOn()
                try await eventually("it hangs") { try await hangs(process.pid) }
                // Two that come at once may arrive as one. Its threads wait for the disk, and are
                // gone with it.
                try await eventually(within: .seconds(20), "it ends") {
                    process.send(SIGTERM)
                    let stat = try? String(
                        contentsOfFile: "/proc/\(process.pid)/stat", encoding: .utf8)
                    return stat?.contains(") Z ") ?? true
                }
            }
            #expect(try await process.wait().ending == .signalled(SIGTERM))
            #expect(try await home.run("run").status == 0)
        }
    }

    /// One that shares a fetch has its file on it: copies for other disks are made as ever.
    @Test(.enabled(if: OwnDisk.hasLoops, "skipped: no loop devices"))
    func copiesAreMadeBesideADiskThatHangs() async throws {
        let home = try LonghaulHome()
        let disk = try OwnDisk(ext4: 32 << 20, at: home.scratch("disk"))
        func enqueue(_ url: String, _ files: String...) async throws {
            for file in files {
                let result = try await home.run("enqueue", "--no-start", url, "-o", file)
                #expect(result.status == 0, "\(result.errors)")
            }
        }
        try await LoopbackServer.run { server in
            let hanging = server.url("a?size=2M&seed=1&etag=v1&stall=1M")
            let other = server.url("b?size=1M&seed=2&etag=v1&stall=512K")
            try await enqueue(hanging, home.file("a"), disk.path + "/a")
            try await enqueue(other, home.file("b"), home.file("c"))
            let run = try home.start("run")
            try await server.log.waitForBytes((1 << 20) + (512 << 10))
            try disk.freeze()
            do {
                defer { try? disk.thaw() }
                server.goOn(for: "a")
                try await eventually("the copy is tried") {
                    try await home.run("show", "--json", "1").rows.first?["bytesDone"].int
                        == 2 << 20
                }
                server.goOn()
                try await eventually("the others have theirs") {
                    ["b", "c"].allSatisfy {
                        FileManager.default.fileExists(atPath: home.file($0))
                    }
                }
                for name in ["b", "c"] {
                    try server.expected(other).verify(file: home.file(name))
                }
            }
            #expect(try await run.wait().status == 0)
            try server.expected(hanging).verify(file: disk.path + "/a")
        }
        disk.unmount()
    }

    /// Checkpoints that hang keep all threads that syncs usually have.
    @Test func aFileIsFinishedBesideSyncsThatHang() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let slow = (1...4).map { server.url("slow\($0)?size=64M&seed=\($0)&etag=v1&rate=10M") }
            let parts = (1...4).map { home.file(".slow\($0).\($0).longhaul-part") }
            let fast = server.url("fast?size=1K&seed=9&etag=v1")
            for url in slow + [fast + "&delay=5000"] {
                let enqueue = try await home.run("enqueue", "--no-start", "-d", home.file(""), url)
                #expect(enqueue.status == 0)
            }
            try await expect(fast + "&delay=5000", at: home.file("fast"), from: server) {
                let hang = Strace.inject(
                    "fdatasync", "delay_enter=60000000", on: parts)
                return try home.through(hang).start("run")
            }
        }
    }

    /// What is whole waits for its disk, and not for those of others.
    @Test(
        .enabled(if: access("/dev/shm", W_OK) == 0, "skipped: /dev/shm cannot be written"))
    func aFileIsFinishedBesideOneWhoseDiskHangs() async throws {
        let home = try LonghaulHome()
        let other = "/dev/shm/longhaul-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: other, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: other) }
        try await LoopbackServer.run { server in
            let slow = server.url("slow?size=1K&seed=1&etag=v1")
            let fast = server.url("fast?size=1K&seed=2&etag=v1&delay=2000")
            for (url, directory) in [(slow, home.file("")), (fast, other)] {
                let enqueue = try await home.run("enqueue", "--no-start", "-d", directory, url)
                #expect(enqueue.status == 0)
            }
            try await expect(fast, at: other + "/fast", from: server) {
                let hang = Strace.inject(
                    "fdatasync", "delay_enter=60000000", on: [home.file(".slow.1.longhaul-part")])
                return try home.through(hang).start("run")
            }
        }
    }

    /// Well before what hangs comes back.
    private func expect(
        _ url: String, at file: String, from server: LoopbackServer,
        during start: () throws -> CLIProcess
    ) async throws {
        let run = try start()
        defer { run.sendToGroup(SIGKILL) }
        try await eventually("\(file) is there") {
            FileManager.default.fileExists(atPath: file)
        }
        try server.expected(url).verify(file: file)
    }
}
