import Foundation
import LonghaulTestSupport
import Testing

/// `kill -9` at random moments: the file is right in the end, nobody does anything by hand, and
/// nothing that had been written is fetched again.
@Suite(.serialized, .timeLimit(.minutes(30)))
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

    @Test(
        .enabled(if: NginxServer.isInstalled, "skipped: no nginx"), arguments: kinds)
    func nothingWrittenIsFetchedAgain(_ kind: Kind) async throws {
        let environment = ProcessInfo.processInfo.environment
        let rounds = environment["LONGHAUL_KILL_ROUNDS"].flatMap { Int($0) } ?? 5
        let mebibytes = environment["LONGHAUL_KILL_MEBIBYTES"].flatMap { Int($0) } ?? 96
        var random = SeededRandom.fromEnvironment()
        let root = try Scratch()
        let file = Representation(size: mebibytes << 20, seed: 7)
        try file.write(to: root("big.bin"))
        let nginx = try await NginxServer.start(root: root.path)
        let home = try LonghaulHome()
        let url = kind.isTLS ? nginx.https("big.bin") : nginx.http("big.bin")
        // Slow enough for all the kills to fall into the download.
        let limit = "\(mebibytes * 3 / rounds)M"
        let enqueued = try await home.run(
            "enqueue", url, "-o", home.file("big.bin"), "--connections",
            String(kind.connections), "--cacert", nginx.authority.certificate, "--limit-rate",
            limit)
        #expect(enqueued.status == 0, "\(enqueued.errors)")
        var kills = 0
        while kills < rounds {
            let engine = try home.start("run")
            let moment = Duration.milliseconds(Int.random(in: 20...400, using: &random))
            try? await Task.sleep(for: moment)
            if !engine.isRunning { break }
            engine.send(SIGKILL)
            _ = try await engine.wait()
            kills += 1
        }
        let last = try await home.start(["run"]).wait(within: .seconds(120))
        #expect(last.status == 0, "\(last.errors)")
        try file.verify(file: home.file("big.bin"))
        let transfer = try #require(try await home.run("show", "--json", "1").rows.first)
        #expect(transfer["state"] == "completed")
        #expect(transfer["restarts"] == 0)
        let fetched = try #require(transfer["bytesFetched"].int)
        #expect(fetched >= file.size)
        #expect(fetched <= file.size + kills * Self.lossPerKill, "\(kills) kills")
        #expect(try home.scratch.names(in: "files") == ["big.bin"])
        await nginx.stop()
    }

    /// `get` goes on by itself when the engine that did its work is killed.
    @Test func getTakesOver() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=6M&seed=2&etag=v1&rate=3M")
            let engine = try home.start("daemon")
            try await eventually(within: .seconds(10), "the daemon is the engine") {
                try await home.run("status", "--json").rows.first?["engine"]["mode"] == "daemon"
            }
            let get = try home.start("get", "-q", url, "-o", home.file("a.bin"))
            try await server.log.waitForCount(1, within: .seconds(10))
            engine.send(SIGKILL)
            _ = try await engine.wait()
            let result = try await get.wait(within: .seconds(30))
            #expect(result.status == 0, "\(result.errors)")
            try server.expected(url).verify(file: home.file("a.bin"))
        }
    }
}
