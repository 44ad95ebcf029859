import Foundation
import LonghaulTestSupport
import Testing

/// `kill -9` during uploads: the server's file is right in the end, nothing is left open there, and
/// no more is sent again than the kernel had taken.
@Suite(
    .serialized, .timeLimit(.minutes(30)),
    .enabled(if: UploadServer.isInstalled, "skipped: no python3"))
struct UploadKillTests {
    /// Bytes that a kill may cost.
    static let lossPerKill = 1 << 20

    @Test(arguments: ["tus", "ietf"])
    func littleIsSentAgain(_ way: String) async throws {
        let environment = ProcessInfo.processInfo.environment
        let rounds = environment["LONGHAUL_KILL_ROUNDS"].flatMap { Int($0) } ?? 2
        let mebibytes = environment["LONGHAUL_KILL_MEBIBYTES"].flatMap { Int($0) } ?? 8
        var random = SeededRandom.fromEnvironment()
        let server = try await UploadServer.start()
        let home = try LonghaulHome()
        var (kills, files) = (0, 0)
        while kills < rounds {
            files += 1
            let name = "a\(files)"
            let before = try server.bytes
            let source = Representation(size: mebibytes << 20, seed: UInt64(files))
            try source.write(to: home.file(name))
            // Slow enough for all the kills to fall into the upload.
            let limit = "\(max(1, mebibytes * 3 / rounds))M"
            let enqueued = try await home.run(
                "upload", "--protocol", way, "--limit-rate", limit, name,
                server.url("\(way)/\(name)"))
            #expect(enqueued.status == 0, "\(enqueued.errors)")
            var own = 0
            while kills + own < rounds {
                let engine = try home.start("run")
                try? await Task.sleep(for: .milliseconds(Int.random(in: 20...400, using: &random)))
                if !engine.isRunning { break }
                engine.send(SIGKILL)
                if case .signalled = try await engine.wait().ending { own += 1 }
            }
            kills += own
            let last = try await home.start(["run"]).wait(within: .seconds(240))
            #expect(last.status == 0, "\(last.errors)")
            try source.verify(file: server.file(name))
            #expect(try server.leftOpen.isEmpty)
            let sent = try server.bytes - before
            #expect(sent >= source.size)
            #expect(sent <= source.size + own * Self.lossPerKill, "\(own) kills")
            print("kills: upload over \(way): \(own) kills, \(sent - source.size) bytes sent again")
            unlink(home.file(name))
            unlink(server.file(name))
        }
    }
}
