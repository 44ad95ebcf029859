import Foundation
import LonghaulTestSupport
import Testing

/// The same URL to the same destination once more: it is the transfer that has not completed.
@Suite(.timeLimit(.minutes(60))) struct RepeatedRequestTests {
    private let home: LonghaulHome

    init() throws {
        home = try LonghaulHome()
    }

    private func ids() async throws -> [Int] {
        try await home.run("list", "--all", "--json").rows.compactMap { $0["id"].int }.sorted()
    }

    private func state(_ id: String) async throws -> String? {
        try await home.run("show", id, "--json").rows.first?["state"].string
    }

    private func failedAt(_ url: String) async throws {
        #expect(try await home.run("get", "-q", url, "-o", "f").status == 1)
    }

    @Test(arguments: [SIGTERM, SIGINT]) func anInterruptedGetGoesOn(signal: Int32) async throws {
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=1M&stall=600K&etag=v1")
            let first = try home.start("get", url, "-o", "f")
            try await eventually("bytes are there") {
                try await home.run("list", "--json").rows.first?["bytesDone"].int ?? 0 > 500 << 10
            }
            first.send(signal)
            _ = try await first.wait()
            server.goOn()
            let second = try await home.run("get", url, "-o", "f")
            #expect(second.status == 0, "\(second)")
            #expect(second.output == home.file("f") + "\n")
            #expect(second.errors.contains("longhaul: 1: recorded already"), "\(second.errors)")
            #expect(try await ids() == [1])
            let requests = server.log.all
            #expect(requests.last?["range"] != nil, "\(requests.count) requests")
        }
    }

    @Test func enqueueTellsTheIdAgain() async throws {
        let words = ["enqueue", "http://127.0.0.1:9/a", "-o", "f"]
        #expect(try await home.start(words).wait().output == "1\n")
        let again = try await home.start(words).wait()
        #expect(again.status == 0 && again.output == "1\n", "\(again)")
        #expect(again.errors == "longhaul: 1: recorded already\n")
        _ = try await home.run("pause", "1")
        let paused = try await home.start(words + ["--json"]).wait()
        #expect(try paused.rows.map { $0["state"] } == ["paused"])
        #expect(
            paused.errors
                == "longhaul: 1: recorded already, and paused; resume with: longhaul resume 1\n")
        for policy in ["fail", "separate"] {
            let refused = try await home.start(words + ["--on-duplicate", policy]).wait()
            #expect(refused.status == 5, "\(policy): \(refused)")
        }
        _ = try await home.run("cancel", "1")
        #expect(try await home.start(words).wait().output == "2\n")
    }

    @Test func whatFailedIsTriedAgain() async throws {
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?status=404")
            try await failedAt(url)
            let again = try await home.run("enqueue", url, "-o", "f")
            #expect(again.status == 0 && again.output == "1\n", "\(again)")
            #expect(try await state("1") == "waiting")
            try await failedAt(url)
            #expect(server.log.all.count == 2)
            #expect(try await ids() == [1])
        }
    }

    /// A refusal further down leaves a failed one failed.
    @Test func aListIsRecordedOnceWholeOrNotAtAll() async throws {
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?status=404")
            try await failedAt(url)
            let list = "\(url)\n  out=f\nhttp://127.0.0.1:9/b\n"
            let torn = try await home.run("enqueue", "-", input: list + "gopher://x/\n")
            #expect(torn.status == 64)
            #expect(try await state("1") == "failed")
            #expect(try await home.run("enqueue", "-", input: list).output == "1\n2\n")
            let again = try await home.run("enqueue", "-", input: list)
            #expect(again.status == 0 && again.output == "1\n2\n", "\(again)")
        }
    }

    // MARK: - resume and retry

    @Test func resumeOfACompletedOneIsNoError() async throws {
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=1K")
            #expect(try await home.run("get", "-q", url, "-o", "f").status == 0)
            let resumed = try await home.run("resume", "1")
            #expect(resumed.status == 0, "\(resumed)")
            #expect(resumed.output == "1 is completed already\n" && resumed.errors.isEmpty)
            let row = try #require(try await home.run("resume", "1", "--json").rows.first)
            #expect(row["state"] == "completed")
            #expect(try await home.run("set", "1", "--priority", "high").status == 5)
        }
    }

    @Test(arguments: ["resume", "retry"]) func whatStillHoldsItIsSaid(verb: String) async throws {
        let home = home.with(["LONGHAUL_CONDITIONS": "power=battery,network=unmetered"])
        _ = try await home.run(
            "enqueue", "http://127.0.0.1:9/a", "-o", "f", "--require", "power")
        _ = try await home.run(verb == "resume" ? "pause" : "cancel", "1")
        let result = try await home.run(verb, "1")
        #expect(result.status == 0)
        #expect(
            result.errors
                == "longhaul: 1: waits: external power; `longhaul now 1` sets that aside\n")
        let json = try await home.run(verb, "1", "--json")
        #expect(json.errors.isEmpty)
    }

    @Test func whatWasReplacedIsLeftOut() async throws {
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?status=404")
            _ = try await home.run("enqueue", url, "-o", "f")
            _ = try await home.run("enqueue", url, "-o", "f", "--on-duplicate", "replace")
            _ = try await home.run("run")
            #expect(try await [state("1"), state("2")] == ["cancelled", "failed"])
            let retried = try await home.run("retry", "--all")
            #expect(retried.output == "1 transfer queued again\n" && retried.status == 0)
            #expect(
                retried.errors
                    == "longhaul: 1: replaced by 2, left out; `longhaul retry 1` tries it again\n")
            #expect(try await [state("1"), state("2")] == ["cancelled", "waiting"])
        }
    }
}
