import Foundation
import LonghaulTestSupport
import Testing

/// A process may have so many files open and no more: transfers wait for that, and never fail for
/// it.
@Suite(
    .serialized, .timeLimit(.minutes(60)),
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

    /// As many connections as there are servers would leave nothing for part files.
    @Test func fewAreShared() async throws {
        let home = try LonghaulHome()
        let server = try await LoopbackServer.start(address: "0.0.0.0")
        let urls = (1...300).map { number in
            server.url("\(number).bin?size=2K&seed=\(number)")
                .replacing("127.0.0.1", with: "127.0.1.\(number % 250 + 1)")
        }
        let added = try await home.run(
            "enqueue", "--no-start", "-", input: urls.joined(separator: "\n"))
        #expect(added.status == 0, "\(added.errors)")
        let short = home.through([InstalledProgram.find("prlimit") ?? "", "--nofile=40:40"])
        let run = try await short.run("run", within: .seconds(60))
        #expect(run.status == 0, "\(run.errors)")
        let status = try #require(try await home.run("status", "--json").rows.first)
        #expect(status["counts"]["completed"].int == 300, "\(status)")
        // None had to be tried again for want of a descriptor.
        #expect(server.log.count == 300)
        await server.stop()
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

    /// libcurl makes its handle all the same, and nothing would ever wake it: not a request, not
    /// its end.
    @Test func whatNothingCouldWakeIsNotUsed() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=2K&seed=1")
            let deaf = home.through(Strace.inject("socketpair", "error=EPERM"))
            let result = try await deaf.run("get", "-q", url, "--retries", "0")
            #expect(result.status == 1, "\(result.errors)")
            #expect(result.errors.contains("what wakes it"), "\(result.errors)")
            #expect(try await home.run("get", "-q", server.url("b.bin?size=2K")).status == 0)
        }
    }

    /// However few it may have: it says what is missing, and ends with a status of its own.
    @Test(arguments: [
        ["--nofile=7:7"], ["--nofile=8:8"], ["--nofile=11:11"], ["--nofile=14:14"],
        ["--fsize=4096:4096"],
    ])
    func littleOfAnything(_ limits: [String]) async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let short = home.through([InstalledProgram.find("prlimit") ?? ""] + limits)
            let result = try await short.run(
                "get", "-q", server.url("a.bin?size=2K"), "--retries", "0")
            #expect([1, 2, 73].contains(result.status), "\(result)")
            #expect(result.errors.hasPrefix("longhaul: "), "\(result)")
        }
    }

    @Test func withoutThreads() async throws {
        let home = try LonghaulHome()
        let alone = home.through(Strace.inject("clone,clone3", "error=EAGAIN"))
        let result = try await alone.run("get", "-q", "http://127.0.0.1:9/f")
        #expect(result.status == 2, "\(result)")
        #expect(result.errors.contains("no thread can be started"), "\(result)")
    }
}
