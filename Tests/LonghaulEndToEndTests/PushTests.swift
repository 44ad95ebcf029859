import Foundation
import LonghaulTestSupport
import Testing

/// Streams of other machines that wake a host, with the built engine and a real server.
@Suite(.timeLimit(.minutes(60))) struct PushTests {
    private let hosts: HostHome

    init() throws {
        hosts = try HostHome()
    }

    private func subscribe(
        _ url: String, _ options: String..., body: String = "cat >> $D/got"
    ) async throws {
        try await hosts.add(body: body)
        try await hosts.run(
            ["host", "subscribe", HostHome.host, url, "--urgent"] + options + ["--no-start"])
    }

    private func subscription() async throws -> JSONValue {
        try await hosts.show()["subscriptions"][0]
    }

    private func isConnected() async throws -> Bool {
        try await subscription()["state"] == "connected"
    }

    private func got() throws -> [JSONValue] {
        try hosts.lines("got").map { try JSONValue.lines($0)[0] }
    }

    @Test func anEventWakesTheHost() async throws {
        let server = try await PushServer.start()
        let secret = try hosts.home.scratch.write("Authorization: Bearer abc\n", to: "token")
        chmod(secret, 0o600)
        try await subscribe(server.url("events"), "--header-from", secret)
        #expect(try await subscription()["state"] == "waiting")
        let daemon = try hosts.home.start("daemon")
        try await eventually("it is connected") { try await isConnected() }
        #expect(try server.log.map { $0["authorization"] } == ["Bearer abc"])
        try server.send(#"{"id":"1","event":"mail","data":"{\"n\": 7}"}"#)
        try server.send(#"{"id":"2","data":"two\nlines"}"#)
        try await eventually("both are handed over") { try got().count == 2 }
        let mail = try got().first { $0["identifier"] == "mail" }
        #expect(mail?["payload"]["n"] == 7)
        #expect(
            try got().contains { $0["identifier"] == "message" && $0["payload"] == "two\nlines" })
        #expect(try await subscription()["lastID"] == "2")
        let shown = try await hosts.run(["host", "show", HostHome.host]).output
        #expect(shown.contains("push \(server.url("events")), urgent: connected since "))
        try await hosts.run(["host", "unsubscribe", HostHome.host, server.url("events")])
        #expect(try await hosts.show()["subscriptions"].items.isEmpty)
        #expect(
            try await hosts.run(["host", "unsubscribe", HostHome.host], status: 4).output == "")
        daemon.send(SIGTERM)
        #expect(try await daemon.wait().status == 0)
    }

    /// A connection that is cut goes on after the last event; each event comes once, although the
    /// server repeats one.
    @Test(arguments: ["events", "alerts/json"])
    func aStreamThatIsCutGoesOn(path: String) async throws {
        let server = try await PushServer.start()
        try server.set(mode: "cut repeat")
        try await subscribe(server.url(path))
        let daemon = try hosts.home.start("daemon")
        try await eventually("it is connected") { try await isConnected() }
        for number in 1...3 { try server.send(#"{"id":"e\#(number)","data":"\#(number)"}"#) }
        try await eventually("all have come") { try got().contains { $0["payload"] == 3 } }
        try await eventually("the place is recorded") {
            try await subscription()["lastID"] == "e3"
        }
        #expect(try server.log.compactMap { $0["last"].string }.prefix(2) == ["e1", "e2"])
        let name = path == "events" ? "message" : "alerts"
        #expect(try got().allSatisfy { $0["identifier"].string == name })
        // Later ones may be merged with those that wait, and none comes twice.
        let payloads = try got().compactMap { $0["payload"].int }
        #expect(payloads == payloads.sorted() && Set(payloads).count == payloads.count)
        daemon.send(SIGTERM)
        _ = try await daemon.wait()
    }

    /// Killed between an event and the end of its launch: it is handed over again, and once it was
    /// handled never more.
    @Test func aKilledEngineLosesNoEvent() async throws {
        let server = try await PushServer.start()
        try await subscribe(
            server.url("alerts/json"),
            body: "cat >> $D/got; until test -e $D/go; do sleep 0.02; done")
        var daemon = try hosts.home.start("daemon")
        try await eventually("it is connected") { try await isConnected() }
        try server.send(#"{"id":"a","data":"1"}"#)
        try await eventually("the host has it") { try got().count == 1 }
        daemon.send(SIGKILL)
        _ = try await daemon.wait()
        try server.send(#"{"id":"b","data":"2"}"#)
        daemon = try hosts.home.start("daemon")
        try await eventually("it goes on after the first") {
            try server.log.last?["last"] == "a"
        }
        try hosts.home.scratch.write("", to: "go")
        try await eventually("the second is handed over") {
            try got().contains { $0["payload"] == 2 }
        }
        try await eventually("nothing waits") {
            try await hosts.home.stored("SELECT * FROM task").isEmpty
        }
        daemon.send(SIGKILL)
        _ = try await daemon.wait()
        let count = try got().count
        daemon = try hosts.home.start("daemon")
        try await eventually("it goes on after the second") {
            try server.log.last?["last"] == "b"
        }
        try server.send(#"{"id":"c","data":"3"}"#)
        try await eventually("the third is handed over") {
            try got().contains { $0["payload"] == 3 }
        }
        #expect(try got().count == count + 1)
        daemon.send(SIGTERM)
        _ = try await daemon.wait()
    }

    @Test func aRefusalIsShownAndTriedLater() async throws {
        let server = try await PushServer.start()
        try await subscribe(server.url("page"))
        try await hosts.run(
            ["host", "subscribe", HostHome.host, server.url("closed"), "--no-start"])
        let daemon = try hosts.home.start("daemon")
        try await eventually("both are refused") {
            try await hosts.show()["subscriptions"].items.allSatisfy { $0["state"] == "failed" }
        }
        let shown = try await hosts.show()["subscriptions"]
        #expect(shown[0]["error"]["message"].string?.contains("text/html") == true)
        #expect(shown[1]["error"]["code"] == "unauthorized" && shown[1]["retryAt"].string != nil)
        #expect(try server.log.count == 2)
        daemon.send(SIGTERM)
        _ = try await daemon.wait()
    }

    @Test func offlineNothingIsConnected() async throws {
        let server = try await PushServer.start()
        try await subscribe(server.url("events"))
        try await hosts.run(["conditions", "--set", "network=offline"])
        let daemon = try hosts.home.start("daemon")
        try await eventually("the engine has seen it") {
            try await hosts.home.stored("SELECT value FROM setting WHERE key = 'engineView'")
                .description.contains("offline")
        }
        try await hosts.run(["conditions", "--set", "network=unmetered"])
        try await eventually("it is connected") { try await isConnected() }
        try await hosts.run(["conditions", "--set", "network=offline"])
        try await eventually("it is not") { try await !isConnected() }
        let count = try server.log.count
        try await hosts.run(["conditions", "--set", "network=unmetered"])
        try await eventually("it is connected again") { try await isConnected() }
        #expect(try server.log.count == count + 1)
        daemon.send(SIGTERM)
        _ = try await daemon.wait()
    }

    /// While the server is silent the threads of the stream sleep. A request of a transfer checks
    /// its address every three seconds: four times in this test.
    @Test func aSilentStreamWakesNoThread() async throws {
        let server = try await PushServer.start()
        try await subscribe(server.url("events"))
        let daemon = try hosts.home.start("daemon")
        try await eventually("it is connected") { try await isConnected() }
        // What follows the connection is done when two looks agree.
        var before = try wakeUps(of: daemon.pid)
        try await eventually("nothing is to be done") {
            try await Task.sleep(for: .seconds(1))
            let now = try wakeUps(of: daemon.pid)
            defer { before = now }
            return now == before
        }
        try await Task.sleep(for: .seconds(13))
        // libcurl has a timer for the time in which the connection was to be made.
        #expect(try wakeUps(of: daemon.pid) - before < 4)
        daemon.send(SIGTERM)
        #expect(try await daemon.wait().status == 0)
    }

    /// How often the threads of streams and transports have slept.
    private func wakeUps(of pid: pid_t) throws -> Int {
        let tasks = "/proc/\(pid)/task"
        let names = try FileManager.default.contentsOfDirectory(atPath: tasks)
        return try names.reduce(0) { sum, task in
            let text = try String(contentsOfFile: "\(tasks)/\(task)/status", encoding: .utf8)
            guard text.contains("Name:\tlonghaul-push") || text.contains("Name:\tlonghaul-wire")
            else { return sum }
            let line = text.split(separator: "\n").first {
                $0.hasPrefix("voluntary_ctxt_switches:")
            }
            return sum + (line?.split(separator: "\t").last.flatMap { Int($0) } ?? 0)
        }
    }

    @Test func wrongInputIsRefused() async throws {
        try await hosts.add(body: "exit 0")
        let subscribe = ["host", "subscribe"]
        let cases: [([String], Int32)] = [
            (subscribe + ["nobody", "http://127.0.0.1/x"], 4), (subscribe + [HostHome.host], 64),
            (subscribe + [HostHome.host, "ftp://127.0.0.1/x"], 64),
            (subscribe + [HostHome.host, "here"], 64),
            (subscribe + [HostHome.host, "http://127.0.0.1/x", "--header-from", "/none"], 64),
            (["host", "unsubscribe", HostHome.host], 4), (["host", "unsubscribe", "nobody"], 4),
        ]
        for (arguments, status) in cases {
            let result = try await hosts.run(arguments, status: status)
            #expect(result.output.isEmpty && result.errors.hasPrefix("longhaul: "), "\(result)")
        }
    }
}
