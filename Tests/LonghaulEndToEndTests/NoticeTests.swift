import Foundation
import LonghaulTestSupport
import Testing

/// Notices to the user, with the built command.
@Suite(.timeLimit(.minutes(60))) struct NoticeTests {
    private let noticed: NoticeHome
    private var home: LonghaulHome { noticed.home }
    private var notices: [[String]] { noticed.notices }

    init() throws {
        noticed = try NoticeHome()
    }

    @Test func oneTransferHasOne() async throws {
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=3K").replacing("://", with: "://me:secret@")
            let got = try await home.run("get", "--notify", "-o", home.file("a b"), url)
            #expect(got.status == 0, "\(got.errors)")
            let quiet = try await home.run("get", "-o", home.file("c"), server.url("c?size=1K"))
            #expect(quiet.status == 0)
            let failed = try await home.run(
                "get", "--notify", "-o", home.file("d"), server.url("d?status=404"))
            #expect(failed.status == 1)
            let notices = notices
            #expect(notices.count == 2)
            let first = try #require(notices.first)
            #expect(
                first.prefix(5) == ["completed", "1", "a b", "completed", home.file("a b")])
            #expect(first[5].contains("a.bin") && !first[5].contains("secret"))
            #expect(first[6] == "3072" && first[7].isEmpty && first[8] == "$(touch x)")
            let last = try #require(notices.last)
            #expect(last[0] == "failed" && last[2] == "d" && last[7].contains("404"))
        }
    }

    @Test func aBatchHasOneAtItsEnd() async throws {
        try await LoopbackServer.run { server in
            let urls = (1...5).map { server.url("f\($0)?size=2K") } + [server.url("g?status=404")]
            try home.scratch.write(urls.joined(separator: "\n"), to: "list")
            let added = try await home.run(
                "enqueue", "--notify", "--no-start", "-d", home.file("."), "--input",
                home.scratch("list"))
            #expect(added.status == 0, "\(added.errors)")
            // Another one by itself.
            _ = try await home.run(
                "enqueue", "--notify", "--no-start", "-o", home.file("x"), server.url("x?size=1"))
            _ = try await home.run("run")
            let notices = notices
            #expect(notices.count == 2, "\(notices)")
            let batch = try #require(notices.first { $0[2] == "6 transfers" })
            #expect(batch[0] == "failed" && batch[1] == "1" && batch[7].contains("404"))
            #expect(notices.contains { $0[0] == "completed" && $0[2] == "x" })
            // Nothing is repeated.
            _ = try await home.run("run")
            #expect(self.notices.count == 2)
        }
    }

    @Test func aSessionAndABundleHaveOne() async throws {
        try await LoopbackServer.run { server in
            let set = try await home.run("session", "set", "photos", "--notify", "on", "--json")
            #expect(try set.rows.first?["notify"] == true)
            for name in ["p", "q"] {
                _ = try await home.run(
                    "enqueue", "--session", "photos", "--no-start", "-o", home.file(name),
                    server.url("\(name)?size=1K"))
            }
            _ = try await home.run("run")
            #expect(
                notices.map { $0.prefix(4) } == [["completed", "photos", "photos", "completed"]])
            let file = try server.expected("b1?size=1K")
            let line =
                #"{"path":"b1","url":"\#(server.url("b1?size=1K"))","size":1024,"#
                + #""sha256":"\#(file.sha256)"}"#
            try home.scratch.write(line + "\n", to: "set.jsonl")
            let got = try await home.run(
                "get", "--notify", "list:\(home.scratch("set.jsonl"))", "-d", home.file("set"))
            #expect(got.status == 0, "\(got.errors)")
            #expect(notices.count == 2)
            #expect(
                notices.last?.prefix(5) == ["completed", "set", "set", "ready", home.file("set")])
        }
    }

    /// The notice is the last thing that is recorded: a kill before repeats it.
    @Test func aNoticeSurvivesAKill() async throws {
        try await LoopbackServer.run { server in
            try noticed.hold()
            _ = try await home.run(
                "enqueue", "--notify", "--no-start", "-o", home.file("a"), server.url("a?size=1K"))
            let engine = try home.start("daemon")
            try await eventually("its notice is being delivered") { noticed.isHeld }
            engine.send(SIGKILL)
            _ = try await engine.wait()
            #expect(notices.isEmpty)
            try noticed.deliver()
            _ = try await home.run("run")
            #expect(notices.map(\.[0]) == ["completed"])
        }
    }

    @Test func aTransferThatNeedsAnAnswer() async throws {
        try await LoopbackServer.run { server in
            let hosts = HostHome(home)
            try await hosts.add(body: "exit 0")
            try await hosts.run([
                "enqueue", "--notify", "--session", "s", "-o", home.file("a"),
                server.url("a?status=403"),
            ])
            try await hosts.run(["run"])
            #expect(notices.map { $0.prefix(4) } == [["input", "1", "a", "waiting"]])
        }
    }

    @Test(.enabled(if: MockBus.isPossible, "skipped: needs dbus-daemon and python3-dbusmock"))
    func theDesktopShowsIt() async throws {
        let bus = try MockBus()
        let desktop = try bus.service(.notifications)
        let home = home.with(["DBUS_SESSION_BUS_ADDRESS": bus.address])
        try await LoopbackServer.run { server in
            _ = try await home.run(
                "get", "--notify", "-o", home.file("a"), server.url("a?size=1K"))
            #expect(desktop.output.contains("a completed"), "\(desktop.output)")
            try home.scratch.write(
                #"{"notify": {"desktop": false}}"#, to: "config.json")
            _ = try await home.run(
                "get", "--notify", "-o", home.file("b"), server.url("b?size=1K"))
            #expect(desktop.output.components(separatedBy: " Notify ").count == 2)
        }
    }

    @Test(arguments: [
        #"{"notify": {"command": ["relative"]}}"#, #"{"notify": {"command": []}}"#,
        #"{"notify": {"desktop": "yes"}}"#,
    ])
    func aWrongKeyIsSaid(text: String) async throws {
        try home.scratch.write(text, to: "config.json")
        let result = try await home.run("run")
        #expect(result.status == 64 && result.errors.contains("notify."))
    }
}
