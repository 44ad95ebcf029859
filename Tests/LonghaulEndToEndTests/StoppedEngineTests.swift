import Foundation
import LonghaulTestSupport
import Testing

/// An engine whose process is stopped, or whose words nobody reads, holds nobody up; and where it
/// does, everybody is told.
@Suite(.timeLimit(.minutes(60))) struct StoppedEngineTests {
    private static let file = "a?size=2M&seed=4&etag=v1&stall=600K"

    private func status(_ home: LonghaulHome) async throws -> JSONValue? {
        try await home.run("status", "--json").rows.first
    }

    private func transfer(_ home: LonghaulHome) async throws -> JSONValue? {
        try await home.run("show", "1", "--json").rows.first
    }

    private func isStopped(_ pid: pid_t) throws -> Bool {
        let stat = try String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)
        return stat[(try #require(stat.lastIndex(of: ")")))...].hasPrefix(") T")
    }

    private func begin(
        _ home: LonghaulHome, _ server: LoopbackServer, _ command: [String]
    ) async throws -> CLIProcess {
        if command.first != "get" {
            let asked = try await home.run(
                "enqueue", "--no-start", server.url(Self.file), "-o", home.file("a"))
            #expect(asked.status == 0, "\(asked.errors)")
        }
        let words = command.first == "get" ? [server.url(Self.file), "-o", home.file("a")] : []
        let process = try home.start(command + words)
        try await eventually("it moves") {
            try await transfer(home)?["bytesDone"].int ?? 0 >= 500 << 10
        }
        return process
    }

    /// Ctrl-Z: the lease is given up first, another engine goes on from the bytes that are there,
    /// and `fg` or `bg` finds what became of it.
    @Test(arguments: [["get", "-q"], ["run", "--max-time", "10m"], ["daemon"]])
    func whatIsStoppedHoldsNobodyUp(command: [String]) async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let process = try await begin(home, server, command)
            process.send(SIGTSTP)
            try await eventually("it is stopped") { try isStopped(process.pid) }
            let stopped = try #require(try await status(home))
            #expect(stopped["engine"]["pid"].int == nil, "\(stopped)")
            let kept = try #require(try await transfer(home))
            #expect(kept["state"] == "waiting" && kept["bytesDone"].int ?? 0 >= 500 << 10)

            server.goOn()
            let other = try await home.run("run")
            #expect(other.status == 0, "\(other.errors)")
            #expect(try await transfer(home)?["state"] == "completed")
            #expect(try await transfer(home)?["bytesFetched"].int == 2 << 20)

            process.send(SIGCONT)
            if command.first == "daemon" {
                try await eventually("it is the engine again") {
                    try await status(home)?["engine"]["pid"].int == Int(process.pid)
                }
                process.send(SIGTERM)
            }
            let ended = try await process.wait()
            #expect(ended.status == 0, "\(ended.errors)")
            if command.first == "get" { #expect(ended.output == home.file("a") + "\n") }
        }
    }

    /// Continued before anybody else came: it goes on itself, more than once.
    @Test(arguments: [["get", "-q"], ["run"]])
    func whatIsContinuedGoesOn(command: [String]) async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let process = try await begin(home, server, command)
            for _ in 1...2 {
                process.send(SIGTSTP)
                try await eventually("it is stopped") { try isStopped(process.pid) }
                process.send(SIGCONT)
                try await eventually("it is the engine again") {
                    try await status(home)?["engine"]["pid"].int == Int(process.pid)
                }
            }
            server.goOn()
            let ended = try await process.wait()
            #expect(ended.status == 0, "\(ended.errors)")
            #expect(try await transfer(home)?["state"] == "completed")
            #expect(try await transfer(home)?["bytesFetched"].int == 2 << 20)
        }
    }

    /// SIGSTOP cannot be caught: what it holds up is told why, and what helps.
    @Test func aStoppedEngineIsNamed() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let daemon = try home.start("daemon")
            try await eventually("it is the engine") {
                try await status(home)?["engine"]["pid"].int == Int(daemon.pid)
            }
            defer { daemon.send(SIGCONT) }
            try await eventually("it is stopped between two transactions") {
                daemon.send(SIGSTOP)
                try await eventually("it is stopped") { try isStopped(daemon.pid) }
                let asked = try await home.run(
                    "enqueue", server.url("b?size=1K"), "-o", home.file("b"))
                if asked.status == 0 { return true }
                // In one, nobody can write: then it is `doctor` that knows why.
                #expect(asked.status == 73 && asked.errors.contains("doctor"), "\(asked.errors)")
                daemon.send(SIGCONT)
                return false
            }
            let advice = "kill -CONT \(daemon.pid)"
            #expect(try await home.run("status").output.contains(advice))
            #expect(try await home.run("why", "1").output.contains(advice))
            let findings = try await home.run("doctor", "--json").rows
            let finding = try #require(findings.first { $0["check"] == "engine" })
            #expect(finding["ok"] == false, "\(finding)")
            #expect(finding["fix"].string?.contains(advice) == true, "\(finding)")

            daemon.send(SIGCONT)
            let wait = try await home.run("wait", "1", "--timeout", "60s")
            #expect(wait.status == 0, "\(wait.errors)")
            #expect(try await home.run("doctor", "--json").rows.allSatisfy { $0["ok"] == true })
        }
    }

    /// It moves as little as one that waits, and its last rate says nothing.
    @Test func aRunningTransferOfAStoppedEngineSaysSo() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let daemon = try home.start("daemon")
            _ = try await home.run(
                "enqueue", server.url("a?size=10M&rate=20000"), "-o", home.file("a"))
            func shown(_ text: String) async throws {
                try await eventually(text) {
                    try await home.run("list").output.contains(text)
                }
            }
            try await shown("running")
            daemon.send(SIGSTOP)
            defer { daemon.send(SIGCONT) }
            try await shown("its stopped engine")
            let why = try await home.run("why", "1").output
            #expect(
                why.contains("1 is running") && why.contains("kill -CONT \(daemon.pid)"), "\(why)")
            #expect(why.contains("it goes on when its engine does"), "\(why)")
            daemon.send(SIGCONT)
            try await shown("iB/s")
            _ = try await home.run("cancel", "1")
        }
    }

    /// A pipe that is full and that nobody reads, as a held terminal or a stuck pager is one.
    @Test func nobodyHasToReadTheLog() async throws {
        let home = try LonghaulHome()
        let fill = try Fixture.text("scripts/full-pipe.py")
        try await LoopbackServer.run { server in
            let daemon = try home.with(["LONGHAUL_LOG": "debug"])
                .through(["/usr/bin/python3", "-c", fill]).start("daemon")
            try await eventually("it is the engine") {
                try await status(home)?["engine"]["pid"].int == Int(daemon.pid)
            }
            for number in 1...20 {
                let asked = try await home.run(
                    "enqueue", server.url("\(number)?size=1K"), "-o", home.file("\(number)"))
                #expect(asked.status == 0, "\(asked.errors)")
            }
            let wait = try await home.run("wait", "--all", "--timeout", "60s")
            #expect(wait.status == 0, "\(wait.errors)")
            daemon.send(SIGTERM)
            #expect(try await daemon.wait().status == 0)
        }
    }
}
