import Glibc
import LonghaulTestSupport
import Testing

/// The built program, as scripts see it: exit statuses, streams, and what is left in the store.
@Suite struct ProcessTests {
    let home: LonghaulHome

    init() throws {
        home = try LonghaulHome()
    }

    @Test(
        arguments: [
            (["--version"], 0), (["list"], 0), (["status"], 0), (["clean"], 0), (["run"], 0),
            (["show", "99"], 4), (["wait", "99"], 4), (["pause", "99"], 4), (["remove", "99"], 4),
            (["set", "99", "--priority", "low"], 4), (["frobnicate"], 64),
            (["help", "frobnicate"], 64), (["get", "h/f"], 64),
            (["enqueue", "file:///etc/passwd"], 64),
            (["enqueue", "http://h/f", "--limit-rate", "x"], 64),
            (["enqueue", "--input", "/nonexistent"], 64), (["enqueue", "--input", "/"], 64),
            (["enqueue", "http://h/f", "-d", "/dev/null"], 5),
        ] as [([String], Int32)])
    func exitStatuses(_ arguments: [String], _ status: Int32) async throws {
        let result = try await home.start(arguments).wait()
        #expect(result.status == status, "\(arguments): \(result.output)\(result.errors)")
        #expect(result.status == 0 || !result.errors.isEmpty)
        let json = try await home.start(arguments + ["--json"]).wait()
        #expect(json.status == status, "\(arguments): \(json.output)\(json.errors)")
        if status != 0 {
            let row = try #require(try json.rows.last)
            #expect(row["error"]["code"].string != nil && row["error"]["message"].string != nil)
        }
    }

    @Test func aStoreThatCannotBeMadeIs73() async throws {
        try home.scratch.write("", to: "file")
        let result = try await home.with(["LONGHAUL_HOME": home.scratch("file")])
            .run("list", "--json")
        #expect(result.status == 73)
        #expect(try result.rows.last?["error"]["code"] == .string("storeUnavailable"))
    }

    @Test func idsArePrintedAndListed() async throws {
        let added = try await home.run("add", "http://127.0.0.1:9/a", "http://127.0.0.1:9/b")
        #expect(added.output == "1\n2\n" && added.status == 0)
        let rows = try await home.run("ls", "--json").rows
        #expect(rows.map { $0["id"].int } == [2, 1])
        #expect(rows[0]["destination"] == .string(home.file("b")))
        #expect(rows[0]["waitingFor"][0]["reason"] == .string("engine"))
    }

    @Test func aBatchIsRecordedWholeOrNotAtAll() async throws {
        let input = "http://127.0.0.1:9/a\n\nnonsense\nhttp://127.0.0.1:9/b\n"
        let refused = try await home.run("enqueue", "-", "--json", input: input)
        #expect(refused.status == 64)
        #expect(try refused.rows.map { $0["error"]["line"].int } == [3])
        #expect(try await home.run("list", "--json").output.isEmpty)
        let kept = try await home.run("enqueue", "-", "--keep-going", input: input)
        #expect(kept.output == "1\n2\n" && kept.status == 5)
        #expect(kept.errors.contains("line 3"))
    }

    @Test func aDestinationIsTakenOnce() async throws {
        let input = "http://127.0.0.1:9/a\nhttp://127.0.0.1:9/x/a\n"
        let refused = try await home.run("enqueue", "-", "--json", input: input)
        #expect(refused.status == 5)
        #expect(try refused.rows.last?["error"]["code"] == .string("conflict"))
        #expect(try refused.rows.last?["error"]["line"] == .int(2))
        #expect(try await home.run("list", "--json").output.isEmpty)
    }

    @Test func wantsShowWithoutAnEngine() async throws {
        try await succeed("enqueue", "http://127.0.0.1:9/a", "--session", "s")
        func state() async throws -> String? {
            try await home.run("show", "1", "--json").rows[0]["state"].string
        }
        #expect(try await home.run("pause", "1").output == "1 paused\n")
        #expect(try await state() == "paused")
        #expect(try await home.run("resume", "--session", "s").output == "1 transfer resumed\n")
        #expect(try await state() == "waiting")
        #expect(try await home.run("remove", "1").status == 5)
        #expect(try await home.run("cancel", "--all").output == "1 transfer cancelled\n")
        #expect(try await state() == "cancelled")
        #expect(try await home.run("wait", "1").status == 1)
        #expect(try await home.run("retry", "1", "--json").rows[0]["state"] == .string("waiting"))
        #expect(try await home.run("wait", "1", "--timeout", "50ms").status == 3)
        try await succeed("cancel", "1")
        #expect(try await home.run("remove", "1", "--json").rows[0]["removed"] == .bool(true))
        #expect(try await home.run("show", "1").status == 4)
    }

    @Test func noSecretIsShown() async throws {
        let url = "http://me:hunter1@127.0.0.1:9/f?X-Amz-Signature=hunter2&page=3"
        try await succeed(
            "enqueue", url, "--header", "Authorization: hunter3", "--user", "u:hunter4")
        for arguments in [["list"], ["show", "1"], ["list", "--json"], ["show", "1", "--json"]] {
            let result = try await home.start(arguments).wait()
            #expect(result.status == 0 && !result.output.isEmpty)
            #expect(!result.output.contains("hunter") && !result.errors.contains("hunter"))
        }
        #expect(try await home.run("show", "1").output.contains("page=3"))
    }

    @Test(arguments: [
        ["wait", "URL"], ["list", "URL"], ["show", "URL"], ["resume", "URL"], ["set", "URL"],
        ["enqueue", "http://h/f", "--if-exists", "URL"], ["get", "-ume:hunter1", "URL"],
    ])
    func noUsageErrorShowsASecret(_ words: [String]) async throws {
        let arguments = words.map {
            $0 == "URL" ? "https://me:hunter1@example.com/f?sig=hunter2" : $0
        }
        for more in [[], ["--json"]] {
            let result = try await home.start(arguments + more).wait()
            #expect(result.status == 64)
            #expect(!(result.output + result.errors).contains("hunter"), "\(result)")
        }
    }

    /// The parser would show the help for them, and succeed.
    @Test(arguments: [
        ["get", "-ubobh", "http://h/f"], ["get", "-sSfLh", "http://h/f"], ["cancel", "-fh", "1"],
        ["list", "-hx"],
    ])
    func onlyAWordOfItsOwnAsksForHelp(_ arguments: [String]) async throws {
        let result = try await home.start(arguments).wait()
        #expect(result.status == 64 && result.output.isEmpty)
        #expect(result.errors.contains("there is no option '-"), "\(result.errors)")
        #expect(try await home.run("list", "-h").status == 0)
        #expect(try await home.run("host", "add", "h", "--", "/bin/sh", "-xh").status == 0)
    }

    @Test(.enabled(if: geteuid() == 0, "skipped: mounting needs root"))
    func argumentsArriveWithoutProc() async throws {
        let script = "mount --bind \"$0\" /proc && exec \"$@\""
        let bare = home.through([
            "/usr/bin/unshare", "-m", "/bin/sh", "-c", script, home.scratch("files"),
        ])
        let added = try await bare.with(["LONGHAUL_AUTOSTART": nil])
            .run("enqueue", "http://127.0.0.1:9/f")
        #expect(added.output == "1\n" && added.status == 0)
        #expect(added.errors.contains("/proc/self/exe is not there"), "\(added.errors)")
        #expect(try await bare.run("frobnicate").status == 64)
    }

    @Test func aReaderThatGoesAwayEndsTheWaiting() async throws {
        try await succeed("enqueue", "http://127.0.0.1:9/a", "http://127.0.0.1:9/b")
        try await succeed("cancel", "1")
        for command in ["events --follow", "wait 1 2"] {
            let shell = try await CLIProcess.run(
                "/bin/bash",
                [
                    "-c", "set -o pipefail; \"$0\" \(command) 2>&1 | head -1",
                    try BuiltBinary.longhaul,
                ],
                environment: home.environment)
            #expect(shell.status == 0 && !shell.output.isEmpty, "\(shell)")
        }
    }

    @Test func whatCannotBeWrittenIsAnError() async throws {
        try await succeed("enqueue", "http://127.0.0.1:9/f")
        let shell = try await CLIProcess.run(
            "/bin/sh", ["-c", "\"$0\" list > /dev/full", try BuiltBinary.longhaul],
            environment: home.environment)
        #expect(shell.status == 2)
        #expect(shell.errors.contains("cannot be written"))
        for words in ["--help", "help get", "list --help", "--version"] {
            let help = try await CLIProcess.run(
                "/bin/sh", ["-c", "\"$0\" \(words) > /dev/full", try BuiltBinary.longhaul],
                environment: home.environment)
            #expect(help.status == 2 && help.errors.contains("cannot be written"), "\(help)")
        }
    }

    @Test func aDirectoryThatIsNotThereForOneAboveIt() async throws {
        let result = try await home.run("enqueue", "http://127.0.0.1:9/f", "-o", "no/../x")
        #expect(result.status == 5)
        #expect(result.errors.contains("/no/.. does not exist; "), "\(result.errors)")
        #expect(!result.errors.contains("resume"))
    }

    @Test func aReaderThatGoesAwayIsNoError() async throws {
        let urls = (0..<3000).map { "http://127.0.0.1:9/\($0)\n" }.joined()
        try await succeed("enqueue", "-", input: urls)
        let shell = try await CLIProcess.run(
            "/bin/bash",
            [
                "-c", "set -o pipefail; \"$0\" list --all --json | head -1",
                try BuiltBinary.longhaul,
            ],
            environment: home.environment)
        #expect(shell.status == 0 && shell.errors.isEmpty)
        #expect(try shell.rows.count == 1)
    }

    @Test func interruptedWaitingIs130() async throws {
        try await succeed("enqueue", "http://127.0.0.1:9/f")
        let waiting = try home.start("wait", "1")
        try await eventually("the signal handler") { handlesInterrupt(waiting.pid) }
        waiting.send(SIGINT)
        let result = try await waiting.wait()
        #expect(result.ending == .exited(130))
    }

    private func succeed(_ arguments: String..., input: String? = nil) async throws {
        let result = try await home.start(arguments, input: input).wait()
        #expect(result.status == 0, "\(arguments): \(result.errors)")
    }

    /// Whether the process has set a handler for SIGINT (bit 1 of `SigCgt`).
    private func handlesInterrupt(_ pid: pid_t) -> Bool {
        guard let file = fopen("/proc/\(pid)/status", "r") else { return false }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        while fgets(&line, Int32(line.count), file) != nil {
            let text = String(
                decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
            guard text.hasPrefix("SigCgt:") else { continue }
            let digits = text.dropFirst(7).filter { $0.isHexDigit }
            return (UInt64(digits, radix: 16) ?? 0) & 2 != 0
        }
        return false
    }
}
