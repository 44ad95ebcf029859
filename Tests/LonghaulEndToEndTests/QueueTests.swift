import Foundation
import LonghaulTestSupport
import Testing

/// The queue as several processes use it at once, and the exit codes that scripts rely on.
@Suite(.timeLimit(.minutes(60))) struct QueueTests {
    @Test func twoEnginesNeverRun() async throws {
        let home = try LonghaulHome()
        let first = try home.start("daemon")
        try await eventually("an engine runs") {
            try await home.run("status", "--json").rows.first?["engine"]["pid"] != nil
        }
        let second = try await home.run("run", "--json")
        #expect(second.status == 0)
        #expect(try second.rows.last?["stoppedBy"] == "busy")
        first.send(SIGTERM)
        #expect(try await first.wait().status == 0)
    }

    /// What the store calls running waits for the next engine, wherever it is shown.
    @Test func whatADeadEngineLeftWaits() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            _ = try await home.run("enqueue", server.url("a.bin?size=1M&stall=10K"))
            let engine = try home.start("run")
            func ids(_ state: String) async throws -> [JSONValue] {
                try await home.run("list", "--json", "--state", state).rows.map { $0["id"] }
            }
            try await eventually("it runs") { try await ids("running") == [1] }
            #expect(try await ids("waiting").isEmpty)
            engine.send(SIGKILL)
            _ = try await engine.wait()
            let status = try #require(try await home.run("status", "--json").rows.first)
            let counts = status["counts"]
            #expect(counts["waiting"] == 1 && counts["running"].int ?? 0 == 0, "\(status)")
            #expect(try await ids("running").isEmpty)
            #expect(try await ids("waiting") == [1])
            let limited = try await home.run(
                "list", "--json", "--state", "waiting", "--limit", "5")
            #expect(try limited.rows.count == 1)
        }
    }

    /// Removed before `get` has looked: it knows of no good end, and says so.
    @Test func whatWasRemovedMeanwhileIsNoSuccess() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let engine = try home.start("daemon")
            let get = try home.start("get", server.url("a.bin?size=1M&stall=10K"))
            try await eventually("it runs") {
                try await home.run("list", "--json").rows.first?["state"] == "running"
            }
            get.send(SIGSTOP)
            _ = try await home.run("cancel", "1")
            #expect(try await home.run("wait", "1").status == 1)
            #expect(try await home.run("remove", "1").status == 0)
            get.send(SIGCONT)
            let result = try await get.wait()
            #expect(result.status == 4 && result.output.isEmpty, "\(result)")
            #expect(
                result.errors.hasSuffix(
                    "longhaul: 1: it was removed while it was waited for\n"))
            engine.send(SIGTERM)
            _ = try await engine.wait()
        }
    }

    /// What was received before the first checkpoint stands nowhere but on the engine's board.
    @Test func cancellingTakesNothingOffWhatWasReceived() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let engine = try home.start("daemon")
            _ = try await home.run("enqueue", server.url("a.bin?size=1M&stall=300K"))
            var seen = 0
            try await eventually("bytes are received") {
                seen = try await home.run("show", "1", "--json").rows[0]["bytesFetched"].int ?? 0
                return seen > 0
            }
            let cancelled = try await home.run("cancel", "1", "--json").rows[0]
            #expect(cancelled["state"] == "cancelled")
            #expect(try #require(cancelled["bytesFetched"].int) >= seen)
            engine.send(SIGTERM)
            _ = try await engine.wait()
        }
    }

    /// Eight processes at once: every id that was printed is there, in the state that was asked for
    /// last.
    @Test func eightProcessesLoseNothing() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let engine = try home.start("daemon")
            let ids = try await withThrowingTaskGroup(of: (Int, String).self) { group in
                for number in 0..<8 {
                    // Those that are to be stopped never end by themselves.
                    let pace = number % 3 == 0 ? "rate=10K" : "stall=5K"
                    let url = server.url("f\(number).bin?size=20K&\(pace)")
                    group.addTask {
                        let result = try await home.run(
                            "enqueue", url, "-o", home.file("f\(number)"))
                        let id = result.output.trimmingCharacters(in: .whitespacesAndNewlines)
                        #expect(result.status == 0, "\(result.errors)")
                        if number % 3 == 1 { _ = try await home.run("pause", id) }
                        if number % 3 == 2 { _ = try await home.run("cancel", id) }
                        return (number, id)
                    }
                }
                return try await group.reduce(into: [Int: String]()) { $0[$1.0] = $1.1 }
            }
            #expect(Set(ids.values).count == 8)
            for number in [0, 3, 6] {
                let wait = try await home.run("wait", try #require(ids[number]))
                #expect(wait.status == 0)
            }
            let states = try await home.run("list", "--json", "--all").rows.reduce(
                into: [String: String]()
            ) { $0[String($1["id"].int ?? 0)] = $1["state"].string }
            for (number, id) in ids {
                #expect(states[id] == ["completed", "paused", "cancelled"][number % 3])
            }
            engine.send(SIGTERM)
            _ = try await engine.wait()
        }
        #expect(try home.scratch.names(in: "files").filter { $0.hasPrefix("f") }.count == 3)
    }

    /// What no request depends on is changed beside what runs: without ranges or validators, off
    /// the wire would mean from the beginning.
    @Test(arguments: [
        ["--priority", "high", "--meta", "{}", "--retries", "3", "--deadline", "2h"],
        ["--limit-rate", "100M", "--stall-timeout", "3m", "--yield", "on", "--connections", "2"],
        ["--max-size", "1M", "--mirror", "http://127.0.0.1:9/f"],
        ["--discretionary", "--prefer", "none"],
    ])
    func whatDoesNotTouchTheWireLeavesItAlone(_ options: [String]) async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url("f?size=1M&stall=512K&noranges")
            let get = try home.start("get", "--json", url, "-o", home.file("f"))
            try await eventually("some bytes") {
                server.log.all.count == 1
            }
            let set = try await home.start(["set", "1"] + options).wait()
            #expect(set.status == 0, "\(set.errors)")
            // Taken up: the inbox is empty again.
            try await eventually("the engine has seen it") {
                try await home.stored("SELECT * FROM intentInbox").isEmpty
            }
            server.goOn()
            let end = try await get.wait()
            #expect(end.status == 0, "\(end.errors)")
            let transfer = try #require(try await home.run("show", "1", "--json").rows.first)
            #expect(transfer["restarts"] == 0)
            #expect(server.log.all.count == 1)
        }
    }

    /// A limit takes effect in the middle of a body.
    @Test func aRateIsSetWhileItRuns() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url("f?size=400K&noranges")
            let get = try home.start(
                "get", "--json", "--limit-rate", "1", url, "-o", home.file("f"))
            try await eventually("the request is out") { server.log.all.count == 1 }
            #expect(try await home.run("set", "1", "--limit-rate", "none").status == 0)
            #expect(try await get.wait().status == 0)
            #expect(server.log.all.count == 1)
        }
    }

    /// What is wanted is recorded; only what follows from it cannot be. An engine does that later,
    /// and nobody waits for it.
    @Test func whatCannotBeSettledIsLeftToAnEngine() async throws {
        let home = try LonghaulHome()
        #expect(try await home.run("enqueue", "http://127.0.0.1:1/a").status == 0)
        _ = try await home.stored(
            """
            CREATE TRIGGER refuse BEFORE UPDATE OF phase ON transfer \
            BEGIN SELECT RAISE(ABORT, 'refused'); END
            """, writing: true)
        let cancel = try await home.run("cancel", "--all", "--json", within: .seconds(20))
        #expect(cancel.status == 0, "\(cancel)")
        #expect(cancel.errors.contains("it is recorded"), "\(cancel)")
        #expect(try cancel.rows.first?["state"] == "cancelled")
        _ = try await home.stored("DROP TRIGGER refuse", writing: true)
        #expect(try await home.run("run").status == 0)
        #expect(try await home.run("list", "--all").output.contains("cancelled"))
    }

    @Test func aBadLineRecordsNothing() async throws {
        let home = try LonghaulHome()
        let input = "http://127.0.0.1:1/a\nnot a url\n"
        let result = try await home.run("enqueue", "-", input: input)
        #expect(result.status == 64)
        #expect(result.errors.contains("2"))
        #expect(try await home.run("list", "--json", "--all").output == "")
        let kept = try await home.run("enqueue", "--keep-going", "-", input: input)
        #expect(kept.output == "1\n")
    }

    @Test func aRefusalInALongListNamesItsLine() async throws {
        let home = try LonghaulHome()
        var lines = (1...2000).map { "http://127.0.0.1:1/f\($0)" }
        lines[1199] = "http://127.0.0.1:2/f7"
        lines[1999] = "not a url"
        let input = lines.joined(separator: "\n")
        let refused = try await home.run("enqueue", "-", input: input)
        #expect(refused.status == 5)
        #expect(refused.errors.contains("line 1200:"))
        #expect(!refused.errors.contains("line 2000:"))
        #expect(try await home.run("list", "--json", "--all").output == "")
        let kept = try await home.run("enqueue", "--keep-going", "-", input: input)
        #expect(kept.status == 5)
        #expect(kept.errors.contains("line 1200:"))
        #expect(kept.errors.contains("line 2000:"))
        #expect(kept.output.split(separator: "\n").count == 1998)
    }

    /// Each with what became of it, in order, beside what was refused.
    @Test func aLongListIsToldOneByOne() async throws {
        let home = try LonghaulHome()
        let lines = (1...1100).map { "http://127.0.0.1:1/f\($0)" }
        let input = lines.joined(separator: "\n")
        #expect(try await home.run("enqueue", "-", input: input).status == 0)
        let ids = (1...1101).map(String.init)
        let result = try await home.start(["pause", "--json"] + ids).wait()
        #expect(result.status == 4, "\(result.errors)")
        let rows = try result.rows
        #expect(rows.dropLast().map { $0["id"].int } == Array(1...1100))
        #expect(rows.dropLast().allSatisfy { $0["state"] == "paused" })
        #expect(rows.count == 1101 && rows.last?["error"]["message"].string != nil)
    }

    @Test func destinationsAreReserved() async throws {
        let home = try LonghaulHome()
        let file = home.file("a.bin")
        #expect(try await home.run("enqueue", "http://127.0.0.1:1/a", "-o", file).status == 0)
        #expect(try await home.run("enqueue", "http://127.0.0.1:1/b", "-o", file).status == 5)
        let renamed = try await home.run(
            "enqueue", "--json", "http://127.0.0.1:1/b", "-o", file, "--if-exists", "rename")
        let destination = try #require(try renamed.rows.first?["destination"].string)
        #expect(destination == home.file("a (1).bin"))
        #expect(try await home.run("cancel", "1").status == 0)
        #expect(try await home.run("enqueue", "http://127.0.0.1:1/b", "-o", file).status == 0)
        let retry = try await home.run("retry", "1")
        #expect(retry.status == 5)
        #expect(retry.errors.contains("belongs to transfer 3"), "\(retry.errors)")
        #expect(try await home.run("cancel", "3").status == 0)
        #expect(try await home.run("retry", "1").status == 0)
    }

    @Test func aFileIsReservedWhateverPathLeadsToIt() async throws {
        let home = try LonghaulHome()
        _ = try home.scratch.directory("files/real")
        #expect(symlink("real", home.file("link")) == 0)
        func enqueue(_ path: String, _ policy: String = "overwrite") async throws
            -> CLIProcess.Result
        {
            try await home.run(
                "enqueue", "--json", "http://127.0.0.1:1/?\(path)", "-o", path,
                "--if-exists", policy)
        }
        let first = try await enqueue("link/x")
        // It is shown as it was asked for, and the link is followed when the file is written.
        #expect(try first.rows.first?["destination"].string == home.file("link/x"))
        for path in ["real/x", "real/../link/x", "link/./x", "real/../real/x"] {
            let again = try await enqueue(path)
            #expect(again.status == 5, "\(path): \(again)")
        }
        let same = try await home.run(
            "enqueue", "http://127.0.0.1:1/?link/x", "-o", "real/x", "--if-exists", "overwrite")
        #expect(same.output == "1\n", "the same request by another path: \(same)")
        let renamed = try await enqueue("real/x", "rename")
        #expect(try renamed.rows.first?["destination"].string == home.file("real/x (1)"))
        #expect(try await enqueue("link/new/y").status == 0)
        #expect(try await enqueue("real/new/y").status == 5)
        // In one batch, and when one goes on that had ended.
        let list = "http://127.0.0.1:1/a\n  out=real/z\nhttp://127.0.0.1:1/b\n  out=link/z\n"
        #expect(try await home.run("enqueue", "-", input: list).status == 5)
        #expect(try await home.run("cancel", "1").status == 0)
        #expect(try await enqueue("real/x").status == 0)
        #expect(try await home.run("retry", "1").status == 5)
    }

    /// What comes slowly is waited for before anything is written: the store is everybody's.
    @Test func aListThatComesSlowlyKeepsNobodyOut() async throws {
        let home = try LonghaulHome()
        let path = home.file("pipe")
        #expect(mkfifo(path, 0o600) == 0)
        let pipe = FileHandle(fileDescriptor: open(path, O_RDWR), closeOnDealloc: true)
        let enqueue = try home.start("enqueue", "--no-start", "--input", path)
        // More than is kept in memory. When all has been taken there is room for more.
        let tail = String(repeating: "x", count: 1500)
        for number in 0..<2000 {
            try pipe.write(contentsOf: Data("http://127.0.0.1:1/f\(number)?\(tail)\n".utf8))
        }
        let other = try await home.run("enqueue", "--no-start", "http://127.0.0.1:1/other")
        #expect(other.output == "1\n", "\(other)")
        try pipe.write(contentsOf: Data("http://127.0.0.1:1/last\n".utf8))
        try pipe.close()
        let result = try await enqueue.wait()
        #expect(result.status == 0, "\(result)")
        #expect(result.output.split(separator: "\n").last == "2002")
    }

    /// It is only where something is relative that there must be one.
    @Test func aCurrentDirectoryThatIsGone() async throws {
        let home = try LonghaulHome()
        let gone = home.through([
            "/bin/sh", "-c", "mkdir gone && cd gone && rmdir ../gone && exec \"$@\"", "sh",
        ])
        for place in [["-o", home.file("a")], ["-d", home.scratch.path]] {
            let result = try await gone.start(
                ["enqueue", "--no-start", "http://127.0.0.1:1/f"] + place
            ).wait()
            #expect(result.status == 0, "\(result)")
        }
        #expect(try await gone.run("set", "1", "--priority", "high").status == 0)
        for words in [
            ["enqueue", "http://127.0.0.1:1/g"], ["enqueue", "http://127.0.0.1:1/g", "-o", "g"],
            ["set", "1", "--cacert", "ca"], ["get", "http://127.0.0.1:1/g", "-d", "g"],
        ] {
            let result = try await gone.start(words).wait()
            #expect(result.status == 64, "\(result)")
            #expect(result.errors.contains("does not exist any more"), "\(result)")
        }
    }

    /// It would be a file of that name.
    @Test func standardOutputIsNoFile() async throws {
        let home = try LonghaulHome()
        let result = try await home.run("enqueue", "http://127.0.0.1:1/f", "-o", "-")
        #expect(result.status == 64, "\(result)")
        #expect(result.errors.contains("./-"), "\(result)")
        #expect(
            try await home.run("enqueue", "--no-start", "http://127.0.0.1:1/f", "-o", "./-")
                .status == 0)
    }

    /// What may not be asked for may not be asked for later either.
    @Test func setRefusesWhatEnqueueRefuses() async throws {
        let home = try LonghaulHome()
        #expect(try await home.run("enqueue", "http://127.0.0.1:1/a").status == 0)
        let long = "X: " + String(repeating: "x", count: 60_000)
        try home.scratch.write(
            (0..<5).map { long.replacing("X", with: "X\($0)") }.joined(separator: "\n"),
            to: "headers")
        for options in [
            ["--stall-timeout", "0s"], ["--header", "@" + home.scratch("headers")],
        ] {
            let set = try await home.start(["set", "1"] + options).wait()
            #expect(set.status == 64, "\(options) \(set.errors)")
            let added = try await home.start(["enqueue", "http://127.0.0.1:1/b"] + options).wait()
            #expect(added.status == 64, "\(options) \(added.errors)")
        }
        // Two of one name are two.
        let two = ["set", "1", "--header", "X: a", "--header", "x: b", "--header", "Y: c"]
        #expect(try await home.start(two).wait().status == 0)
        #expect(try await home.run("set", "1", "--header", "y:").status == 0)
        let options = try await home.run("show", "1", "--json").rows.first?["options"]
        #expect(options?["headers"].items.map(\.string) == ["X", "x"])
    }

    /// As `remove --help` has it: the engine is a moment behind.
    @Test(arguments: ["remove", "clean"])
    func whatIsJustBeingCancelledCanBeForgotten(command: String) async throws {
        let home = try LonghaulHome()
        let daemon = try home.start("daemon")
        try await LoopbackServer.run { server in
            for round in 1...5 {
                let url = server.url("a.bin?size=50M&rate=1M&seed=\(round)")
                _ = try await home.run("enqueue", url, "-o", home.file("a"))
                let id = "\(round)"
                try await eventually("it moves") {
                    let shown = try await home.run("show", id, "--json").rows.first
                    return (shown?["bytesDone"].int ?? 0) > 0
                }
                #expect(try await home.run("cancel", id).status == 0)
                let gone = try await home.start([command] + (command == "clean" ? [] : [id])).wait()
                #expect(gone.status == 0, "\(gone.errors)")
                #expect(try await home.run("show", id).status == 4)
            }
        }
        daemon.send(SIGTERM)
        #expect(try await daemon.wait().status == 0)
    }

    @Test func exitCodes() async throws {
        let home = try LonghaulHome()
        #expect(try await home.run("enqueue", "gopher://x/").status == 64)
        #expect(try await home.run("enqueue", "--no-such-option").status == 64)
        #expect(try await home.run("show", "7").status == 4)
        #expect(try await home.run("pause", "7").status == 4)
        #expect(try await home.run("enqueue", "http://127.0.0.1:1/a").status == 0)
        #expect(try await home.run("wait", "1", "--timeout", "50ms").status == 3)
        #expect(try await home.run("remove", "1").status == 5)
        #expect(try await home.run("cancel", "1").status == 0)
        #expect(try await home.run("wait", "1").status == 1)
        #expect(try await home.run("resume", "1").status == 5)
        #expect(try await home.run("remove", "1").status == 0)
        #expect(try await home.run("show", "1").status == 4)
    }
}
