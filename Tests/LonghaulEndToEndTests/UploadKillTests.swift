import Foundation
import LonghaulTestSupport
import Testing

/// `kill -9` during uploads: the server's file is right in the end, nothing is left open there, and
/// no more is sent again than the kernel had taken, or the parts of S3 that were under way.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct UploadKillTests {
    /// How a kill test is to run.
    private struct Plan {
        let rounds: Int
        let bytes: Int
        /// Bytes that a kill may cost.
        let lossPerKill: Int
        /// Of `--limit-rate`: slow enough for all the kills to fall into the upload.
        let rate: String

        /// - Parameters:
        ///   - mebibytes: unless `LONGHAUL_KILL_MEBIBYTES` says otherwise.
        ///   - speed: how many times a round's share of the file goes over the wire meanwhile.
        init(mebibytes: Int, speed: Int, lossPerKill: Int) {
            let environment = ProcessInfo.processInfo.environment
            let size = environment["LONGHAUL_KILL_MEBIBYTES"].flatMap { Int($0) } ?? mebibytes
            rounds = environment["LONGHAUL_KILL_ROUNDS"].flatMap { Int($0) } ?? 2
            bytes = size << 20
            rate = "\(max(1, size * speed / rounds))M"
            self.lossPerKill = lossPerKill
        }
    }

    /// A server, and what is asked of it and of the command.
    private struct Site {
        let name: String
        let options: [String]
        let url: (String) -> String
        /// Body bytes of all requests so far.
        let sent: () throws -> Int
        /// Checks what has arrived under a name, and that nothing is left open.
        let verify: (String, Representation) async throws -> Void
    }

    @Test(
        .enabled(if: UploadServer.isInstalled, "skipped: no python3"), arguments: ["tus", "ietf"])
    func littleIsSentAgain(_ way: String) async throws {
        let server = try await UploadServer.start()
        let site = Site(
            name: way, options: ["--protocol", way], url: { server.url("\(way)/\($0)?options=1") },
            sent: { try server.bytes }
        ) { name, source in
            try source.verify(file: server.file(name))
            #expect(try server.leftOpen.isEmpty)
            unlink(server.file(name))
        }
        let plan = Plan(mebibytes: 8, speed: 3, lossPerKill: 1 << 20)
        try await kill(plan, try LonghaulHome(), site)
    }

    @Test(.needsPythonServers) func ofS3OnlyPartsUnderWayAreSentAgain() async throws {
        let server = try await S3Server.start()
        let part = 5 << 20
        let site = Site(
            name: "S3", options: ["--part-size", "5M"], url: server.url, sent: { try server.bytes }
        ) { name, source in
            let content = try await server.content
            #expect(
                content.objects[name]
                    == S3Server.Object(
                        sha256: source.sha256, parts: (source.size + part - 1) / part))
            // One that was created in the very moment of a kill has no parts: nobody knows of it.
            #expect(content.open.allSatisfy { $0.parts == 0 }, "\(content.open)")
        }
        // Fast enough for parts to arrive whole between kills; at most four are under way.
        let plan = Plan(mebibytes: 24, speed: 12, lossPerKill: 1 << 20 + 4 * part)
        try await kill(plan, try LonghaulHome().with(server.environment), site)
    }

    private func kill(_ plan: Plan, _ home: LonghaulHome, _ site: Site) async throws {
        var random = SeededRandom.fromEnvironment()
        var (kills, files) = (0, 0)
        while kills < plan.rounds {
            files += 1
            let name = "a\(files)"
            let before = try site.sent()
            let source = Representation(size: plan.bytes, seed: UInt64(files))
            try source.write(to: home.file(name))
            let words = ["upload", "--limit-rate", plan.rate, name, site.url(name)] + site.options
            let enqueued = try await home.start(words).wait()
            #expect(enqueued.status == 0, "\(enqueued.errors)")
            var own = 0
            while kills + own < plan.rounds {
                let engine = try home.start("run")
                try? await Task.sleep(for: .milliseconds(Int.random(in: 20...400, using: &random)))
                if !engine.isRunning { break }
                engine.send(SIGKILL)
                if case .signalled = try await engine.wait().ending { own += 1 }
            }
            kills += own
            let last = try await home.start(["run"]).wait(within: .seconds(240))
            #expect(last.status == 0, "\(last.errors)")
            try await site.verify(name, source)
            let sent = try site.sent() - before
            #expect(sent >= source.size)
            #expect(sent <= source.size + own * plan.lossPerKill, "\(own) kills")
            let again = sent - source.size
            print("kills: upload over \(site.name): \(own) kills, \(again) bytes sent again")
            unlink(home.file(name))
        }
    }
}
