import Foundation
import LonghaulTestSupport
import Testing

/// One row of the queue that cannot be understood: damage, or what a later version has written.
@Suite(.timeLimit(.minutes(60))) struct UnreadableRowTests {
    private func spoil(_ home: LonghaulHome, _ ids: String, _ options: String) async throws {
        _ = try await home.stored(
            "UPDATE transfer SET options = '\(options)' WHERE id IN (\(ids))", writing: true)
    }

    private func states(_ home: LonghaulHome) async throws -> [JSONValue] {
        try await home.run("list", "--json").rows.reversed().map { $0["state"] }
    }

    /// Two ask for the same file: who comes with it is looked at before it begins.
    @Test(arguments: [#"{"ifExists":"x"}"#, "no JSON"])
    func aTransferFailsAlone(options: String) async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            for (name, file) in [("1", "a"), ("2", "a"), ("3", "b")] {
                _ = try await home.run(
                    "enqueue", server.url("\(file).bin?size=10K"), "-o", home.file(name))
            }
            try await spoil(home, "1", options)
            let run = try await home.run("run", "--json")
            #expect(try run.rows.last?["failed"] == 1, "\(run)")
            #expect(try await states(home) == ["failed", "completed", "completed"])
            let shown = try await home.run("show", "1", "--json").rows[0]
            #expect(shown["error"]["code"] == "internal")
            #expect(shown["error"]["message"].string?.contains("remove it") == true)
            // It would lose them.
            let set = try await home.run("set", "1", "--priority", "high")
            #expect(set.status == 2 && set.errors.contains("options cannot be read"), "\(set)")
            // A version that can read them takes it up where it is.
            #expect(try await home.run("retry", "--all").status == 0)
            _ = try await home.run("run")
            #expect(try await states(home)[0] == "failed")
            try await spoil(home, "1", "{}")
            #expect(try await home.run("retry", "1").status == 0)
            _ = try await home.run("run")
            #expect(try await states(home)[0] == "completed")
        }
    }

    @Test func commandsWorkOnIt() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let engine = try home.start("daemon")
            for name in 1...3 {
                _ = try await home.run(
                    "enqueue", server.url("\(name).bin?size=1M&stall=10K"), "-o",
                    home.file("\(name)"))
            }
            try await eventually("they run") {
                try await states(home) == ["running", "running", "running"]
            }
            // The first goes on as it was begun; the second goes off the wire.
            try await spoil(home, "1, 2", "no JSON")
            _ = try await home.run("pause", "2")
            try await eventually("it is paused") { try await states(home)[1] == "paused" }
            #expect(try await home.run("cancel", "1", "2").status == 0)
            try await eventually("they are cancelled") {
                try await home.run("wait", "1", "2").status != 0
            }
            #expect(try await home.run("remove", "1", "2").status == 0)
            server.goOn()
            #expect(try await home.run("wait", "3").status == 0)
            engine.send(SIGTERM)
            _ = try await engine.wait()
        }
    }

    /// An engine that was killed had it in hand.
    @Test func aSuccessorLooksAfterTheOthers() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let engine = try home.start("daemon")
            for name in 1...2 {
                _ = try await home.run(
                    "enqueue", server.url("\(name).bin?size=1M&stall=10K"), "-o",
                    home.file("\(name)"))
            }
            try await eventually("they run") {
                try await states(home) == ["running", "running"]
            }
            engine.send(SIGKILL)
            _ = try await engine.wait()
            try await spoil(home, "1", "[]")
            server.goOn()
            _ = try await home.run("run")
            #expect(try await states(home) == ["failed", "completed"])
        }
    }

    @Test(arguments: ["no JSON", "[]"]) func aHostWaitsAlone(argv: String) async throws {
        let hosts = try HostHome()
        try await hosts.add(body: "cat > $D/got")
        try await hosts.run(["host", "add", "com.example.bad", "--", "/bin/true"])
        try await hosts.run(
            ["session", "set", "bad", "--host", "com.example.bad", "--launch-delay", "0s"])
        try await hosts.makeEvents(1)
        try await hosts.run(["enqueue", "http://127.0.0.1:9/bad", "--session", "bad"])
        try await hosts.run(["cancel", "--session", "bad"])
        _ = try await hosts.home.stored(
            "UPDATE host SET argv = '\(argv)' WHERE name = 'com.example.bad'", writing: true)
        try await hosts.run(["run"])
        #expect(hosts.lines("started").count == 1)
        #expect(try await hosts.waitingEvents() == 0)
        try await hosts.run(["status"])
        let bad = try await hosts.run(["host", "show", "com.example.bad", "--json"]).rows[0]
        #expect(bad["obstacle"] == "missing" && bad["launches"].items.isEmpty, "\(bad)")
        // Made known anew, it is told.
        try await hosts.run(["host", "add", "com.example.bad", "--", "/bin/true"])
        try await hosts.run(["run"])
        let told = try await hosts.run(["host", "show", "com.example.bad", "--json"]).rows[0]
        #expect(told["launches"][0]["ending"] == "exited", "\(told)")
    }
}
