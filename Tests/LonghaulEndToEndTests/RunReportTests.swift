import Foundation
import Glibc
import LonghaulTestSupport
import Testing

/// What `run` tells of what has failed, for the mail that cron sends.
@Suite(.timeLimit(.minutes(60))) struct RunReportTests {
    private func failures(_ run: CLIProcess.Result) -> [String] {
        run.errors.split(separator: "\n").map(String.init).filter { $0.contains(" failed") }
    }

    @Test func eachFailedTransferHasALine() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let urls = ["a?status=404", "b?status=403", "c?size=10", "d?status=410"]
            _ = try await home.start(
                ["enqueue", "-d", home.file("")] + urls.map { server.url($0) }
            ).wait()
            let run = try await home.run("run")
            #expect(run.status == 1, "\(run)")
            #expect(run.output.contains("1 completed, 3 failed, 0 left"), "\(run.output)")
            let lines = failures(run)
            #expect(lines.count == 3, "\(run.errors)")
            for id in [1, 2, 4] {
                #expect(lines.contains { $0.hasPrefix("longhaul: transfer \(id) failed: ") })
            }
            // Those of an earlier run are not told again.
            let next = try await home.run("run", "--json")
            #expect(next.status == 0, "\(next)")
            #expect(failures(next).isEmpty)
            #expect(try next.rows.last?["failed"] == 0)
        }
    }

    /// One that never begins fails by its deadline.
    @Test func aPassedDeadlineIsTold() async throws {
        let home = try LonghaulHome()
        _ = try await home.run(
            "enqueue", "http://127.0.0.1:9/a", "-o", home.file("a"), "--deadline", "1s")
        try await eventually("it has passed") {
            let run = try await home.run("run", "--max-time", "5s")
            guard let line = failures(run).first else { return false }
            #expect(run.status == 1 && line.hasPrefix("longhaul: transfer 1 failed: "), "\(run)")
            return true
        }
    }

    @Test func hostsAndTasksAloneAreNoFailureOfTheRun() async throws {
        let hosts = try HostHome()
        try await hosts.add("--permit", "sync", body: "echo 'no room in the album' >&2; exit 3")
        try await hosts.makeEvents(1)
        try await hosts.run(["task", "submit", "sync", "--host", HostHome.host, "--no-start"])
        let run = try await hosts.run(["run", "--json"])
        let lines = failures(run)
        #expect(
            lines.contains(
                "longhaul: host \(HostHome.host) failed: exit status 3; it said: "
                    + "no room in the album"), "\(run.errors)")
        #expect(
            lines.contains("longhaul: task sync of host \(HostHome.host) failed"),
            "\(run.errors)")
        let failed = try run.rows.last?["hostsFailed"].int ?? 0
        #expect((1...2).contains(failed), "\(run.output)")
        #expect(try await hosts.status()["hostsFailed"] == 1)
        let doctor = try await hosts.home.run("doctor", "--json")
        let finding = try #require(try doctor.rows.first { $0["check"] == "hosts" })
        #expect(finding["ok"] == false)
        #expect(finding["detail"].string?.contains(HostHome.host) == true)
        let task = try await hosts.run(["task", "show", "sync", "--json"])
        #expect(try task.rows.first?["runs"][0]["exitStatus"] == 3, "\(task.output)")
    }

    // MARK: - Threads

    /// The nice value and I/O class (ioprio_get(2)) of a process's threads, by name.
    private func threads(_ pid: Int32) -> [String: (nice: Int, ioClass: Int)] {
        var found: [String: (nice: Int, ioClass: Int)] = [:]
        let tasks = "/proc/\(pid)/task"
        for task in (try? FileManager.default.contentsOfDirectory(atPath: tasks)) ?? [] {
            guard let stat = try? String(contentsOfFile: "\(tasks)/\(task)/stat", encoding: .utf8),
                let open = stat.firstIndex(of: "("), let close = stat.lastIndex(of: ")"),
                let id = Int(task)
            else { continue }
            let name = String(stat[stat.index(after: open)..<close])
            let fields = stat[close...].split(separator: " ")
            let word = PriorityOfThread.ioPriority(id)
            found[name] = (Int(fields[17]) ?? .min, word >> 13)
        }
        return found
    }

    @Test func discretionaryTransfersHaveALowPriority() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            for (name, options) in [("a", ["--discretionary", "--prefer", "none"]), ("b", [])] {
                let url = server.url("\(name)?size=1M&stall=100K")
                _ = try await home.start(
                    ["enqueue", url, "-o", home.file(name)] + options
                ).wait()
            }
            let engine = try home.start("run")
            try await eventually("both are on their way") {
                server.log.all.count == 2 && threads(engine.pid)["longhaul-wire-d"] != nil
            }
            let found = threads(engine.pid)
            let low = try #require(found["longhaul-wire-d"], "\(found)")
            #expect(low.nice == 10 && low.ioClass == 3, "\(found)")
            let usual = try #require(found["longhaul-wire"], "\(found)")
            #expect(usual.nice == 0 && usual.ioClass != 3, "\(found)")
            server.goOn()
            #expect(try await engine.wait().status == 0)
        }
    }
}

/// `ioprio_get` has no function in the C library.
private enum PriorityOfThread {
    static func ioPriority(_ thread: Int) -> Int {
        typealias Call = @convention(c) (Int, Int, Int) -> Int
        guard let symbol = dlsym(nil, "syscall") else {
            return -1
        }
        #if arch(x86_64)
        let number = 252
        #else
        let number = 31
        #endif
        return unsafeBitCast(symbol, to: Call.self)(number, 1, thread)
    }
}
