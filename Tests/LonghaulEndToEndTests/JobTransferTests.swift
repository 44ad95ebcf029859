import Foundation
import LonghaulTestSupport
import Testing

/// Jobs that run after transfers.
@Suite(.timeLimit(.minutes(60))) struct JobTransferTests {
    /// A transfer that completes counts, though it is removed, and though the engine is killed.
    @Test func aJobRunsWhenItsTransfersHaveCompleted() async throws {
        let jobs = try JobHome()
        try await LoopbackServer.run { server in
            try await jobs.run(
                "enqueue", server.url("a.bin?size=1K"), "-o", jobs.home.file("a.bin"))
            try await jobs.run(
                "enqueue", server.url("b.bin?size=2M&seed=3&etag=v1&stall=1M"), "-o",
                jobs.home.file("b.bin"), "--connections", "1")
            let made = try await jobs.run(
                "job", "once", "--after", "1", "2", "--env", "D=\(jobs.home.scratch.path)", "--",
                "sh", "-c", "stat -c %s a.bin b.bin")
            #expect(made.output == "job-1\n")
            let killed = try jobs.home.start("daemon")
            try await eventually("the first has completed") {
                try await jobs.run("show", "1", "--json").rows.first?["state"] == "completed"
            }
            try await eventually("it waits for the second") {
                try await jobs.job("job-1")["waitingFor"].items.first?["required"] == "2"
            }
            try await jobs.run("remove", "1")
            try await jobs.end(killed, by: SIGKILL)
            let why = try await jobs.run("job", "why", "job-1").output
            #expect(why.contains("transfers 2; required: 2; now: 2 is waiting;"), "\(why)")
            #expect(why.contains("it begins when these transfers have completed: 2"), "\(why)")
            let engine = try jobs.home.start("daemon")
            server.goOn()
            try await eventually("it has run") {
                try await jobs.job("job-1")["state"] == "ended"
            }
            let job = try await jobs.job("job-1")
            #expect(job["runs"].items.map { $0["result"] } == ["success"])
            #expect(try await jobs.log("job-1") == ["1024", "2097152"])
            // At once, and not with the next look at the store.
            let completed = try await jobs.run("show", "2", "--json").rows.first?["finishedAt"]
            let begin = ISO8601DateFormatter()
            begin.formatOptions = [.withInternetDateTime, .withFractionalSeconds]
            let ended = try #require((completed?.string).flatMap(begin.date))
            let begun = try #require(job["runs"][0]["startedAt"].string.flatMap(begin.date))
            #expect(begun.timeIntervalSince(ended) < 5)
            // Of transfers that have completed, a job waits for nothing.
            try await jobs.run("job", "once", "--name", "k", "--after", "2", "--", "true")
            try await eventually("it runs at once") {
                try await jobs.job("k")["runs"][0]["result"] == "success"
            }
            try await jobs.end(engine)
        }
    }

    /// The end of the job is told, and why.
    @Test func aJobEndsWithATransferThatDoesNotComplete() async throws {
        let jobs = try JobHome()
        try await LoopbackServer.run { server in
            try await jobs.run(
                "enqueue", server.url("a?status=404"), server.url("b?size=1K"), "-d",
                jobs.home.scratch("files"))
            try await jobs.run("job", "once", "--after", "1", "2", "--name", "j", "--", "true")
            let told = try await jobs.run("run", "--json", status: 1)
            #expect(told.errors.contains("job j failed: transfer 1 did not complete"))
            #expect(try told.rows.last?["jobsFailed"] == 1)
            let job = try await jobs.job("j")
            #expect(job["state"] == "ended" && job["after"].items.isEmpty)
            let run = job["runs"][0]
            #expect(run["run"] == .null && run["result"] == "failure")
            #expect(run["missedTransfer"] == 1)
            let why = try await jobs.run("job", "why", "j").output
            #expect(why == "forecast   it has ended: transfer 1 did not complete\n")
            let shown = try await jobs.run("job", "show", "j").output
            #expect(shown.contains("failed: transfer 1 did not complete"), "\(shown)")
            #expect(try await jobs.run("status", "--json").rows.first?["hostsFailed"] == 1)
            let late = try await jobs.run("job", "once", "--after", "1", "--", "true", status: 5)
            #expect(late.errors.contains("longhaul retry 1"), "\(late.errors)")
            try await jobs.run("job", "once", "--after", "9", "--", "true", status: 4)
            // One that is asked for waits for nothing.
            try await jobs.run(
                "enqueue", server.url("c?status=404"), "-o", jobs.home.file("c"), "--earliest",
                "+1h")
            try await jobs.run("job", "once", "--name", "k", "--after", "3", "--", "true")
            try await jobs.run("job", "run", "k")
            try await jobs.run("run")
            #expect(try await jobs.job("k")["runs"][0]["result"] == "success")
        }
    }
}
