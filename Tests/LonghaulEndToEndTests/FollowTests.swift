import Foundation
import LonghaulTestSupport
import Testing

/// Commands that follow what others do: each line is in the pipe as soon as it is known, and a
/// signal loses none.
@Suite(.timeLimit(.minutes(60))) struct FollowTests {
    /// The command, through a pipe.
    private func piped(_ home: LonghaulHome, to reader: String = "cat") -> LonghaulHome {
        home.through(["/bin/sh", "-c", "\"$@\" 2>&1 | \(reader)", "sh"])
    }

    @Test func eachLineComesAtOnce() async throws {
        let jobs = try JobHome()
        let home = jobs.home
        try await jobs.add(
            "j", body: "echo one; while [ ! -e $D/go ]; do sleep 0.02; done; echo two")
        try await LoopbackServer.run { server in
            for name in ["a?size=1K", "b?size=1M&stall=100K"] {
                _ = try await home.run("enqueue", server.url(name))
            }
            let followers = [
                "two": try piped(home).start("job", "log", "-f", "j"),
                "transferCompleted": try piped(home).start("events", "--follow"),
                "/f/b?": try piped(home).start("watch"),
                "files/a": try piped(home).start("wait", "1", "2"),
            ]
            let engine = try home.start("daemon")
            try await followers["two"]?.waitForOutput("one")
            try home.scratch.write("", to: "go")
            for (text, follower) in followers {
                // The second transfer has not ended.
                try await follower.waitForOutput(text)
                follower.sendToGroup(SIGTERM)
                let result = try await follower.wait()
                #expect(result.output.contains(text))
            }
            server.goOn()
            try await jobs.end(engine)
        }
    }

    /// A reader that leaves ends the command, though nothing more is to be printed.
    @Test func aReaderThatLeavesEndsIt() async throws {
        let jobs = try JobHome()
        try await jobs.add("j", body: "echo one; while [ ! -e $D/go ]; do sleep 0.02; done")
        let engine = try jobs.home.start("daemon")
        let follower = try piped(jobs.home, to: "head -n 1").start("job", "log", "-f", "j")
        #expect(try await follower.wait().output.hasSuffix("one\n"))
        try jobs.home.scratch.write("", to: "go")
        try await jobs.end(engine)
    }

    /// It stops, and begins again by itself; `now` ends the pause.
    @Test func aPauseHasAnEnd() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            _ = try await home.run("enqueue", server.url("a?size=1M&etag=v1&stall=100K"))
            let engine = try home.start("daemon")
            try await server.log.waitForCount(1)
            let paused = try await home.run("pause", "1", "--for", "1h")
            #expect(paused.output == "1 paused for 1h\n" && paused.errors.isEmpty, "\(paused)")
            try await eventually("it waits") {
                let row = try await home.run("show", "1", "--json").rows.first
                return row?["state"] == "waiting"
                    && row?["waitingFor"][0]["reason"] == "earliestBegin"
            }
            _ = try await home.run("now", "1")
            try await server.log.waitForCount(2)
            server.goOn()
            #expect(try await home.run("wait", "1").status == 0)
            let ended = try await home.run("pause", "1", "--for", "1h")
            #expect(ended.status == 5, "\(ended)")
            engine.send(SIGTERM)
            _ = try await engine.wait()
        }
    }

    /// A pause with an end does not end one without.
    @Test func whatWasPausedBeforeStaysPaused() async throws {
        let home = try LonghaulHome()
        for name in ["a", "b"] {
            _ = try await home.run("enqueue", "--no-start", "http://127.0.0.1:9/\(name)")
        }
        _ = try await home.run("pause", "1")
        #expect(try await home.run("pause", "--all", "--for", "1h").status == 0)
        let rows = try await home.run("list", "--all", "--json").rows
        #expect(rows.first { $0["id"] == 1 }?["state"] == "paused")
        #expect(rows.first { $0["id"] == 2 }?["waitingFor"][0]["reason"] == "earliestBegin")
    }

    @Test func watchSaysThatThereIsNothing() async throws {
        let home = try LonghaulHome()
        let none = try await home.run("watch")
        #expect(none.status == 0 && none.errors == "longhaul: no transfer runs or waits\n")
        _ = try await home.run("enqueue", "http://127.0.0.1:9/a")
        _ = try await home.run("pause", "1")
        let paused = try await home.run("watch")
        #expect(paused.errors.contains("1 paused (`longhaul resume --all`)"), "\(paused)")
    }
}
