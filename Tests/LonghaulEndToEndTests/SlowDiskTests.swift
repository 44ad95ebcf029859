import Foundation
import LonghaulTestSupport
import Testing

/// One slow disk does not slow down what goes to others.
@Suite(.timeLimit(.minutes(2)), .enabled(if: Strace.isInstalled, "skipped: no strace"))
struct SlowDiskTests {
    @Test func othersGoOnBesideASlowDisk() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            // Half a minute's worth for the disk that it goes to.
            let slow = server.url("slow?size=10M&seed=1&etag=v1")
            let fast = server.url("fast?size=64M&seed=2&etag=v1")
            for url in [slow, fast] {
                let enqueue = try await home.run("enqueue", "--no-start", "-d", home.file(""), url)
                #expect(enqueue.status == 0)
            }
            let part = home.file(".slow.1.longhaul-part")
            let run = try home.through(
                Strace.inject("pwrite64", "delay_enter=50000", on: part)
            ).start("run")
            try await eventually(within: .seconds(60), "the fast one is there") {
                FileManager.default.fileExists(atPath: home.file("fast"))
            }
            let rows = try await home.run("show", "--json", "1").rows
            let done = try #require(rows.first?["bytesDone"].int)
            #expect(0 < done && done < 4 << 20, "\(done) bytes went to the slow one first")
            try server.expected(fast).verify(file: home.file("fast"))
            run.sendToGroup(SIGKILL)
        }
    }
}
