import Foundation
import LonghaulTestSupport
import Testing

/// Transfers that begin after others (`--after`).
@Suite(.timeLimit(.minutes(60))) struct AfterTests {
    /// The end of the others is not lost, though the engine is killed in between.
    @Test func aTransferBeginsWhenOthersHaveCompleted() async throws {
        let jobs = try JobHome()
        try await LoopbackServer.run { server in
            try await jobs.run(
                "enqueue", server.url("a.bin?size=1K"), "-o", jobs.home.file("a.bin"))
            try await jobs.run(
                "enqueue", server.url("b.bin?size=2M&seed=3&etag=v1&stall=1M"), "-o",
                jobs.home.file("b.bin"), "--connections", "1")
            try await jobs.run(
                "enqueue", server.url("c.bin?size=3K"), "-o", jobs.home.file("c.bin"), "--after",
                "1", "--after", "2")
            let killed = try jobs.home.start("daemon")
            try await eventually("it waits for the second") {
                let waits = try await jobs.run("show", "3", "--json").rows.first?["waitingFor"]
                return waits?[0]["required"] == "2" && waits?[0]["reason"] == "transfers"
            }
            try await jobs.run("remove", "1")
            try await jobs.end(killed, by: SIGKILL)
            let why = try await jobs.run("why", "3").output
            #expect(why.contains("needs 2: 2 is waiting"), "\(why)")
            #expect(why.contains("the end of other transfers"), "\(why)")
            let line = try await jobs.run("show", "3", "--json").rows.first
            #expect(line?["options"]["after"].items == [1, 2])
            let engine = try jobs.home.start("daemon")
            server.goOn()
            try await eventually("it has completed") {
                try await jobs.run("show", "3", "--json").rows.first?["state"] == "completed"
            }
            let other = try await jobs.run("show", "2", "--json").rows.first
            let own = try await jobs.run("show", "3", "--json").rows.first
            let ended = try #require(other?["finishedAt"].string)
            #expect(try ended <= #require(own?["startedAt"].string))
            try await jobs.end(engine)
        }
    }

    @Test func oneThatDoesNotCompleteFailsThoseThatWait() async throws {
        let jobs = try JobHome()
        try await LoopbackServer.run { server in
            func add(_ name: String, _ options: String..., status: Int32 = 0) async throws {
                let words = ["enqueue", server.url(name), "-d", jobs.home.scratch("files")]
                let result = try await jobs.home.start(words + options).wait()
                #expect(result.status == status, "\(result.errors)")
            }
            func state(_ id: String) async throws -> String? {
                try await jobs.run("show", id, "--json").rows.first?["state"].string
            }
            try await add("a?status=404&size=1")
            try await add("b?size=1K", "--after", "1")
            try await add("c?size=2K", "--after", "2")
            try await add("d?size=3K", "--after", "1", "--after-any")
            try await jobs.run("run", status: 1)
            let failed = try await jobs.run("show", "3", "--json").rows.first
            #expect(failed?["state"] == "failed" && failed?["error"]["code"] == "cancelled")
            let message = failed?["error"]["message"].string ?? ""
            #expect(message.contains("transfer 2, which it waits for, has failed"), "\(message)")
            #expect(try await state("4") == "completed")
            // Refusals record nothing.
            try await add("e?size=1", "--after", "9", status: 4)
            try await add("e?size=1", "--after", "1", status: 5)
            #expect(try await jobs.run("list", "--all", "--json").rows.count == 4)
            try await jobs.run("set", "2", "--after", "2", status: 5)
            // Each waits again when it is retried, here for nothing.
            try await jobs.run("set", "2", "--after", "none")
            try await jobs.run("retry", "2", "3")
            try await jobs.run("run")
            #expect(try await state("2") == "completed")
            #expect(try await state("3") == "completed")
        }
    }
}
