import Foundation
import LonghaulTestSupport
import Testing

/// `kill -9` at random moments: the file is right in the end, nobody does anything by hand, and
/// nothing that had been written is fetched again.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct KillTests {
    struct Kind: CustomTestStringConvertible, Sendable {
        var connections: Int
        var isTLS: Bool

        var testDescription: String { "\(connections) connections, \(isTLS ? "TLS" : "plain")" }
    }

    static let kinds = [
        Kind(connections: 1, isTLS: false), Kind(connections: 4, isTLS: false),
        Kind(connections: 1, isTLS: true), Kind(connections: 4, isTLS: true),
    ]

    /// Bytes that a kill may cost: what the kernel had and we had not counted.
    static let lossPerKill = 1 << 20

    /// What was there before a kill is shown after it, although the store knows only the last
    /// checkpoint, and there is still no engine to look.
    @Test func nothingGoesOutOfSight() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            // The answer does not end before the kill, however late that comes.
            let url = server.url("a.bin?size=24M&etag=v1&seed=2&rate=3M&stall=20M")
            let enqueued = try await home.run(
                "enqueue", url, "-o", home.file("a.bin"), "--connections", "1",
                "--stall-timeout", "1h")
            #expect(enqueued.status == 0, "\(enqueued.errors)")
            let engine = try home.start("daemon")
            func show() async throws -> JSONValue {
                try #require(try await home.run("show", "1", "--json").rows.first)
            }
            var before = JSONValue.null
            try await eventually("it moves") {
                before = try await show()
                return before["bytesDone"].int ?? 0 > 1 << 20
            }
            engine.send(SIGKILL)
            _ = try await engine.wait()
            let after = try await show()
            #expect(after["state"] == "waiting")
            for key in ["bytesDone", "bytesFetched"] {
                #expect(after[key].int ?? 0 >= before[key].int ?? .max, "\(key) \(after)")
            }
            server.goOn()
            let last = try await home.start("run").wait()
            #expect(last.status == 0, "\(last.errors)")
            try server.expected(url).verify(file: home.file("a.bin"))
            #expect(try await show()["bytesFetched"].int ?? 0 >= after["bytesFetched"].int ?? .max)
        }
    }

    @Test(
        .enabled(if: NginxServer.isInstalled, "skipped: no nginx"), arguments: kinds)
    func nothingWrittenIsFetchedAgain(_ kind: Kind) async throws {
        let environment = ProcessInfo.processInfo.environment
        let rounds = environment["LONGHAUL_KILL_ROUNDS"].flatMap { Int($0) } ?? 5
        let mebibytes = environment["LONGHAUL_KILL_MEBIBYTES"].flatMap { Int($0) } ?? 96
        var random = SeededRandom.fromEnvironment()
        let root = try Scratch()
        let nginx = try await NginxServer.start(root: root.path)
        let home = try LonghaulHome()
        var tally = Tally()
        // A download that ended early makes room for another, until all kills have happened.
        while tally.kills < rounds {
            tally.files += 1
            let name = "big\(tally.files).bin"
            let file = Representation(size: mebibytes << 20, seed: UInt64(tally.files))
            try file.write(to: root(name))
            let url = kind.isTLS ? nginx.https(name) : nginx.http(name)
            // Slow enough for all the kills to fall into the download.
            let limit = "\(max(1, mebibytes * 3 / rounds))M"
            let enqueued = try await home.run(
                "enqueue", url, "-o", home.file(name), "--connections",
                String(kind.connections), "--cacert", nginx.authority.certificate, "--limit-rate",
                limit)
            #expect(enqueued.status == 0, "\(enqueued.errors)")
            let id = String(tally.files)
            let kills = try await kill(home, most: rounds - tally.kills, &random)
            tally.kills += kills
            let last = try await home.start(["run"]).wait(within: .seconds(240))
            #expect(last.status == 0, "\(last.errors)")
            try file.verify(file: home.file(name))
            let shown = try #require(try await home.run("show", "--json", id).rows.first)
            #expect(shown["state"] == "completed")
            #expect(shown["restarts"] == 0)
            let fetched = try #require(shown["bytesFetched"].int)
            #expect(fetched >= file.size)
            #expect(fetched <= file.size + kills * Self.lossPerKill, "\(kills) kills")
            tally.lost += fetched - file.size
            #expect(try home.scratch.names(in: "files") == [name])
            unlink(home.file(name))
            unlink(root(name))
        }
        #expect(tally.kills == rounds)
        print("kills: \(kind.testDescription): \(tally)")
        await nginx.stop()
    }

    private struct Tally: CustomStringConvertible {
        var kills = 0
        var files = 0
        /// Bytes fetched again, of all files.
        var lost = 0

        var description: String { "\(kills) kills, \(files) files, \(lost) bytes fetched again" }
    }

    /// Kills engines at random moments, until one has ended by itself.
    ///
    /// - Returns: how many.
    private func kill(
        _ home: LonghaulHome, most: Int, _ random: inout SeededRandom
    ) async throws -> Int {
        var kills = 0
        while kills < most {
            let engine = try home.start("run")
            let moment = Duration.milliseconds(Int.random(in: 20...400, using: &random))
            try? await Task.sleep(for: moment)
            if !engine.isRunning { break }
            engine.send(SIGKILL)
            if case .signalled = try await engine.wait().ending { kills += 1 }
        }
        return kills
    }

    /// `get` goes on by itself when the engine that did its work is killed.
    @Test func getTakesOver() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=6M&seed=2&etag=v1&rate=3M")
            let engine = try home.start("daemon")
            try await eventually("the daemon is the engine") {
                try await home.run("status", "--json").rows.first?["engine"]["mode"] == "daemon"
            }
            let get = try home.start("get", "-q", url, "-o", home.file("a.bin"))
            try await server.log.waitForCount(1)
            engine.send(SIGKILL)
            _ = try await engine.wait()
            let result = try await get.wait()
            #expect(result.status == 0, "\(result.errors)")
            try server.expected(url).verify(file: home.file("a.bin"))
        }
    }
}
