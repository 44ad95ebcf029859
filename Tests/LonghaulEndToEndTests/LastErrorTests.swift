import Foundation
import LonghaulTestSupport
import Testing

/// Why a transfer waits: what went wrong the last time, wherever the wait is shown.
@Suite(.timeLimit(.minutes(60))) struct LastErrorTests {
    private let home: LonghaulHome

    init() throws { home = try LonghaulHome() }

    /// Nothing listens there.
    private let refused = "http://127.0.0.1:1/a.bin"

    /// The command with a terminal of its own for all of its streams.
    private var atTerminal: LonghaulHome {
        home.through([
            "/usr/bin/env", "python3", "-c",
            "import os,pty,sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))",
        ])
    }

    /// An engine runs until an attempt has failed, and leaves the transfer to its back-off.
    private func attempt(_ url: String) async throws {
        _ = try await home.run("enqueue", url)
        let engine = try home.start("run")
        try await eventually {
            try await home.run("show", "1", "--json").rows.first?["error"] != .null
        }
        engine.send(SIGTERM)
        _ = try await engine.wait()
    }

    @Test(
        arguments: [
            ("503", "the server failed (503)", "serverError", 503),
            ("refused", "no connection could be made", "network", nil),
            ("dns", "name could not be resolved", "dns", nil),
        ] as [(String, String, String, Int?)])
    func theReasonIsShown(how: String, words: String, code: String, status: Int?) async throws {
        try await LoopbackServer.run { server in
            let url =
                switch how {
                case "503": server.url("a.bin?status=503&retryafter=3600")
                case "refused": refused
                default: "http://nosuch.invalid/a.bin"
                }
            try await attempt(url)
            let list = try await home.run("list").output
            #expect(list.contains(words), "\(list)")
            #expect(try await home.run("why", "1").output.contains(words))
            #expect(try await home.run("show", "1").output.contains("Last error"))
            for command in ["show", "why"] {
                let row = try #require(try await home.run(command, "1", "--json").rows.first)
                #expect(row["error"]["code"].string == code)
                #expect(row["error"]["httpStatus"].int == status)
            }
        }
    }

    /// Others of the same server, which have had no attempt themselves, say what their server did.
    @Test func anotherOfTheServerSaysIt() async throws {
        try await LoopbackServer.run { server in
            try await attempt(server.url("a.bin?status=503&retryafter=3600"))
            _ = try await home.run("enqueue", server.url("b.bin?size=1K"))
            let row = try #require(try await home.run("why", "2", "--json").rows.first)
            #expect(row["error"] == .null)
            let waits = row["waitingFor"].items
            #expect(waits.contains { $0["current"].string?.contains("503") == true }, "\(row)")
            let line = try await home.run("list").output.split(separator: "\n").first {
                $0.hasPrefix(" 2")
            }
            #expect(line?.contains("the server failed (503)") == true)
        }
    }

    @Test func whatGoesOnHasNoError() async throws {
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=1M&etag=v1&status=503&statuses=1")
            try await attempt(url)
            _ = try await home.run("run")
            let row = try #require(try await home.run("show", "1", "--json").rows.first)
            #expect(row["state"] == "completed" && row["error"] == .null)
        }
    }

    @Test func theDeadlineNamesTheCause() async throws {
        try await attempt(refused)
        #expect(try await home.run("set", "1", "--deadline", "+1s").status == 0)
        try await eventually {
            _ = try await home.run("run", "--max-time", "1s")
            return try await home.run("show", "1", "--json").rows.first?["state"] == "failed"
        }
        let row = try #require(try await home.run("show", "1", "--json").rows.first)
        #expect(row["error"]["code"] == "timedOut")
        let message = row["error"]["message"].string ?? ""
        #expect(message.contains("no connection could be made"), "\(message)")
    }

    @Test func theSummaryOfAnInterruptSaysIt() async throws {
        let get = try home.start("get", refused)
        try await eventually { get.errors.contains("no connection could be made") }
        get.send(SIGINT)
        let result = try await get.wait()
        #expect(result.status == 130)
        let summary = result.errors.split(separator: "\n").first { $0.contains("paused") }
        #expect(summary?.contains("no connection could be made") == true, "\(result.errors)")
    }

    /// A user who looks on has misspelt the name.
    @Test(arguments: ["http://nosuch.invalid/a.bin", "refused"])
    func aTerminalIsToldSoon(where place: String) async throws {
        let url = place == "refused" ? refused : place
        let result = try await atTerminal.run("get", url)
        #expect(result.status == 1, "\(result)")
        #expect(result.output.contains("longhaul retry 1"))
        let row = try #require(try await home.run("show", "1", "--json").rows.first)
        #expect(row["state"] == "failed" && row["attempts"].int == 3)
    }

    /// It was said how long to try.
    @Test(arguments: [["--retries", "1"], ["--deadline", "1s"]])
    func whatIsAskedForCounts(options: [String]) async throws {
        let result = try await atTerminal.start(["get", refused] + options).wait()
        #expect(result.status == 1)
        let row = try #require(try await home.run("show", "1", "--json").rows.first)
        #expect((row["attempts"].int ?? 3) <= 2)
    }
}
