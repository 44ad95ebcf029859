import Foundation
import LonghaulTestSupport
import Testing

/// `events --attach` in the place of a launched host: tasks and wake-ups come as lines, and results
/// go to its standard input.
@Suite(.timeLimit(.minutes(60))) struct AttachedHostTests {
    /// An attached process with a named pipe as its standard input.
    private func attach(_ hosts: HostHome) throws -> CLIProcess {
        let pipe = hosts.home.scratch("results")
        if !FileManager.default.fileExists(atPath: pipe) { #expect(mkfifo(pipe, 0o600) == 0) }
        let command = "exec \"$0\" events --follow --attach --session s <> '\(pipe)'"
        return try CLIProcess(
            "/bin/sh", ["-c", command, try BuiltBinary.named("longhaul")],
            environment: hosts.home.environment)
    }

    private func say(_ hosts: HostHome, _ line: String) throws {
        let pipe = try FileHandle(
            forUpdating: URL(filePath: hosts.home.scratch("results")))
        try pipe.write(contentsOf: Data("\(line)\n".utf8))
        try pipe.close()
    }

    private func ends(_ hosts: HostHome) async throws -> [String] {
        try await hosts.show()["launches"].items.map { $0["ending"].string ?? "-" }
    }

    @Test func tasksAndWakeUpsComeAsLines() async throws {
        let hosts = try HostHome()
        try await hosts.add("--permit", "refresh", "--permit", "clean", body: "exit 0")
        let attached = try attach(hosts)
        try await eventually("attached") { try await hosts.show()["state"] == "attached" }
        let daemon = try hosts.home.start("daemon")
        try await hosts.run([
            "wake", HostHome.host, "--urgent", "--identifier", "ring", "--payload", "7",
        ])
        try await attached.waitForOutput(#"{"type":"wake","identifier":"ring","payload":7}"#)
        try await eventually("handled") { try await ends(hosts) == ["exited"] }

        try await hosts.run(["task", "submit", "refresh", "--payload", "[1]"])
        try await attached.waitForOutput(#""identifier":"refresh","kind":"refresh""#)
        try say(hosts, "nonsense")
        try say(hosts, #"{"task":"refresh","result":"noData"}"#)
        try await eventually("a result") {
            try await hosts.task("refresh")["runs"][0]["result"] == "noData"
        }
        try await eventually("it has ended") { try await ends(hosts) == ["exited", "exited"] }

        #expect(hosts.lines("started").isEmpty)
        let pids = try await hosts.show()["launches"].items.map { $0["pid"].int ?? 0 }
        #expect(pids == Array(repeating: Int(attached.pid), count: 2))

        try await hosts.run(["task", "submit", "clean", "--earliest", "+1h"])
        try await hosts.run(["task", "simulate-launch", "clean"])
        try await attached.waitForOutput(#""identifier":"clean""#)
        try await hosts.run(["task", "simulate-expiration", "clean"])
        try await attached.waitForOutput(#"{"type":"expiration","launch":3,"reason":"simulated"}"#)
        // No result is told: five seconds later the launch is over.
        try await eventually("it has expired") {
            let runs = try await hosts.task("clean")["runs"].items
            return runs.last?["expiration"] == "simulated"
        }
        attached.send(SIGTERM)
        _ = try await attached.wait()
        daemon.send(SIGTERM)
        _ = try await daemon.wait()
    }

    /// A launch gets all that a process had not ended: that of the next engine, too.
    @Test(arguments: [SIGKILL, SIGTERM], [false, true])
    func whatItHadNotEndedIsHandedOverAgain(signal: Int32, engineDies: Bool) async throws {
        let hosts = try HostHome()
        try await hosts.add(
            "--permit", "refresh", "--permit", "clean",
            body: #"cat > "$D/got"; echo '{"task":"clean","result":"success"}'"#)
        let attached = try attach(hosts)
        try await eventually("attached") { try await hosts.show()["state"] == "attached" }
        for name in ["refresh", "clean"] {
            try await hosts.run(["task", "submit", name, "--kind", "processing", "--no-start"])
        }
        var daemon = try hosts.home.start("daemon")
        try await attached.waitForOutput(#""identifier":"clean""#)
        try say(hosts, #"{"task":"refresh","result":"success"}"#)
        try await eventually("a result") {
            try await hosts.task("refresh")["state"] == "done"
        }
        if engineDies {
            daemon.send(SIGKILL)
            _ = try await daemon.wait()
        }
        attached.send(signal)
        _ = try await attached.wait()
        if engineDies { daemon = try hosts.home.start("daemon") }
        try await eventually("\(daemon.errors)") {
            try await hosts.task("clean")["state"] == "done"
        }
        #expect(hosts.lines("started").count == 1)
        #expect(hosts.lines("got").count == 1, "the other task was ended")
        #expect(try await hosts.task("refresh")["runs"].items.count == 1)
        let runs = try await hosts.task("clean")["runs"].items.map { $0["result"] }
        #expect(runs == ["success", .null])
        daemon.send(SIGTERM)
        _ = try await daemon.wait()
    }
}

extension HostHome {
    fileprivate func task(_ id: String) async throws -> JSONValue {
        try #require(try await run(["task", "show", id, "--json"]).rows.first)
    }
}
