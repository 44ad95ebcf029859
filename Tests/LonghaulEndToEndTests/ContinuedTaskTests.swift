import Foundation
import LonghaulTestSupport
import Testing

/// Continued tasks of a shell script, with the built command.
@Suite(.timeLimit(.minutes(60))) struct ContinuedTaskTests {
    /// Reports progress until the file `finish` is there, then tells success.
    private static let body = """
        trap 'exit 1' TERM
        cat > $D/input
        n=0
        until [ -e $D/finish ]; do
            n=$((n + 1))
            echo "{\\"task\\":\\"export.7\\",\\"progress\\":{\\"completed\\":$n,\\"total\\":1000000}}"
            echo '{"task":"export.7","progress":{"completed":9,"total":3},"title":"wrong"}'
            sleep 0.1
        done
        echo '{"task":"export.7","title":"Exported","progress":{"completed":1,"total":1}}'
        echo '{"task":"export.7","result":"success"}'
        """

    private let hosts: HostHome

    init() throws {
        let home = try LonghaulHome()
        let script = try home.scratch.write(
            """
            #!/bin/sh
            echo "$LONGHAUL_EVENT|$LONGHAUL_ID|$LONGHAUL_NAME" >> "$(dirname "$0")/notices"
            """, to: "notice")
        #expect(chmod(script, 0o755) == 0)
        try home.scratch.write(
            #"{"notify": {"command": ["\#(script)"]}}"#, to: "config.json")
        hosts = HostHome(
            home.with([
                "LONGHAUL_CONFIG": home.scratch("config.json"),
                "DBUS_SESSION_BUS_ADDRESS": "unix:path=/nowhere/bus",
            ]))
    }

    private func begin() async throws -> CLIProcess {
        try await hosts.add("--permit", "export.*", body: Self.body)
        let daemon = try hosts.home.start("daemon")
        let submitted = try await hosts.run([
            "task", "submit", "export.7", "--continued", "--title", "Exporting", "--json",
            "--no-start",
        ])
        #expect(try submitted.rows.first?["title"] == "Exporting")
        try await eventually("it reports progress") { try await progress() > 1 }
        return daemon
    }

    private func task() async throws -> JSONValue {
        try #require(try await hosts.run(["task", "show", "export.7", "--json"]).rows.first)
    }

    private func progress() async throws -> Int {
        try await task()["progress"]["completed"].int ?? 0
    }

    private func end(_ engine: CLIProcess) async throws {
        engine.send(SIGTERM)
        #expect(try await engine.wait().status == 0)
    }

    @Test func aPersonSeesItAndStopsIt() async throws {
        let daemon = try await begin()
        let running = try await task()
        #expect(running["state"] == "running" && running["kind"] == "continued")
        #expect(running["title"] == "Exporting" && running["progress"]["total"] == 1_000_000)
        let handed = try #require(
            try JSONValue.lines(try hosts.home.scratch.text(of: "input")).first)
        #expect(handed["kind"] == "continued" && handed["title"] == "Exporting")
        #expect(handed["deadline"] == .null)
        #expect(try await hosts.run(["list"]).output.contains("task export.7: Exporting, 0 %"))
        #expect(try await hosts.run(["task", "list"]).output.contains("Exporting, 0 %"))
        try await hosts.run(["task", "cancel", "export.7"])
        try await eventually("it is stopped") { try await task()["state"] == "done" }
        let run = try await task()["runs"][0]
        #expect(run["expiration"] == "cancelled" && run["result"] == .null)
        let host = try await hosts.show()
        #expect(host["failures"] == 0 && host["state"] == "idle")
        try await end(daemon)
        #expect(hosts.lines("started").count == 1 && hosts.lines("notices").isEmpty)
    }

    /// The program goes on, the next engine watches it, and the user is notified of its end.
    @Test func anEngineIsKilled() async throws {
        let killed = try await begin()
        killed.send(SIGKILL)
        _ = try await killed.wait()
        let last = try await progress()
        let daemon = try hosts.home.start("daemon")
        try await eventually("it reports to the next engine") { try await progress() > last }
        try hosts.home.scratch.write("", to: "finish")
        try await eventually("it is done") { try await task()["state"] == "done" }
        #expect(try await task()["runs"][0]["result"] == "success")
        #expect(hosts.lines("started").count == 1)
        try await eventually("the user is notified") { hosts.lines("notices").count > 0 }
        try await end(daemon)
        #expect(hosts.lines("notices") == ["completed|export.7|Exported"])
    }

    @Test func whatHasToWaitIsRefused() async throws {
        let daemon = try await begin()
        let other = [
            "task", "submit", "export.8", "--continued", "--title", "Other", "--json", "--no-start",
        ]
        let refused = try await hosts.run(other + ["--strategy", "fail"], status: 5)
        #expect(try refused.rows.first?["error"]["code"] == "immediateRunIneligible")
        #expect(try await hosts.run(["task", "list", "--json"]).rows.count == 1)
        let queued = try #require(try await hosts.run(other).rows.first)
        #expect(queued["strategy"] == "queue" && queued["waitingFor"][0]["reason"] == "host")
        try await hosts.run(["task", "cancel", "--all"])
        try await eventually("both are gone") {
            try await hosts.run(["task", "list", "--json"]).rows.isEmpty
        }
        try await end(daemon)
        // No engine runs that could begin it.
        let idle = try await hosts.run(other + ["--strategy", "fail"], status: 5)
        #expect(try idle.rows.first?["error"]["code"] == "immediateRunIneligible")
        #expect(try await hosts.run(["task", "list", "--json"]).rows.isEmpty)
    }

    @Test(
        arguments: [
            (["export.7", "--continued"], 64), (["export.7", "--title", "t"], 64),
            (["export.7", "--continued", "--title", ""], 64),
            (["export.7", "--continued", "--title", "t", "--every", "1h"], 64),
            (["export.7", "--continued", "--title", "t", "--kind", "processing"], 64),
            (["export.7", "--continued", "--title", "t", "--earliest", "+1h"], 64),
            (["export.7", "--kind", "continued"], 64), (["export.7"], 5),
            (["export.*", "--continued", "--title", "t"], 5),
            (["exports", "--continued", "--title", "t"], 5),
        ] as [([String], Int32)])
    func badInputIsRefused(arguments: [String], status: Int32) async throws {
        try await hosts.add("--permit", "export.*", body: "exit 0")
        try await hosts.run(["task", "submit", "--no-start"] + arguments, status: status)
        #expect(try await hosts.run(["task", "list", "--json"]).rows.isEmpty)
    }
}
