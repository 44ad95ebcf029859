import Foundation
import LonghaulTestSupport
import Testing

/// What a newcomer does: several files at once, the same again, a wrong digest, lists.
@Suite(.timeLimit(.minutes(60))) struct NewcomerTests {
    private let home: LonghaulHome

    init() throws { home = try LonghaulHome() }

    private func names() throws -> [String] { try home.scratch.names(in: "files").sorted() }

    @Test func whatExistsIsPassedOver() async throws {
        try home.scratch.write("mine", to: "files/b")
        try await LoopbackServer.run { server in
            let urls = ["a", "b", "c"].map { server.url("\($0)?size=1K") }
            let result = try await home.start(["get", "-q"] + urls).wait()
            #expect(result.status == 5, "\(result)")
            #expect(result.output.split(separator: "\n").count == 2)
            #expect(result.errors.contains(home.file("b")))
            #expect(try names() == ["a", "b", "c"])
            #expect(try home.scratch.text(of: "files/b") == "mine")
        }
    }

    /// A usage error still records nothing, and a failure counts before what exists.
    @Test func otherErrorsAreAsBefore() async throws {
        try home.scratch.write("mine", to: "files/b")
        try await LoopbackServer.run { server in
            let good = server.url("a?size=1K")
            #expect(try await home.run("get", "-q", good, "gopher://h/x").status == 64)
            #expect(try names() == ["b"])
            let failing = server.url("x?status=404")
            let mixed = try await home.run("get", "-q", failing, server.url("b?size=1K"))
            #expect(mixed.status == 1)
        }
    }

    /// The same command again has nothing to do, as long as the file is what it was.
    @Test(
        arguments: [
            "same", "longer", "otherURL", "digest", "overwrite", "written", "replaced", "touched",
            "proven", "user", "header",
        ])
    func theSameAgain(how: String) async throws {
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=1K&seed=1")
            let digest = "sha256:\(Representation(size: 1024, seed: 1).sha256)"
            let first =
                ["get", "-q", url, "-o", "f"] + (how == "proven" ? ["--checksum", digest] : [])
            #expect(try await home.start(first).wait().status == 0)
            var again = ["get", url, "-o", "f"]
            switch how {
            case "written", "replaced":
                // Of the same length.
                let name = how == "written" ? "f" : "g"
                let other = Data(repeating: 7, count: 1024)
                let path = home.file(name)
                if how == "replaced" { try other.write(to: URL(fileURLWithPath: path)) }
                let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
                try file.write(contentsOf: other)
                try file.close()
                if how == "replaced" { #expect(rename(path, home.file("f")) == 0) }
            case "touched", "proven":
                #expect(utimensat(AT_FDCWD, home.file("f"), nil, 0) == 0)
                if how == "proven" { again += ["--checksum", digest] }
            case "user": again += ["--user", "me:p"]
            case "header": again += ["--header", "Accept: text/plain"]
            case "longer":
                let file = try FileHandle(forWritingTo: URL(fileURLWithPath: home.file("f")))
                try file.seekToEnd()
                try file.write(contentsOf: Data("x".utf8))
                try file.close()
            case "otherURL": again[1] = server.url("a.bin?size=1K&seed=2")
            case "digest": again += ["--checksum", "md5:\(String(repeating: "0", count: 32))"]
            case "overwrite": again += ["--if-exists", "overwrite"]
            default: break
            }
            let requests = server.log.all.count
            let result = try await home.start(again).wait()
            let isComplete = how == "same" || how == "proven"
            let isDone = isComplete || how == "overwrite"
            #expect(result.status == (isDone ? 0 : 5), "\(result)")
            #expect(result.errors.contains("already complete") == isComplete)
            #expect((result.output == home.file("f") + "\n") == isDone)
            #expect((server.log.all.count > requests) == (how == "overwrite"))
            if how == "same" {
                let row = try #require(
                    try await home.start(again + ["--json"]).wait().rows.first)
                #expect(row["state"] == "completed" && row["id"] == 1)
            }
        }
    }

    @Test func oneBadFileIsKept() async throws {
        let wrong = "sha256:" + String(repeating: "0", count: 64)
        try await LoopbackServer.run { server in
            let url = server.url("f?size=1K&etag=v1")
            for _ in 1...2 {
                let result = try await home.run("get", "-q", "--checksum", wrong, url)
                #expect(result.status == 1 && result.errors.contains("f.longhaul-bad"))
                #expect(try names() == ["f.longhaul-bad"])
            }
            let again = try await home.run("get", url)
            #expect(again.status == 0, "\(again)")
            #expect(again.errors.contains("without its checksum"))
            #expect(try names() == ["f"])
        }
    }

    @Test(arguments: [["remove", "1"], ["rm", "1"], ["clean", "--older-than", "0s"]])
    func theBadFileGoesWithItsTransfer(command: [String]) async throws {
        let wrong = "md5:" + String(repeating: "0", count: 32)
        try await LoopbackServer.run { server in
            _ = try await home.run("get", "-q", "--checksum", wrong, server.url("f?size=1K"))
            #expect(try names() == ["f.longhaul-bad"])
            #expect(try await home.start(command).wait().status == 0)
            #expect(try names() == [])
        }
    }

    /// Whatever became of it: without a byte there is no part file.
    @Test(arguments: ["404", "503", "refused"]) func nothingIsLeftLyingAbout(
        how: String
    ) async throws {
        try await LoopbackServer.run { server in
            let url = how == "refused" ? "http://127.0.0.1:1/f" : server.url("f?status=\(how)")
            _ = try await home.run("get", "-q", "--retries", "0", url)
            #expect(try names() == [])
        }
    }

    /// Bytes that have come are kept.
    @Test func whatHasComeIsKept() async throws {
        try await LoopbackServer.run { server in
            let url = server.url("f?size=1M&etag=v1&cut=300K&cuts=9")
            _ = try await home.run("get", "-q", "--retries", "0", url)
            let row = try #require(try await home.run("show", "1", "--json").rows.first)
            #expect(try names().count == ((row["bytesDone"].int ?? 0) > 0 ? 1 : 0))
        }
    }

    @Test(arguments: ["-i", "--input", "-"]) func getTakesLists(way: String) async throws {
        try await LoopbackServer.run { server in
            let list = server.url("a?size=1K") + "\n" + server.url("b?size=1K") + "\n  out=c\n"
            try home.scratch.write(list, to: "files/list")
            let words = way == "-" ? ["get", "-q", "-"] : ["get", "-q", way, "list"]
            let result = try await home.start(words, input: way == "-" ? list : nil).wait()
            #expect(result.status == 0, "\(result)")
            #expect(try names() == ["a", "c", "list"])
        }
    }

    @Test func wordsOfOtherPrograms() async throws {
        try await LoopbackServer.run { server in
            let url = server.url("f?size=1K&needheader=X-A:%20b")
            #expect(try await home.run(url, "-q", "-c", "-H", "X-A: b").status == 0)
            let option = try await home.run("get", "-x4", url)
            #expect(option.status == 64 && option.errors.contains("--connections 4"))
            let command = try await home.run("downlaod", url)
            #expect(command.status == 64 && command.errors.contains("longhaul get"))
        }
    }

    @Test func watchEndsWithTheLast() async throws {
        try await LoopbackServer.run { server in
            _ = try await home.run("enqueue", server.url("f?size=1M&stall=300K&etag=v1"))
            let engine = try home.start("run")
            try await server.log.waitForBytes(300 << 10)
            let watch = try home.start("watch")
            server.goOn()
            let result = try await watch.wait()
            #expect(result.status == 0, "\(result)")
            _ = try await engine.wait()
            #expect(try await home.run("watch").status == 0)
        }
    }

    @Test(arguments: ["bash", "zsh", "fish"]) func completion(shell: String) async throws {
        let result = try await home.run("completion", shell)
        #expect(result.status == 0 && result.output.contains("longhaul"))
        #expect(try await home.run("completion", "tcsh").status == 64)
    }

    /// As the scripts of the shells ask.
    @Test func idsAreCandidates() async throws {
        _ = try await home.run("enqueue", "http://127.0.0.1:1/a", "--session", "photos")
        for command in ["show", "why", "remove", "pause"] {
            let result = try await home.run(
                "---completion", command, "--", "positional@0", "2", "0", "longhaul", command, "")
            #expect(result.output == "1\n", "\(command): \(result)")
        }
        let sessions = try await home.run(
            "---completion", "list", "--", "--session", "3", "0", "longhaul", "list", "--session",
            "")
        #expect(sessions.output.contains("photos"), "\(sessions)")
    }

    /// A terminal around a command, which shows what it prints.
    private static let terminal = [
        "/usr/bin/env", "python3", "-c",
        "import os,pty,sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))",
    ]

    /// Without a terminal it is the whole help, as ever.
    @Test func withoutArgumentsTheQueueIsShown() async throws {
        let terminal = home.through(Self.terminal)
        let empty = try await terminal.start([]).wait()
        #expect(empty.status == 0 && empty.output.contains("nothing is queued"), "\(empty)")
        #expect(empty.output.contains("longhaul get URL"))
        #expect(empty.output.split(separator: "\n").count <= 10)
        _ = try await home.run("enqueue", "http://127.0.0.1:1/a", "--earliest", "+1h", "--no-start")
        let one = try await terminal.start([]).wait()
        #expect(one.output.contains("transfers: 1 waiting; no engine runs"), "\(one)")
        #expect(try await home.run().output.contains("OVERVIEW"))
    }

    /// A user is told once, and only where an engine would have to be started.
    @Test func aRebootIsMentionedOnce() async throws {
        let terminal = home.with(["LONGHAUL_AUTOSTART": "1"]).through(Self.terminal)
        let words = ["enqueue", "http://127.0.0.1:1/a", "--deadline", "1s"]
        let quiet = try await home.start(words + ["-o", "x"]).wait()
        #expect(!quiet.errors.contains("install"))
        let first = try await terminal.start(words).wait()
        #expect(first.output.contains("longhaul install"), "\(first)")
        let second = try await terminal.start(words + ["-o", "b"]).wait()
        #expect(!second.output.contains("longhaul install"))
        try await eventually {
            try await home.run("status", "--json").rows.first?["engine"] == .null
        }
    }
}
