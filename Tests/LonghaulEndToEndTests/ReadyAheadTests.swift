import Foundation
import LonghaulTestSupport
import Testing

/// Small files are made ready by the dozen before the wire has a place for them.
@Suite(.timeLimit(.minutes(60))) struct ReadyAheadTests {
    /// What comes after them may take long: what was made ready of it does not stand before what is
    /// more urgent.
    @Test func whatIsReadyAheadIsPassedByWhatIsUrgent() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let small = (0..<200).map { server.url("s\($0)?size=1K&seed=\($0)") }
            let slow = (0..<40).map { server.url("b\($0)?size=120K&rate=20K&seed=\($0)") }
            let list = (small + slow).joined(separator: "\n")
            #expect(try await home.run("enqueue", "--no-start", "-", input: list).status == 0)
            let run = try home.start("run")
            try await eventually("only what takes long is left") {
                server.log.all.contains { $0.target.hasPrefix("/f/b") }
            }
            let url = server.url("urgent?size=1K")
            #expect(try await home.run("enqueue", "--priority", "high", url).status == 0)
            #expect(try await home.run("wait", "241").status == 0)
            let asked = server.log.all.map(\.target)
            let before = try #require(asked.firstIndex { $0.hasPrefix("/f/urgent") })
            let passed = asked[..<before].count { $0.hasPrefix("/f/b") }
            #expect(passed < 30, "\(passed) of \(slow.count) went out before it")
            run.send(SIGTERM)
            #expect(try await run.wait().status == 0)
            // What was taken back has made no attempt.
            let waiting = try await home.run("list", "--json", "--state", "waiting").rows
            #expect(waiting.contains { $0["attempts"] == 0 })
        }
    }

    /// Neither is what is ready called running.
    @Test func noMoreRunThanMay() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let small = (0..<200).map { server.url("s\($0)?size=1K&seed=\($0)") }
            let slow = (0..<30).map { server.url("b\($0)?size=60K&rate=30K&seed=\($0)") }
            let list = (small + slow).joined(separator: "\n")
            #expect(try await home.run("enqueue", "--no-start", "-", input: list).status == 0)
            let run = try home.start("run")
            var most = 0
            try await eventually("all have ended") {
                let rows = try await home.run("list", "--json").rows
                let running = rows.count { $0["state"] == "running" }
                most = max(most, running)
                #expect(running <= 16)
                let reasons = rows.filter { $0["state"] == "waiting" }
                    .flatMap { $0["waitingFor"].items }.compactMap { $0["reason"].string }
                #expect(Set(reasons).isSubset(of: ["concurrency", "originLimit", "engine"]))
                let status = try #require(try await home.run("status", "--json").rows.first)
                #expect(status["counts"]["running"].int ?? 0 <= 16)
                return rows.allSatisfy { $0["state"] == "completed" }
            }
            #expect(most > 0)
            #expect(try await run.wait().status == 0)
        }
    }
}
