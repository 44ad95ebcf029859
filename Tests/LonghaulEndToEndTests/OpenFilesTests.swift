import Foundation
import LonghaulTestSupport
import Testing

/// A process may have so many files open and no more: transfers wait for that, and never fail for
/// it.
@Suite(
    .serialized, .timeLimit(.minutes(10)),
    .enabled(if: Strace.isInstalled, "skipped: no strace"))
struct OpenFilesTests {
    /// What has come waits for the disk with its file open. Small files come faster than a slow
    /// disk takes them.
    @Test func aSlowDiskHoldsBackWhatWouldWaitForIt() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let urls = (1...600).map { server.url("\($0).bin?size=2K&seed=\($0)") }
            try urls.joined(separator: "\n").write(
                toFile: home.file("urls"), atomically: true, encoding: .utf8)
            #expect(
                try await home.run("enqueue", "--no-start", "--input", home.file("urls")).status
                    == 0)
            let slow = home.through(
                [InstalledProgram.find("prlimit") ?? "", "--nofile=128:128"]
                    + Strace.inject("syncfs,fdatasync", "delay_exit=150000"))
            let run = try await slow.start("run").wait(within: .seconds(120))
            #expect(run.status == 0, "\(run.errors)")
            let status = try #require(try await home.run("status", "--json").rows.first)
            #expect(status["counts"]["completed"].int == 600, "\(status)")
            // None had to be tried again for want of a descriptor.
            for url in urls { #expect(server.log.requests(for: url).count == 1) }
        }
    }

    @Test func oneThatCannotBeOpenedIsTriedAgain() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=2K&seed=1")
            let short = home.through(
                // By its name in the directory that is open.
                Strace.inject("openat2", "error=EMFILE:when=1", on: [".a.bin.1.longhaul-part"]))
            let result = try await short.run("get", "-q", url, "-o", home.file("a.bin"))
            #expect(result.status == 0, "\(result.errors)")
            try server.expected(url).verify(file: home.file("a.bin"))
        }
    }
}
