import LonghaulTestSupport
import Testing

/// What somebody reads who has mistyped something.
@Suite(.timeLimit(.minutes(60))) struct WordingTests {
    struct Row: CustomTestStringConvertible, Sendable {
        var typed: [String]
        var status: Int32
        var says: String
        var code = "invalidRequest"

        var testDescription: String { typed.joined(separator: " ") }
    }

    static let rows = [
        Row(
            typed: ["fetch", "http://h/f"], status: 64,
            says: """
                longhaul: there is no command 'fetch'; `longhaul get` may be meant; \
                `longhaul --help` shows all

                """),
        Row(
            typed: ["GET", "-q"], status: 64,
            says: """
                longhaul: there is no command 'GET'; `longhaul get` may be meant; \
                `longhaul --help` shows all

                """),
        Row(
            typed: ["job", "lst"], status: 64,
            says: """
                longhaul: Unexpected argument 'lst'; `list` may be meant
                Usage: longhaul job <subcommand>
                  See 'longhaul job --help' for more information.

                """),
        Row(
            typed: ["enqueue", "--out", "f", "http://h/g"], status: 64,
            says: """
                longhaul: Unknown option '--out'; here it is: -o f
                Usage: longhaul enqueue [<options>] [<urls> ...]
                  See 'longhaul enqueue --help' for more information.

                """),
        Row(
            typed: ["get", "-C", "-", "http://h/g"], status: 64,
            says: """
                longhaul: Unknown option '-C'; here it is: nothing: a transfer resumes where it was
                Usage: longhaul get [<options>] [<urls> ...]
                  See 'longhaul get --help' for more information.

                """),
        Row(
            typed: ["set", "1"], status: 64,
            says: "longhaul: nothing is to be changed; `longhaul set --help` shows what can be\n"),
        Row(
            typed: ["cancel", "--session", "photo"], status: 4,
            says: "longhaul: there is no session photo\n", code: "noSuchSession"),
        Row(
            typed: ["wait", "--session", "photo"], status: 4,
            says: "longhaul: there is no session photo\n", code: "noSuchSession"),
        Row(
            typed: ["get", "http://127.0.0.1:9/g", "-o", "f"], status: 5,
            says: """
                longhaul: /DIR/f is already the destination of transfer 1, which \
                `longhaul resume 1` goes on with; choose another one, give --if-exists rename, or cancel that \
                transfer first

                """, code: "conflict"),
        Row(
            typed: ["get", "http://h/g?token=1", "http://h/g?token=2"], status: 5,
            says: """
                longhaul: /DIR/g is already the destination of http://h/g?token=REDACTED \
                earlier in the same batch; give each a name of its own, or --if-exists rename

                """, code: "conflict"),
        Row(
            typed: ["enqueue", "http://127.0.0.1:9/f", "-o", "g", "--on-duplicate", "fail"],
            status: 5,
            says: """
                longhaul: http://127.0.0.1:9/f is already being fetched by transfer 1, which has \
                not ended; wait for it (`longhaul wait 1`), or enqueue with --on-duplicate join, \
                separate or replace

                """, code: "conflict"),
        Row(
            typed: [
                "enqueue", "http://127.0.0.1:9/m",
                "--meta", String(repeating: "[", count: 600) + String(repeating: "]", count: 600),
            ], status: 64,
            says: """
                longhaul: --meta: the JSON cannot be used: more than 64 levels of nesting at byte 66

                """),
        Row(
            typed: ["events", "--ack", "999"], status: 64,
            says: "longhaul: there is no event 999 yet; there is none at all\n"),
    ]

    @Test(arguments: rows) func tellsWhatIsWrong(_ row: Row) async throws {
        let home = try LonghaulHome()
        _ = try await home.run("enqueue", "http://127.0.0.1:9/f", "-o", "f")
        let result = try await home.start(row.typed).wait()
        #expect(result.status == row.status)
        #expect(ConsolePage.plain(result.errors) == ConsolePage.plain(row.says))
        let json = try await home.start(row.typed + ["--json"]).wait()
        #expect(json.status == row.status)
        #expect(try json.rows.first?["error"]["code"] == .string(row.code), "\(json)")
    }

    /// It is recorded all the same: the program may be installed later.
    @Test func warnsOfAHostThatCannotBeStarted() async throws {
        let home = try LonghaulHome()
        let missing = try await home.start(["host", "add", "h", "--", "/no/such"]).wait()
        #expect(missing.status == 0)
        #expect(
            missing.errors == """
                longhaul: the host's program /no/such does not exist; it is started when it is there

                """)
        let file = try await home.start(["host", "add", "i", "--", "/etc/passwd"]).wait()
        #expect(file.errors.contains("/etc/passwd may not be run; "), "\(file)")
        let program = try await home.start(["host", "add", "j", "--", "/bin/true"]).wait()
        #expect(program.errors.isEmpty)
        #expect(try await home.run("host", "list", "--json").rows.count == 3)
    }

    @Test func saysThatADirectoryCannotBeMade() async throws {
        let home = try LonghaulHome()
        let result = try await home.start(["get", "http://127.0.0.1:9/f", "-d", "/proc/no"]).wait()
        #expect(result.status == 1)
        #expect(result.errors.contains("no directory can be created at /proc/no; "), "\(result)")
    }

    /// The parser puts a word of its own behind the name of a group.
    @Test func theGroupsOfCommandsHaveNames() async throws {
        let help = try await LonghaulHome().run("--help").output
        let titles = help.split(separator: "\n").filter { $0.hasSuffix("SUBCOMMANDS:") }
        #expect(
            titles.map { $0.dropLast(13) } == [
                "TRANSFER", "INSPECTION", "CONTROL", "SET", "EVENT", "ENGINE",
            ])
    }

    @Test func severalRunNow() async throws {
        let home = try LonghaulHome()
        _ = try await home.run("enqueue", "http://127.0.0.1:9/f", "http://127.0.0.1:9/g")
        let now = try await home.run("now", "--all", "--no-start")
        #expect(now.output == "2 transfers run now\n", "\(now)")
    }

    /// zsh has no `compgen`.
    @Test(arguments: ["zsh", "fish"]) func completionCallsNothingOfBash(shell: String) async throws
    {
        let script = try await LonghaulHome().run("completion", shell)
        #expect(script.status == 0 && !script.output.contains("compgen"))
    }

    @Test func aNameIsJoinedToADirectory() async throws {
        let home = try LonghaulHome()
        let joined = try await home.run(
            "enqueue", "http://127.0.0.1:9/f", "-d", "sub", "-o", "name", "--json")
        #expect(try joined.rows.first?["destination"] == .string(home.file("sub/name")))
        let absolute = try await home.run(
            "enqueue", "http://127.0.0.1:9/f", "-d", "sub", "-o", "/tmp/name")
        #expect(absolute.status == 64 && absolute.errors.contains("in that directory"))
    }

    @Test func saysWhatWasChanged() async throws {
        let home = try LonghaulHome()
        _ = try await home.run("enqueue", "http://127.0.0.1:9/f", "-o", "f")
        #expect(try await home.run("set", "1", "--priority", "high").output == "1 changed\n")
    }

    /// No line of the help is wider than a terminal, where it would be broken in the middle.
    @Test func theHelpIsNotBroken() async throws {
        let home = try LonghaulHome()
        let commands = [
            "", "get", "enqueue", "list", "show", "why", "status", "wait", "pause", "resume",
            "cancel", "retry", "set", "remove", "clean", "events", "session set", "session list",
            "session show", "session remove", "host add", "host list", "host show", "host remove",
            "host reset", "run",
            "daemon", "conditions", "doctor", "install", "uninstall",
        ]
        for command in commands {
            let words = command.split(separator: " ").map(String.init) + ["--help"]
            let help = try await home.start(words).wait()
            #expect(help.status == 0)
            let lines = help.output.split(separator: "\n", omittingEmptySubsequences: false)
            let start = lines.firstIndex { $0 == "EXIT STATUS" } ?? lines.endIndex
            #expect(start < lines.endIndex, "\(command) tells no exit statuses")
            // Shown as typed: what comes after a break would stand at the beginning of the line.
            let text = lines[start...].prefix { !$0.hasPrefix("USAGE") }
            for line in text where !line.isEmpty && !line.hasPrefix(" ") {
                #expect(
                    ["EXIT STATUS", "ENVIRONMENT"].contains(String(line)), "\(command): \(line)")
            }
        }
    }
}
