import ArgumentParser
import Longhaul
import LonghaulCore
import LonghaulTestSupport
import Testing

@testable import LonghaulCLI

@Suite struct RequestParsingTests {
    /// What `enqueue` would ask for.
    private func request(_ arguments: String...) throws -> TransferRequest {
        try request(arguments)
    }

    private func request(_ arguments: [String]) throws -> TransferRequest {
        let parsed = try LonghaulCommand.parseAsRoot(["enqueue", "http://h/f"] + arguments)
        let command = try #require(parsed as? Enqueue)
        return try command.request.template(Sample.context()).request(url: command.list.urls[0])
    }

    @Test func withoutOptionsTheDefaultsAreAsked() throws {
        let plain = TransferRequest(
            url: "http://h/f", destination: .directory("/work", remoteName: false))
        #expect(try request() == plain)
    }

    /// What the configuration file sets can be lifted again.
    @Test func noneIsTheDefault() throws {
        let none = try request(
            "--limit-rate", "none", "--retries", "none", "--proxy", "none")
        #expect(try none == request())
    }

    @Test(
        arguments: [
            ("0", false), ("false", false), ("No", false), ("off", false), ("1", true),
            ("on", true), ("", nil), (nil, nil), ("perhaps", nil),
        ] as [(String?, Bool?)])
    func autostartIsOnOrOff(said: String?, isOn: Bool?) throws {
        let start = try StartOptions.parse([])
        func isWanted(_ configured: Bool) throws -> Bool {
            try start.isWanted(
                environment: { $0 == "LONGHAUL_AUTOSTART" ? said : nil },
                configuration: {
                    var configuration = UserConfiguration()
                    configuration.autostart = configured
                    return configuration
                })
        }
        if said == "perhaps" {
            #expect(throws: LonghaulError.self) { try isWanted(true) }
            return
        }
        #expect(try isWanted(true) == isOn ?? true)
        #expect(try isWanted(false) == isOn ?? false)
    }

    /// The bytes are to come as they are. Who says so himself says nothing new.
    @Test func noCodingIsAskedFor() throws {
        let refusal = #expect(throws: LonghaulError.self) {
            try request("--header", "Accept-encoding: gzip")
        }
        #expect(refusal?.message.contains("Accept-encoding") == true)
        #expect(refusal?.code == .invalidRequest)
        let fields = try request("--header", "Accept-Encoding: Identity").options.headers
        #expect(fields["Accept-Encoding"] == "Identity")
    }

    @Test func everyOptionReachesTheRequest() throws {
        let asked = try request(
            "-d", "sub", "--remote-name", "--session", "s", "--header", "X-A: 1", "--header",
            "x-b:  two ", "--user", "u:p:q", "--netrc", "--proxy", "http://p:1", "--cacert", "ca",
            "--cert", "/c", "--key", "./k", "--insecure", "--earliest", "+2h30m", "--deadline",
            "12h", "--stall-timeout", "90s", "--expect", "10M", "--discretionary", "--priority",
            "high", "--checksum", "md5:D41D8CD98F00B204E9800998ECF8427E", "--if-exists", "rename",
            "--limit-rate", "10MB", "--connections", "4", "--max-size", "2G", "--retries", "3",
            "--window", "Mon-Fri 22:00-06:00", "--window", "Sat,Sun", "--require", "power,idle",
            "--require", "battery=50",
            "--prefer", "none", "--waive-after", "2h",
            "--mirror", "http://m1/f", "--mirror", "ftp://m2/f", "--meta", "{ \"a\" : [1] }")
        var wanted = TransferRequest(
            url: "http://h/f", destination: .directory("/work/sub", remoteName: true))
        wanted.session = "s"
        wanted.priority = .high
        wanted.isDiscretionary = true
        wanted.earliestBegin = Sample.now + 9000
        wanted.schedule.windows = TimeWindows(parsing: "Mon-Fri 22:00-06:00;Sat,Sun")
        wanted.schedule.requires = ConditionNeeds(power: true, idle: true, battery: 50)
        wanted.schedule.prefers = ConditionNeeds()
        wanted.options.waiveAfter = 7200
        wanted.deadline = .after(seconds: 43_200)
        wanted.expectedBytes = 10 << 20
        wanted.options.remoteName = true
        wanted.options.headers.append(name: "X-A", value: "1")
        wanted.options.headers.append(name: "x-b", value: "two")
        wanted.options.user = "u:p:q"
        wanted.options.netrc = true
        wanted.options.proxy = "http://p:1"
        wanted.options.caCertificate = "/work/ca"
        wanted.options.clientCertificate = "/c"
        wanted.options.clientKey = "/work/k"
        wanted.options.insecure = true
        wanted.options.stallTimeout = 90
        wanted.options.checksum = Checksum(
            algorithm: .md5, hex: "d41d8cd98f00b204e9800998ecf8427e")
        wanted.options.ifExists = .rename
        wanted.options.limitRate = 10_000_000
        wanted.options.connections = .exactly(4)
        wanted.options.maxSize = 2 << 30
        wanted.options.retries = 3
        wanted.options.mirrors = ["http://m1/f", "ftp://m2/f"]
        wanted.options.metadata = #"{"a":[1]}"#
        #expect(asked == wanted)
    }

    @Test(arguments: [
        ("f", "/work/f"), ("./f", "/work/f"), (".//./f", "/work/f"), ("/abs/f", "/abs/f"),
        ("../f", "/work/../f"), ("a/b", "/work/a/b"),
    ])
    func aRelativeFileIsMeantFromHere(_ typed: String, _ path: String) throws {
        #expect(try request("-o", typed).destination == .file(path))
    }

    @Test(
        arguments: [
            ("2026-03-02T00:00:00Z", 43_200), ("2026-03-01T14:00:00+01:00", 3600), ("12:30", 1800),
            ("11:59", 86_340), ("+90s", 90), ("now", 0),
        ] as [(String, Double)])
    func timesAreMomentsFromNow(_ typed: String, _ seconds: Double) throws {
        #expect(try request("--earliest", typed).earliestBegin == Sample.now + seconds)
        if seconds == 0 { return }
        #expect(try request("--deadline", typed).deadline == .at(Sample.now + seconds))
    }

    /// The context's now is 2026-03-01T12:00:00Z.
    @Test(arguments: ["0s", "+0s", "now", "2026-03-01T12:00:00Z", "2020-01-01T00:00:00Z"])
    func aDeadlineThatIsOverIsRefused(_ typed: String) throws {
        let enqueue = #expect(throws: LonghaulError.self) { try request("--deadline", typed) }
        let command = try LonghaulCommand.parseAsRoot(["set", "5", "--deadline", typed])
        let set = #expect(throws: LonghaulError.self) {
            try (command as? SetCommand)?.change(Sample.context())
        }
        for refusal in [enqueue, set] {
            #expect(refusal?.code == .invalidRequest)
            #expect(
                refusal?.message
                    == "--deadline: '\(typed)' is not understood;"
                    + " it would be over before the transfer begins")
        }
    }

    @Test(
        arguments: [
            ("22:00", "06:00", 64_800), ("22:00", "22:00", 122_400), ("22:00", "23:00", 39_600),
            ("+1h", "12:30", 88_200), ("2020-01-01T00:00:00Z", "12:30", 1800),
        ] as [(String, String, Double)])
    func aDeadlineIsTheFirstAfterTheTransferMayBegin(
        _ earliest: String, _ deadline: String, _ seconds: Double
    ) throws {
        let asked = try request("--earliest", earliest, "--deadline", deadline)
        #expect(asked.deadline == .at(Sample.now + seconds))
        let words = ["set", "5", "--deadline", deadline, "--earliest", earliest]
        let set = try LonghaulCommand.parseAsRoot(words) as? SetCommand
        #expect(try set?.change(Sample.context()).deadline == .at(Sample.now + seconds))
    }

    @Test(arguments: ["+2h", "+1h", "2026-03-01T15:00:00Z"])
    func aDeadlineThatIsOverBeforeItBeginsIsRefused(_ deadline: String) {
        #expect(throws: LonghaulError.self) {
            try request("--earliest", "+3h", "--deadline", deadline)
        }
    }

    @Test func aDeadlineThatIsNotUnderstoodIsToldWhatItMayBe() {
        let error = #expect(throws: LonghaulError.self) { try request("--deadline", "90") }
        #expect(error?.message.contains("a duration (90s, 15m, 12h, 7d) or a time (2030") == true)
    }

    @Test func headersComeFromAFileToo() throws {
        let scratch = try Scratch("headers")
        try scratch.write("A: 1\r\n\nB: 2", to: "good")
        try scratch.write("A: 1\nnonsense", to: "bad")
        let fields = try request("--header", "@" + scratch("good")).options.headers.fields
        #expect(fields.map { "\($0.name)=\($0.value)" } == ["A=1", "B=2"])
        let refusal = #expect(throws: LonghaulError.self) {
            try request("--header", "@" + scratch("bad"))
        }
        #expect(refusal?.message.contains("line 2") == true)
        #expect(throws: LonghaulError.self) { try request("--header", "@" + scratch("none")) }
    }

    @Test(arguments: [
        ["--header", "no colon"], ["--header", "a b: c"], ["--header", "a: b\r\nc: d"],
        ["--limit-rate", "0"], ["--limit-rate", "fast"], ["--limit-rate=-5"],
        ["--connections", "0"], ["--connections", "17"], ["--connections", "many"],
        ["--expect", "1X"], ["--expect", ""], ["--expect", "1e3"], ["--max-size", "99999999T"],
        ["--deadline", "yesterday"], ["--deadline", "25:00"],
        ["--earliest", "2026-02-30T00:00:00Z"],
        ["--earliest", "90"], ["--stall-timeout", "60"], ["--retries", "-1"], ["--retries", "x"],
        ["--priority", "urgent"], ["--checksum", "sha256:00"], ["--checksum", "crc32:00000000"],
        ["--meta", "{a:1}"], ["--mirror", "file:///etc/passwd"], ["--mirror", "m/f"],
        ["--if-exists", "ask"], ["-o", "/a", "-d", "b"], ["-o", "a", "--remote-name"], ["-o", ""],
        ["--session", ""], ["--window", "01:00"], ["--no-such-option"],
        ["-o", "a", "http://h/second"],
    ])
    func whatIsNotUnderstoodIsRefused(_ arguments: [String]) {
        #expect(throws: (any Error).self) { try request(arguments) }
    }

    @Test(
        arguments: [
            ("h/f", "scheme", .invalidRequest), ("localhost:80/f", "scheme", .invalidRequest),
            ("http:///f", "host", .invalidRequest), ("", "empty", .invalidRequest),
            ("http://h/a b", "space", .invalidRequest),
            ("http://h:99999/", "port", .invalidRequest),
            ("file:///etc/passwd", "file:", .unsupported),
            ("javascript:alert(1)", "javascript:", .unsupported),
        ] as [(String, String, LonghaulError.Code)])
    func aURLIsRefusedWithTheReason(
        _ url: String, _ reason: String, _ code: LonghaulError.Code
    ) throws {
        let refusal = #expect(throws: LonghaulError.self) { try OptionText.url(url) }
        #expect(refusal?.code == code)
        #expect(refusal?.message.contains(reason) == true, "\(refusal?.message ?? "")")
    }

    /// On the way in, and not when the transfer runs.
    @Test(arguments: ["foo://u:hunter2@h", "u:hunter2@h:99999", "http://u:hun ter2@h"])
    func aProxyThatIsNoneIsRefused(_ proxy: String) throws {
        let enqueue = #expect(throws: LonghaulError.self) { try request("--proxy", proxy) }
        let command = try LonghaulCommand.parseAsRoot(["set", "5", "--proxy", proxy])
        let set = #expect(throws: LonghaulError.self) {
            try (command as? SetCommand)?.change(Sample.context())
        }
        for refusal in [enqueue, set].compactMap(\.self) {
            #expect(ExitStatus(refusal) == .usage)
            #expect(refusal.message.hasPrefix("--proxy: the "))
            #expect(!refusal.message.contains("ter2"), "\(refusal)")
        }
    }

    @Test(arguments: [
        "htp://me:hunter2@h/f?token=hunter3", "me:hunter2@h/f", "hunter2:x@h/f", "//me:hunter2@h/f",
        "http:me:hunter2@h/f", "http:/me:hunter2@h/f", "http://me:hun ter2@h/f",
        "h/f?token=hunter2",
        "http//me:hunter2@h/f", "me:hunter2@h/f?from=http://h/", "http://me:hunter2@:1/f",
    ])
    func noSecretIsRepeatedInARefusal(url: String) {
        let refusal = #expect(throws: LonghaulError.self) { try OptionText.url(url) }
        for secret in ["hunter", "ter2"] {
            #expect(refusal?.message.contains(secret) == false, "\(refusal?.message ?? "")")
        }
        #expect(refusal?.message.contains("REDACTED") == true, "\(refusal?.message ?? "")")
    }

    @Test func noHeaderIsRepeatedInARefusal() {
        let header = #expect(throws: LonghaulError.self) {
            try OptionText.headers(["Authorization Bearer hunter2"])
        }
        #expect(header?.message.contains("hunter") == false)
    }
}

@Suite struct CommandParsingTests {
    @Test(arguments: [
        [], ["--help"], ["--version"], ["get", "--help"], ["help", "set"],
    ])
    func askingForHelpIsNoError(_ arguments: [String]) {
        do {
            var command = try LonghaulCommand.parseAsRoot(arguments)
            try command.run()
        } catch {
            #expect(LonghaulCommand.exitCode(for: error).isSuccess, "\(error)")
        }
    }

    @Test(arguments: [
        ["get"], ["enqueue"], ["enqueue", "-", "http://h/f"], ["enqueue", "-", "--input", "f"],
        ["enqueue", "-", "-o", "f"], ["pause"], ["pause", "1", "--all"], ["pause", "x"],
        ["pause", "0"], ["pause", "-1"], ["resume", "--all", "--session", "s"], ["remove"],
        ["show"], ["show", "1", "2"], ["list", "--state", "done"], ["list", "--limit", "0"],
        ["set"], ["set", "x"], ["run", "--only", "mine"], ["frobnicate"], ["get", "--json", "-z"],
        ["doctor", "now"], ["wait"], ["cancel", "1", "--keep"], ["daemon", "--exit-when-idle"],
    ])
    func usageErrorsAre64(_ arguments: [String]) {
        let error = #expect(throws: (any Error).self) {
            try LonghaulCommand.parseAsRoot(arguments)
        }
        #expect(error.map { LonghaulCommand.exitCode(for: $0).rawValue } == 64)
    }

    /// Whatever else is missing. Not where options are for another program, or for `run`.
    @Test(arguments: [
        ["get"], ["get", "-q"], ["enqueue"], ["list"], ["show"], ["why"], ["status"], ["wait"],
        ["pause"], ["resume"], ["cancel"], ["retry"], ["set"], ["remove"], ["clean"], ["events"],
        ["session", "show"], ["host", "show"], ["host", "remove"], ["run"],
        ["daemon"], ["conditions"], ["doctor"], ["uninstall"],
    ])
    func anUnknownOptionIsNamed(_ words: [String]) {
        let error = #expect(throws: (any Error).self) {
            try LonghaulCommand.parsed(words + ["--bogus"])
        }
        let message = error.map { LonghaulCommand.message(for: $0) }
        #expect(message == "Unknown option '--bogus'")
        #expect(error.map { LonghaulCommand.exitCode(for: $0).rawValue } == 64)
    }

    /// Nothing is unknown: what is missing is told.
    @Test(arguments: [["get"], ["get", "-o"], ["set"], ["pause", "-"], ["install"]])
    func whatIsMissingIsNamed(_ words: [String]) {
        let error = #expect(throws: (any Error).self) { try LonghaulCommand.parsed(words) }
        let plain = #expect(throws: (any Error).self) { try LonghaulCommand.parseAsRoot(words) }
        #expect(
            error.map { LonghaulCommand.message(for: $0) }
                == plain.map { LonghaulCommand.message(for: $0) })
    }

    @Test(arguments: [
        ["ls"], ["add", "http://h/f"], ["enqueue", "-"], ["get", "-q", "http://h/f"],
        ["resume", "1", "2", "--no-start"], ["cancel", "--session", "s", "--keep-bytes"],
        ["wait", "--all", "--timeout", "1s"], ["clean", "--older-than", "7d"],
        ["doctor", "--repair"], ["daemon", "--exit-when-idle", "10s", "--background"],
        ["set", "3", "--no-discretionary"],
    ])
    func everyCommandKnowsJSON(_ arguments: [String]) throws {
        let command = try LonghaulCommand.parseAsRoot(arguments + ["--json"])
        #expect((command as? any ConsoleCommand)?.output.json == true)
    }

    @Test func selections() throws {
        func selection(_ arguments: String...) throws -> TransferSelection? {
            (try LonghaulCommand.parseAsRoot(["pause"] + arguments) as? Pause)?.which.selection
        }
        if case .ids(let ids) = try selection("3", "1") {
            #expect(ids.map(\.rawValue) == [3, 1])
        } else {
            Issue.record("ids")
        }
        if case .session("s") = try selection("--session", "s") {} else { Issue.record("session") }
        if case .all = try selection("--all") {} else { Issue.record("all") }
    }

    @Test func runsBox() throws {
        func options(_ arguments: String...) throws -> EngineOptions? {
            try (LonghaulCommand.parseAsRoot(["run"] + arguments) as? Run)?.engineOptions()
        }
        let plain = try #require(try options())
        #expect(plain.mode == .run && plain.untilDrained && plain.onlyDiscretionary == nil)
        #expect(plain.maxSeconds == nil && plain.maxBytes == nil && plain.unresumable == .wait)
        #expect(try options("--unresumable", "finish")?.unresumable == .finish)
        let boxed = try #require(
            try options("--max-time", "20m", "--max-bytes", "2G", "--only", "immediate"))
        #expect(boxed.maxSeconds == 1200 && boxed.maxBytes == 2 << 30)
        #expect(boxed.onlyDiscretionary == false)
        #expect(try options("--only", "discretionary")?.onlyDiscretionary == true)
        #expect(throws: LonghaulError.self) { try options("--max-time", "20") }
    }

    @Test func anIdCountsOnce() throws {
        let wait = try LonghaulCommand.parseAsRoot(["wait", "6", "5", "6"]) as? Wait
        #expect(wait?.which.ids.map(\.rawValue) == [6, 5])
    }

    @Test func listsFilter() throws {
        func filter(_ arguments: String...) throws -> TransferFilter? {
            (try LonghaulCommand.parseAsRoot(["list"] + arguments) as? List)?.filter
        }
        #expect(try filter()?.limit == 50)
        #expect(try filter()?.includeAll == false)
        #expect(try filter("--all")?.limit == nil)
        #expect(try filter("--all", "--limit", "3")?.limit == 3)
        #expect(try filter("--state", "failed", "--state", "paused")?.states == [.failed, .paused])
        #expect(try filter("--state", "failed")?.limit == nil)
        #expect(try filter("--state", "failed", "--limit", "3")?.limit == 3)
    }

    @Test(arguments: [
        ([], "--systemd or --cron SPEC is needed"),
        (["--systemd", "--cron", "@hourly"], "--systemd and --cron exclude each other"),
    ])
    func installIsOneOrTheOther(_ arguments: [String], _ message: String) {
        let result = Result { try LonghaulCommand.parseAsRoot(["install"] + arguments) }
        guard case .failure(let error) = result else { return #expect(Bool(false)) }
        #expect(LonghaulCommand.message(for: error) == message)
    }

    @Test func setTakesAwayAndLeavesAlone() throws {
        func change(_ arguments: String...) throws -> TransferChange? {
            let command = try LonghaulCommand.parseAsRoot(["set", "5"] + arguments) as? SetCommand
            return try command?.change(Sample.context())
        }
        let nothing = try #require(try change())
        #expect(nothing.url == nil && nothing.limitRate == nil && nothing.isDiscretionary == nil)
        #expect(nothing.headers.isEmpty && nothing.mirrors == nil && nothing.earliestBegin == nil)
        let away = try #require(
            try change(
                "--limit-rate", "none", "--earliest", "now", "--checksum", "none", "--expect",
                "none", "--max-size", "none", "--retries", "none", "--meta", "none", "--user",
                "none", "--mirror", "none", "--header", "X-Old:", "--no-discretionary"))
        #expect(away.limitRate == .some(nil) && away.earliestBegin == .some(nil))
        #expect(away.checksum == .some(nil) && away.expectedBytes == .some(nil))
        #expect(away.maxSize == .some(nil) && away.retries == .some(nil))
        #expect(away.metadata == .some(nil) && away.user == .some(nil) && away.mirrors == [])
        #expect(away.headers == [HeaderFields.Field(name: "X-Old", value: "")])
        #expect(away.isDiscretionary == false)
        let set = try #require(
            try change("--url", "https://h/n", "--limit-rate", "1K", "--deadline", "2h"))
        #expect(set.url == "https://h/n" && set.limitRate == .some(1024))
        #expect(set.deadline == .after(seconds: 7200))
        #expect(throws: LonghaulError.self) { try change("--url", "nonsense") }
    }
}

@Suite struct CommandNameTests {
    /// See `LonghaulCommand`: a derived name costs every start of the program.
    @Test func everyCommandHasItsNameWrittenOut() {
        func check(_ command: any ParsableCommand.Type) {
            #expect(command.configuration.commandName != nil, "\(command)")
            for subcommand in command.configuration.subcommands { check(subcommand) }
        }
        check(LonghaulCommand.self)
    }
}
