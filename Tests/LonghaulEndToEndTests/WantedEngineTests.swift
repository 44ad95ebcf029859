import Foundation
import LonghaulTestSupport
import Testing

/// Work that is recorded while an engine runs that will not stay for it.
@Suite(.timeLimit(.minutes(60))) struct WantedEngineTests {
    private func starting(_ home: LonghaulHome) -> LonghaulHome {
        home.with(["LONGHAUL_AUTOSTART": nil])
    }

    private func engine(_ home: LonghaulHome) async throws -> JSONValue? {
        try await home.run("status", "--json").rows.first?["engine"]
    }

    private func begin(
        _ home: LonghaulHome, _ arguments: String..., mode: String
    ) async throws -> CLIProcess {
        let process = try home.start(arguments)
        try await eventually("\(mode) is the engine") {
            try await engine(home)?["mode"] == JSONValue(stringLiteral: mode)
        }
        return process
    }

    /// A `get` of this that is the engine, beside which that is enqueued.
    private func get(
        _ home: LonghaulHome, _ url: String, beside enqueued: String
    ) async throws -> CLIProcess {
        let get = try await begin(home, "get", "-q", url, "-o", home.file("a"), mode: "get")
        let enqueue = try await starting(home).run("enqueue", enqueued, "-o", home.file("b"))
        #expect(enqueue.status == 0)
        return get
    }

    /// Until an engine in the background has brought what stalled and was told to leave.
    private func finish(
        _ home: LonghaulHome, _ id: String, _ server: LoopbackServer
    ) async throws {
        var seen: JSONValue?
        try await eventually("an engine in the background: \(seen.map { "\($0)" } ?? "none")") {
            seen = try await engine(home)
            return seen?["mode"] == "background"
        }
        server.goOn()
        let wait = try await home.run("wait", id, "--timeout", "60s")
        #expect(wait.status == 0, "\(wait.errors)")
        let pid = try #require(seen?["pid"].int)
        kill(pid_t(pid), SIGTERM)
        try await eventually("it leaves") {
            try await engine(home)?["pid"].int == nil
        }
        #expect(try await home.stored("SELECT * FROM setting WHERE key = 'wantedEngine'").isEmpty)
    }

    @Test func whatIsRecordedBesideGetIsDone() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let get = try await get(
                home, server.url("a?size=200K&stall=100K"),
                beside: server.url("b?size=600K&stall=300K"))
            server.goOn(for: "a")
            #expect(try await get.wait().status == 0)
            try await finish(home, "2", server)
        }
    }

    /// An interrupted `get` pauses what it fetches, and not what others wanted.
    @Test func whatIsRecordedBesideAnInterruptedGetIsDone() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let get = try await get(
                home, server.url("a?size=1M&stall=10K"),
                beside: server.url("b?size=600K&stall=300K"))
            get.send(SIGINT)
            #expect(try await get.wait().status == 130)
            try await finish(home, "2", server)
        }
        #expect(try await home.run("show", "1", "--json").rows.first?["state"] == "paused")
    }

    /// The file that engines in the background write to, also while one runs.
    @Test func theirLogStaysSmall() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            #expect(try await home.run("list").status == 0)
            let full = String(repeating: "older line\n", count: 762_580)
            try home.scratch.write(full, to: "state/engine.log")
            let logging = starting(home).with(["LONGHAUL_LOG": "info"])
            let url = server.url("b?size=100K&stall=50K")
            #expect(try await logging.run("enqueue", url, "-o", home.file("b")).status == 0)
            try await finish(home, "1", server)
            let old = try home.scratch.text(of: "state/engine.log.1")
            #expect(old.hasPrefix(full) && old.contains("the engine starts"))
            #expect(old.utf8.count <= 8 << 20)
            let new = try home.scratch.text(of: "state/engine.log")
            #expect(new.contains("the engine leaves") && new.contains("1 completed"))
        }
    }

    /// A `run` in a box leaves an engine behind only where somebody asked for one.
    @Test(arguments: [true, false]) func whatIsRecordedBesideRun(isWanted: Bool) async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let first = try await home.run(
                "enqueue", server.url("a?size=1M&stall=100K"), "-o", home.file("a"))
            #expect(first.status == 0)
            let run = try await begin(home, "run", "--max-bytes", "512K", mode: "run")
            let second = try await (isWanted ? starting(home) : home).run(
                "enqueue", server.url("b?size=600K&stall=300K"), "-o", home.file("b"))
            #expect(second.status == 0)
            server.goOn(for: "a")
            #expect(try await run.wait().status == 0)
            if isWanted { return try await finish(home, "2", server) }
            #expect(try await engine(home)?["pid"].int == nil)
            #expect(!FileManager.default.fileExists(atPath: home.state + "/engine.log"))
        }
    }

    /// What was done by the time the engine leaves wants none, and a later `run` knows of no wish.
    @Test func aWishThatIsFulfilledIsForgotten() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let get = try await get(
                home, server.url("a?size=1M&stall=100K"), beside: server.url("b?size=1K"))
            #expect(try await home.run("wait", "2", "--timeout", "60s").status == 0)
            server.goOn()
            #expect(try await get.wait().status == 0)
            #expect(try await engine(home)?["pid"].int == nil)
            #expect(
                try await home.stored("SELECT * FROM setting WHERE key = 'wantedEngine'").isEmpty)
        }
    }
}
