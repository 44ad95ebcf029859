import Foundation
import LonghaulTestSupport
import Testing

/// Others work where the part files are: another queue, a backup, whoever cuts files off.
@Suite(.timeLimit(.minutes(60))) struct SharedDirectoryTests {
    private static let knobs = "size=4M&etag=v1&stall=2M&stalls=1"
    private static let part = ".a.bin.1.longhaul-part"

    /// Both count their transfers from one.
    @Test func twoQueuesFetchOneNameAtATime() async throws {
        let (home, other) = (try LonghaulHome(), try LonghaulHome())
        try await LoopbackServer.run { server in
            let urls = ["a?seed=5&\(Self.knobs)", "b?seed=6&\(Self.knobs)"].map { server.url($0) }
            let file = home.file("a.bin")
            let first = try get(home, urls[0], file)
            try await holdsBytes(home, Self.part)
            let second = try get(other, urls[1], file)
            try await eventually("both have bytes") {
                let names = try home.scratch.names(in: "files")
                return names.count == 2
                    && names.allSatisfy { home.scratch.size(of: "files/\($0)") ?? 0 >= 2 << 20 }
            }
            server.goOn()
            for get in [first, second] { #expect(try await get.wait().status == 0) }
            #expect(try home.scratch.names(in: "files") == ["a (1).bin", "a.bin"])
            let isSwapped = (try? server.expected(urls[0]).verify(file: file)) == nil
            try server.expected(urls[isSwapped ? 1 : 0]).verify(file: file)
            try server.expected(urls[isSwapped ? 0 : 1]).verify(file: home.file("a (1).bin"))
            for url in urls { #expect(server.log.requests(for: url).count == 1) }
        }
    }

    @Test func whatAnotherQueueHasPausedIsLeftAlone() async throws {
        let (home, other) = (try LonghaulHome(), try LonghaulHome())
        try await LoopbackServer.run { server in
            let url = server.url("a?seed=5&\(Self.knobs)")
            try await stop(home, get(home, url, home.file("a.bin")))
            let theirs = server.url("b?size=1M&seed=6")
            let result = try await get(other, theirs, home.file("a.bin")).wait()
            #expect(result.status == 0, "\(result.errors)")
            try server.expected(theirs).verify(file: home.file("a.bin"))
            try await goesOn(home, server, url, to: "a (1).bin", from: 2 << 20)
        }
    }

    /// What a backup makes of it (`cp -al`) is no other file.
    @Test func aPartFileThatWasLinkedKeepsItsBytes() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url("a?seed=5&\(Self.knobs)")
            try await stop(home, get(home, url, home.file("a.bin")))
            let backup = home.scratch("backup")
            #expect(link(home.file(Self.part), backup) == 0)
            try await goesOn(home, server, url, to: "a.bin", from: 2 << 20)
        }
    }

    /// It is soon as long as before, with zeros where bytes were.
    @Test(arguments: [0, 1 << 20, 1_000_001])
    func aPartFileThatIsCutOffWhileItIsWrittenIsNotPublished(at size: Int) async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url("a?seed=5&\(Self.knobs)")
            let get = try get(home, url, home.file("a.bin"))
            try await holdsBytes(home, Self.part)
            #expect(truncate(home.file(Self.part), off_t(size)) == 0)
            server.goOn()
            let result = try await get.wait()
            #expect(result.status == 1 && result.errors.contains("cut off"), "\(result.errors)")
            // What follows is zeros, from within a block on. What a checkpoint has recorded before
            // may be kept: a busy machine takes one.
            #expect(try home.scratch.names(in: "files").allSatisfy { $0 == Self.part })
            try await goesOn(home, server, url, to: "a.bin", from: nil)
        }
    }

    /// Where no name can be claimed by a rename, a crash may leave the file with two.
    @Test(
        .enabled(if: Strace.isInstalled, "skipped: no strace"), arguments: [true, false])
    func aFileThatWasGivenItsNameByALinkLosesItsPartName(isKilled: Bool) async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url("a?size=1M&seed=5&etag=v1")
            let without = Strace.inject("renameat2,unlinkat", "error=EINVAL")
            let and = isKilled ? "delay_enter=60000000" : "error=EIO"
            let get = try home.through(without + ["-e", "inject=unlinkat:\(and)"])
                .start("get", url, "-o", home.file("a.bin"))
            try await eventually("it has its name") {
                FileManager.default.fileExists(atPath: home.file("a.bin"))
            }
            if isKilled { get.sendToGroup(SIGKILL) }
            _ = try await get.wait()
            #expect(try home.scratch.names(in: "files") == [Self.part, "a.bin"])
            if !isKilled { _ = try await home.run("retry", "1") }
            #expect(try await home.run("run").status == 0)
            #expect(try home.scratch.names(in: "files") == ["a.bin"])
            let state = try await home.run("show", "1", "--json").rows.first?["state"]
            #expect(state == "completed")
        }
    }

    /// Whoever comes next can still open what the queue has.
    @Test func aUmaskLeavesTheQueueUsable() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let strict = home.through(["/bin/sh", "-c", "umask 0277; exec \"$@\"", "sh"])
            let url = server.url("a?size=1M&seed=5&stall=512K&stalls=1")
            let get = try strict.start("get", url, "-o", home.file("a.bin"))
            try await server.log.waitForBytes(512 << 10)
            for directory in [home.state, home.file("")] {
                for name in try FileManager.default.contentsOfDirectory(atPath: directory) {
                    var facts = stat()
                    #expect(lstat(directory + "/" + name, &facts) == 0)
                    guard facts.st_mode & S_IFMT == S_IFREG else { continue }
                    #expect(facts.st_mode & 0o600 == 0o600, "\(name)")
                }
            }
            server.goOn()
            #expect(try await get.wait().status == 0)
        }
    }

    // MARK: -

    private func get(_ home: LonghaulHome, _ url: String, _ file: String) throws -> CLIProcess {
        try home.start(
            "get", url, "-o", file, "--if-exists", "rename", "--connections", "1")
    }

    private func holdsBytes(_ home: LonghaulHome, _ part: String) async throws {
        try await eventually("\(part) has its first bytes") {
            home.scratch.size(of: "files/\(part)") ?? 0 >= 2 << 20
        }
    }

    private func stop(_ home: LonghaulHome, _ get: CLIProcess) async throws {
        try await holdsBytes(home, Self.part)
        get.send(SIGINT)
        _ = try await get.wait()
    }

    /// To the right end, from the bytes that were kept.
    private func goesOn(
        _ home: LonghaulHome, _ server: LoopbackServer, _ url: String, to name: String,
        from kept: Int?
    ) async throws {
        #expect(try await home.run("resume", "1").status == 0)
        #expect(try await home.run("run").status == 0)
        try server.expected(url).verify(file: home.file(name))
        let range = server.log.requests(for: url).last?["Range"]
        #expect(range == kept.map { "bytes=\($0)-" } || kept == nil)
    }
}
