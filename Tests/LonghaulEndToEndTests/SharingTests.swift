import Foundation
import LonghaulTestSupport
import Testing

/// Equal requests from many processes, with the built command.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct SharingTests {
    static let environment = ProcessInfo.processInfo.environment
    static let mebibytes = environment["LONGHAUL_SHARE_MEBIBYTES"].flatMap { Int($0) } ?? 6
    static let processes = 64

    /// The answer stops after a mebibyte until the test says `goOn`.
    private func url(_ server: LoopbackServer) -> String {
        server.url("big.bin?size=\(Self.mebibytes)M&seed=5&etag=v1&stall=1M")
    }

    /// Enqueues in as many processes at once; the ids in the order of the names.
    private func enqueue(
        _ home: LonghaulHome, _ url: String, _ numbers: Range<Int>
    ) async throws -> [String] {
        try await withThrowingTaskGroup(of: (Int, String).self) { group in
            for number in numbers {
                group.addTask {
                    let result = try await home.run(
                        "enqueue", url, "-o", home.file("f\(number)"), "--connections", "1",
                        "--stall-timeout", "1h", within: .seconds(120))
                    #expect(result.status == 0, "\(result.errors)")
                    return (
                        number, result.output.trimmingCharacters(in: .whitespacesAndNewlines)
                    )
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }.sorted { $0.0 < $1.0 }
                .map(\.1)
        }
    }

    private func inode(_ path: String) throws -> UInt64 {
        let facts = try FileManager.default.attributesOfItem(atPath: path)
        return try #require((facts[.systemFileNumber] as? NSNumber)?.uint64Value)
    }

    private func rows(_ home: LonghaulHome) async throws -> [JSONValue] {
        try await home.run("list", "--json", "--all").rows
    }

    @Test func sixtyFourProcessesMakeOneFetch() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = url(server)
            let engine = try home.start("daemon")
            let half = Self.processes / 2
            _ = try await enqueue(home, url, 0..<half)
            // In the middle of it.
            try await server.log.waitForCount(1)
            let ids = try await enqueue(home, url, half..<Self.processes)
            try await eventually("all have joined") {
                let shown = try await home.run("show", "--json", ids[0]).rows[0]
                return shown["state"] == "running"
                    && shown["sharedWith"].items.count == Self.processes - 1
            }
            server.goOn()
            let wait = try await home.run("wait", "--all", within: .seconds(600))
            #expect(wait.status == 0, "\(wait.errors)")
            let expected = try server.expected(url)
            #expect(server.log.count == 1)
            #expect(server.log.bodyBytesSent() == expected.size)
            var inodes: Set<UInt64> = []
            for number in 0..<Self.processes {
                try expected.verify(file: home.file("f\(number)"))
                inodes.insert(try inode(home.file("f\(number)")))
            }
            #expect(inodes.count == Self.processes)
            let rows = try await rows(home)
            #expect(rows.count == Self.processes)
            #expect(rows.allSatisfy { $0["state"] == "completed" })
            #expect(rows.reduce(0) { $0 + ($1["bytesFetched"].int ?? 0) } == expected.size)
            let events = try await home.run("events").rows
            #expect(events.count { $0["type"] == "transferCompleted" } == Self.processes)
            #expect(try home.scratch.names(in: "files").count == Self.processes)
            engine.send(SIGTERM)
            _ = try await engine.wait()
        }
    }

    @Test func cancellingAllButOneLeavesOne() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = url(server)
            let engine = try home.start("daemon")
            let list = (0..<Self.processes).map { number in
                #"{"url":"\#(url)","destination":"f\#(number)","connections":1}"#
            }
            let enqueued = try await home.run(
                "enqueue", "--stall-timeout", "1h", "--input", "-",
                input: list.joined(separator: "\n") + "\n")
            #expect(enqueued.status == 0, "\(enqueued.errors)")
            let ids = enqueued.output.split(separator: "\n").map(String.init)
            try #require(ids.count == Self.processes)
            try await server.log.waitForBytes(1 << 20)
            let cancel = try await home.start(["cancel"] + ids.dropLast()).wait()
            #expect(cancel.status == 0, "\(cancel.errors)")
            try await eventually("they have ended") {
                try await home.run("events").rows.count == ids.count - 1
            }
            server.goOn()
            let wait = try await home.run("wait", ids[63], within: .seconds(120))
            #expect(wait.status == 0, "\(wait.errors)")
            #expect(server.log.count == 1)
            try server.expected(url).verify(file: home.file("f63"))
            let states = try await rows(home).map { $0["state"].string ?? "" }
            #expect(states.count { $0 == "cancelled" } == 63)
            #expect(states.count { $0 == "completed" } == 1)
            #expect(try home.scratch.names(in: "files") == ["f63"])
            engine.send(SIGTERM)
            _ = try await engine.wait()
        }
    }

    /// Of those that find no place in a fetch nobody is looked at again and again: something else
    /// that is asked for costs the engine no more than ever.
    @Test func thousandsThatDoNotFitCostNothing() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url("big.bin?size=8M&seed=5&etag=v1&rate=20K")
            let list = (0..<8000).map {
                #"{"url":"\#(url)","destination":"f\#($0)","connections":1}"#
            }
            let enqueued = try await home.run(
                "enqueue", "--input", "-", input: list.joined(separator: "\n") + "\n")
            #expect(enqueued.status == 0, "\(enqueued.errors)")
            let engine = try home.start("daemon")
            try await eventually("all connections are taken") {
                server.log.count == 6
            }
            try await asked(home)
            let before = try processorSeconds(engine.pid)
            for _ in 0..<3 { try await asked(home) }
            let cost = try processorSeconds(engine.pid) - before
            #expect(cost < 1.5)
            engine.send(SIGTERM)
            _ = try await engine.wait()
        }
    }

    /// Has the engine try something that nobody answers.
    private func asked(_ home: LonghaulHome) async throws {
        let id = try await home.run(
            "enqueue", "http://127.0.0.1:1/x", "-d", UUID().uuidString
        ).output.trimmingCharacters(in: .whitespacesAndNewlines)
        try await eventually("\(id) was tried") {
            try await home.run("show", "--json", id).rows.first?["attempts"].int ?? 0 > 0
        }
        _ = try await home.run("cancel", id)
    }

    /// What a process has cost so far (proc_pid_stat(5), 14 and 15).
    private func processorSeconds(_ pid: pid_t) throws -> Double {
        let text = try String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)
        let fields = try #require(text.split(separator: ")").last).split(separator: " ")
        let ticks = try #require(Double(fields[11])) + #require(Double(fields[12]))
        return ticks / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    /// `kill -9` of the engine: while it is on the wire, and while it hands out the copies.
    @Test func aKilledEngineChangesNothing() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let rate = Self.mebibytes * 1024 / 4
            let url = server.url("big.bin?size=\(Self.mebibytes)M&seed=5&etag=v1&rate=\(rate)K")
            let list = (0..<Self.processes).map { #"{"url":"\#(url)","destination":"f\#($0)"}"# }
            _ = try await home.run(
                "enqueue", "--input", "-", input: list.joined(separator: "\n") + "\n")
            let size = Self.mebibytes << 20
            for part in 1...3 {
                let engine = try home.start("run")
                try await server.log.waitForBytes(size / 4 * part)
                engine.send(SIGKILL)
                _ = try await engine.wait()
            }
            // From the moment on at which the first one is finished.
            var kills = 0
            while kills < 4 {
                let engine = try home.start("run")
                try await eventually("more files") {
                    let names = try home.scratch.names(in: "files").filter { $0.hasPrefix("f") }
                    return names.count > kills * 12 || !engine.isRunning
                }
                if !engine.isRunning { break }
                engine.send(SIGKILL)
                _ = try await engine.wait()
                kills += 1
            }
            let last = try await home.start(["run"]).wait(within: .seconds(240))
            #expect(last.status == 0, "\(last.errors)")
            let expected = try server.expected(url)
            for number in 0..<Self.processes {
                try expected.verify(file: home.file("f\(number)"))
            }
            let rows = try await rows(home)
            #expect(rows.allSatisfy { $0["state"] == "completed" && $0["restarts"] == 0 })
            let fetched = rows.reduce(0) { $0 + ($1["bytesFetched"].int ?? 0) }
            #expect(fetched >= expected.size && fetched <= expected.size + 1 << 20)
            let events = try await home.run("events").rows
            let ends = events.filter { $0["type"] == "transferCompleted" }
            #expect(Set(ends.map { $0["transfer"]["id"].int ?? 0 }).count == Self.processes)
            #expect(ends.count == Self.processes)
            #expect(try home.scratch.names(in: "files").count == Self.processes)
        }
    }

    @Test func duplicatesAreWhatOneMakesOfThem() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=400K&etag=v1&seed=2")
            _ = try await home.run("enqueue", url, "-o", "a")
            let refused = try await home.run(
                "enqueue", url, "-o", "b", "--on-duplicate", "fail", "--json")
            #expect(refused.status == 5)
            #expect(try refused.rows[0]["error"]["id"] == 1)
            let bad = try await home.run("enqueue", url, "--on-duplicate", "perhaps")
            #expect(bad.status == 64)
            #expect(try await home.run("enqueue", url, "-o", "a").output == "1\n")
            let replaced = try await home.run(
                "enqueue", url, "-o", "a", "--on-duplicate", "replace")
            #expect(replaced.status == 0, "\(replaced.errors)")
            _ = try await home.run("enqueue", url, "-o", "c", "--on-duplicate", "separate")
            let run = try await home.run("run")
            #expect(run.status == 0, "\(run.errors)")
            #expect(server.log.count == 2)
            let states = try await rows(home).map { $0["state"].string ?? "" }
            #expect(states == ["completed", "completed", "cancelled"])
            for name in ["a", "c"] { try server.expected(url).verify(file: home.file(name)) }
        }
    }

    @Test func aFinishedFileIsReused() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            // The first request is answered with the file, every later one with 304.
            let url = server.url("a.bin?size=3M&etag=v1&seed=2&304&statusafter=1")
            let first = try await home.run("get", "-q", url, "-o", "a")
            #expect(first.status == 0, "\(first.errors)")
            let second = try await home.run("get", "-q", url, "-o", "b", "--reuse")
            #expect(second.status == 0, "\(second.errors)")
            #expect(server.log.all[1]["If-None-Match"] == "\"v1\"")
            #expect(server.log.bodyBytesSent() == 3 << 20)
            let shown = try #require(try await home.run("show", "2", "--json").rows.first)
            #expect(shown["attemptRecords"].items.map { $0["outcome"] } == ["unchanged"])
            let expected = try server.expected(url)
            try expected.verify(file: home.file("b"))
            #expect(try inode(home.file("a")) != inode(home.file("b")))
        }
    }

    /// Of a weak tag it is not asked whether the version is another: a 304 is no answer to anything
    /// then, and the bytes of before are not what there is now.
    @Test func a304ThatNobodyAskedForIsNoFile() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=300K&weak=v1&seed=2&304&statusafter=1")
            #expect(try await home.run("get", "-q", url, "-o", "a").status == 0)
            let second = try await home.run(
                "get", "-q", url, "-o", "b", "--reuse", "--retries", "1")
            #expect(second.status == 1, "\(second.errors)")
            #expect(server.log.all[1]["If-None-Match"] == nil)
            #expect(!FileManager.default.fileExists(atPath: home.file("b")))
        }
    }

    /// Its leader has left, and the other one's disk is full: nobody else has the bytes.
    @Test(.enabled(if: geteuid() == 0, "skipped: mounting a tmpfs needs root"))
    func theLastOneKeepsTheBytes() async throws {
        let home = try LonghaulHome()
        let disk = try OwnDisk(memory: "2m", at: home.file("disk"))
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=4M&etag=v1&seed=2&rate=2M")
            for name in ["a", "disk/b"] {
                _ = try await home.run("enqueue", "--no-start", url, "-o", home.file(name))
            }
            let engine = try home.start("daemon")
            try await eventually("it moves") {
                try await home.run("show", "2", "--json").rows[0]["bytesDone"].int ?? 0 > 0
            }
            #expect(try await home.run("cancel", "1").status == 0)
            try await eventually("the disk was found full") {
                try await home.run("why", "2", "--json").rows.first?["waitingFor"].items
                    .contains { $0["reason"] == "storage" } ?? false
            }
            #expect(try await home.run("show", "2", "--json").rows[0]["bytesDone"].int == 4 << 20)
            try disk.remount("size=16m")
            #expect(try await home.run("resume", "2").status == 0)
            #expect(try await home.run("wait", "2", within: .seconds(60)).status == 0)
            try server.expected(url).verify(file: home.file("disk/b"))
            #expect(server.log.bodyBytesSent() == 4 << 20)
            engine.send(SIGTERM)
            _ = try await engine.wait()
            #expect(try home.scratch.names(in: "files") == ["disk"])
            #expect(try home.scratch.names(in: "files/disk") == ["b"])
        }
        disk.unmount()
    }

    /// Killed between a copy and its record. Its transfer is not to have one any more when the next
    /// engine comes.
    @Test(.enabled(if: Strace.isInstalled, "skipped: no strace"))
    func aCopyThatNobodyRecordedIsRemoved() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=300K&etag=v1&seed=2")
            for name in ["x/a", "y/b"] {
                _ = try home.scratch.directory("files/\(name.prefix(1))")
                _ = try await home.run("enqueue", "--no-start", url, "-o", home.file(name))
            }
            let dying = home.through(Strace.kill(before: "fsync", 1))
            #expect(try await dying.run("run").status != 0)
            try #require(try home.scratch.names(in: "files/y").count == 1)
            #expect(try await home.run("cancel", "2").status == 0)
            #expect(try await home.run("run").status == 0)
            try server.expected(url).verify(file: home.file("x/a"))
            #expect(try home.scratch.names(in: "files/x") == ["a"])
            #expect(try home.scratch.names(in: "files/y") == [])
        }
    }
}
