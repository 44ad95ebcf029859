import Foundation
import LonghaulTestSupport
import Testing

/// The configuration file, as commands go by it.
@Suite(.timeLimit(.minutes(60))) struct ConfigurationTests {
    /// In the user's directory for configuration.
    private func home(_ text: String) throws -> LonghaulHome {
        let home = try LonghaulHome()
        _ = try home.scratch.directory(".config/longhaul")
        try home.scratch.write(text, to: ".config/longhaul/config.json")
        return home
    }

    private func stored(_ home: LonghaulHome, _ id: Int) async throws -> JSONValue {
        try #require(try await home.run("show", "\(id)", "--json").rows.first)
    }

    @Test func newTransfersGetTheDefaults() async throws {
        let home = try home(
            #"{"defaults": {"deadline": "2h", "priority": "low", "retries": 0}}"#)
        let url = "http://127.0.0.1:1/f"
        _ = try await home.run("enqueue", url, "-o", home.file("a"))
        _ = try await home.run("enqueue", url, "-o", home.file("b"), "--priority", "high")
        let line = #"{"url":"\#(url)","destination":"\#(home.file("c"))","priority":"normal"}"#
        _ = try await home.run("enqueue", "-", input: line + "\n")
        for (id, priority) in [(1, "low"), (2, "high"), (3, "normal")] {
            let shown = try await stored(home, id)
            #expect(shown["priority"].string == priority)
            let created = try date(shown["createdAt"])
            #expect(abs(try date(shown["deadline"]).timeIntervalSince(created) - 7200) < 5)
        }
        // What is for downloads alone does not refuse uploads.
        let uploads = try self.home(
            #"{"defaults": {"priority": "low", "connections": 4, "ifExists": "rename"}}"#)
        try uploads.scratch.write("x", to: "files/x")
        let result = try await uploads.run("upload", "--no-start", "x", url)
        #expect(result.status == 0, "\(result.errors)")
        #expect(try await stored(uploads, 1)["priority"] == "low")
        let mixed = "{\"source\":\"x\",\"url\":\"\(url)2\"}\n{\"url\":\"\(url)3\"}\n"
        let list = try await uploads.run(
            "enqueue", "--no-start", "--if-exists", "skip", "-", input: mixed)
        #expect(list.status == 0, "\(list.errors)")
        #expect(try await stored(uploads, 3)["options"]["ifExists"] == "skip")
        // No retry: a server that is not there is the end of it.
        _ = try await home.run("run")
        #expect(try await stored(home, 1)["state"] == "failed")
    }

    private func date(_ value: JSONValue) throws -> Date {
        let format = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        return try Date(try #require(value.string), strategy: format)
    }

    /// The server counts each stream of HTTP/2 as a connection, and refuses a second one.
    @Test(.enabled(if: NginxServer.isInstalled, "skipped: no nginx"))
    func theLimitOfAnOriginHoldsOverHTTP2() async throws {
        var options = NginxServer.Options()
        options.rate = 1 << 20
        options.connectionsMax = 1
        let root = try Scratch()
        let nginx = try await NginxServer.start(root: root.path, options: options)
        let home = try home(#"{"limits": {"perOrigin": 1}}"#)
        for index in 0..<8 {
            try Representation(size: 300_000, seed: UInt64(index)).write(to: root("\(index)"))
            _ = try await home.run(
                "enqueue", nginx.https("\(index)"), "-o", home.file("\(index)"), "--cacert",
                nginx.authority.certificate, "--connections", "1")
        }
        let run = try await home.start("run").wait()
        #expect(run.status == 0, "\(run.errors)")
        let log = try nginx.accessLog
        #expect(log.map { $0["status"].int } == Array(repeating: 200, count: 8), "\(log)")
        #expect(log.allSatisfy { $0["protocol"] == "HTTP/2.0" })
        await nginx.stop()
    }

    @Test(arguments: [
        ["enqueue", "http://h/f"], ["get", "http://h/f"], ["run"], ["daemon"], ["resume", "--all"],
        ["retry", "--all"],
    ])
    func aMistakeIsAUsageError(arguments: [String]) async throws {
        let home = try home(#"{"limits": {"running": 0}}"#).with(["LONGHAUL_AUTOSTART": nil])
        let result = try await home.start(arguments).wait()
        #expect(result.status == 64)
        let path = home.scratch(".config/longhaul/config.json")
        #expect(
            result.errors
                == "longhaul: \(path): 'limits.running' is 0; it is a number from 1 to 64\n")
        #expect(try await home.run("list", "--all", "--json").output == "")
    }

    /// It works in another directory than the one that the name is meant from.
    @Test func anEngineInTheBackgroundFindsAFileThatWasNamedRelatively() async throws {
        let home = try LonghaulHome().with([
            "LONGHAUL_CONFIG": "c.json", "LONGHAUL_AUTOSTART": nil,
        ])
        try home.scratch.write("{}", to: "files/c.json")
        try await LoopbackServer.run { server in
            _ = try await home.run("enqueue", server.url("a.bin?size=10K"))
            #expect(try await home.run("wait", "1", "--timeout", "20s").status == 0)
        }
        if let pid = try await home.run("status", "--json").rows.first?["engine"]["pid"].int {
            kill(pid_t(pid), SIGTERM)
        }
    }

    @Test func othersDoWithoutAndDoctorComplains() async throws {
        let home = try home("{")
        for arguments in [["list"], ["status"], ["conditions"], ["clean"]] {
            #expect(try await home.start(arguments).wait().status == 0)
        }
        let path = home.scratch(".config/longhaul/config.json")
        #expect(try await home.run("status").output.contains("Configured: \(path)\n"))
        #expect(
            try await home.run("status", "--json").rows.first?["configuration"].string == path)
        let finding = try await home.run("doctor", "--json").rows.first {
            $0["check"] == "configuration"
        }
        #expect(finding?["ok"] == false)
        #expect(finding?["detail"].string?.hasPrefix("\(path): it is not valid JSON: ") == true)
    }

    @Test(arguments: ["LONGHAUL_CONDITIONS", "LONGHAUL_LOG"])
    func doctorNamesAVariableThatAllOthersRefuse(name: String) async throws {
        let home = try LonghaulHome().with([name: "nonsense"])
        #expect(try await home.run("list").status == 64)
        let doctor = try await home.run("doctor", "--json")
        let finding = try doctor.rows.first { $0["check"] == "environment" }
        #expect(finding?["ok"] == false)
        #expect(finding?["detail"].string?.hasPrefix("\(name): ") == true)
    }

    @Test func theFileThatIsNamedMustBeThere() async throws {
        let home = try home("{").with(["LONGHAUL_CONFIG": "/nonexistent/c.json"])
        let result = try await home.run("run")
        #expect(result.status == 64)
        #expect(result.errors.contains("/nonexistent/c.json: there is no such file"))
        #expect(try await home.with(["LONGHAUL_CONFIG": nil]).run("run").status == 64)
        let without = home.with(["LONGHAUL_CONFIG": nil, "XDG_CONFIG_HOME": "/nonexistent"])
        #expect(try await without.run("run").status == 0)
    }

    @Test func autostartMayBeOff() async throws {
        let home = try home(#"{"autostart": false}"#).with(["LONGHAUL_AUTOSTART": nil])
        _ = try await home.run("enqueue", "http://127.0.0.1:1/f", "-o", home.file("a"))
        #expect(try await home.run("status", "--json").rows.first?["engine"] == .null)
    }
}
