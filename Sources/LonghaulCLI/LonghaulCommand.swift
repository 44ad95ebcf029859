import ArgumentParser
import Longhaul
import LonghaulPlatform

@main
struct LonghaulCommand: ParsableCommand {
    // Each command has its name written out: deriving the names from the types would cost every
    // start of the program two milliseconds.
    static let configuration = CommandConfiguration(
        commandName: "longhaul",
        abstract: "Finish downloads and uploads in spite of crashes, reboots and lost connections.",
        discussion: """
            A transfer is recorded on disk before it begins, so it resumes from its bytes when \
            this process has died.

              longhaul get https://example.com/big.iso     transfer now and wait
              longhaul enqueue https://example.com/b.iso   leave it to the background
              longhaul list                                how far everything is

            \(ExitStatus.help)

            ENVIRONMENT
              LONGHAUL_HOME         state directory (~/.local/state/longhaul)
              LONGHAUL_CONFIG       configuration file (~/.config/longhaul/config.json)
              LONGHAUL_AUTOSTART=0  do not start a background engine
              LONGHAUL_CONDITIONS   overrides of the machine's conditions: see `conditions`
              LONGHAUL_LOG          level of an engine's log: off, critical, error,
                                    warning, notice, info, debug, trace
              NO_COLOR              no colours
              *_proxy, no_proxy     the way of the transfers that name no --proxy
            """,
        version: "longhaul \(LonghaulVersion.current)",
        // The parser puts "SUBCOMMANDS" behind each name.
        groupedSubcommands: [
            .init(name: "Transfer", subcommands: [Get.self, Enqueue.self, Cat.self, Upload.self]),
            .init(
                name: "Inspection",
                subcommands: [
                    List.self, Show.self, Why.self, Status.self, Watch.self, Wait.self,
                    Report.self,
                ]),
            .init(
                name: "Control",
                subcommands: [
                    Now.self, Pause.self, Resume.self, Cancel.self, Retry.self, SetCommand.self,
                    Remove.self, Clean.self, LimitCommand.self, Export.self, Import.self,
                ]),
            .init(name: "Set", subcommands: [BundleCommand.self, FolderCommand.self]),
            .init(
                name: "Event",
                subcommands: [
                    EventsCommand.self, SessionCommand.self, HostCommand.self, TaskCommand.self,
                    JobCommand.self, Wake.self,
                ]),
            .init(
                name: "Engine",
                subcommands: [
                    Run.self, Daemon.self, Serve.self, ConditionsCommand.self,
                    NetworkCommand.self, Doctor.self, Install.self, Uninstall.self, Completion.self,
                ]),
        ])

    /// Every way out of the process has a documented status, and with `--json` every error is an
    /// object.
    static func main() {
        JobSupervisor.serveIfAsked()
        CommandStream.fillStandardStreams()
        OwnProcess.tune()
        Signals.ignoreFailedWrites()
        if let refusal = ArgumentBytes.refusal(OwnProcess.arguments) { leave(refusing: refusal) }
        if let refusal = ArgumentBytes.bundledHelp(words) { leave(refusing: refusal) }
        if words.isEmpty, CommandStream.isTerminal(1) {
            OwnProcess.exit(Overview.show(on: Console.standard(isJSON: false)).rawValue)
        }
        if let name = unknownCommand(words[...]) {
            leave(
                refusing: .usage(
                    "there is no command '\(TerminalText.shown(name))'"
                        + (Suggestions.command(name, among: commandNames).map {
                            "; `longhaul \($0)` may be meant"
                        } ?? "") + "; `longhaul --help` shows all"))
        }
        let status: ExitStatus
        do {
            // `serve` becomes another program, which parses the options.
            var command = try parsed(words.first == "serve" ? ["serve"] : words)
            // The proxy variables of an engine apply to all transfers without a proxy.
            if !(command is Run), !(command is Daemon), !(command is Serve) {
                ProxyVariables.dropOfCommand()
            }
            if let command = command as? any ConsoleCommand {
                status = command.runOnStandardStreams()
            } else {
                try command.run()
                status = .done
            }
        } catch {
            status = leave(for: error)
        }
        OwnProcess.exit(status.rawValue)
    }

    private static let words = withCommand(
        OwnProcess.arguments.map { String(decoding: $0, as: UTF8.self) })

    /// A URL without a command before it is to be got.
    static func withCommand(_ words: [String]) -> [String] {
        guard let first = words.first else { return words }
        let asksForHelp = words.contains { ["--help", "-h", "--version"].contains($0) }
        let isGet =
            first.contains("://")
            || first.hasPrefix("-") && !asksForHelp && words.contains { $0.contains("://") }
        return isGet ? ["get"] + words : words
    }

    private static var commandNames: [String] {
        configuration.subcommands.flatMap { [$0._commandName] + $0.configuration.aliases }
    }

    /// Exits before the command is known.
    private static func leave(refusing error: LonghaulError) -> Never {
        let console = Console.standard(isJSON: words.contains("--json"))
        try? console.refuse(error)
        try? console.flush()
        OwnProcess.exit(ExitStatus.usage.rawValue)
    }

    /// The parser reports an unknown option only if no argument is missing, and one may be missing
    /// because of that option. With one more argument the parser reports the option.
    static func parsed(_ words: [String]) throws -> any ParsableCommand {
        do {
            return try parseAsRoot(words)
        } catch {
            if exitCode(for: error).isSuccess { throw error }
            // The value of `-C -` would be taken for standard input.
            for others in [words + ["1"], words.filter { $0 != "-" }] {
                let more = Result { try parseAsRoot(others) }
                guard case .failure(let other) = more,
                    message(for: other).hasPrefix("Unknown option")
                else { continue }
                throw other
            }
            throw error
        }
    }

    /// The parser would report unexpected arguments instead.
    private static func unknownCommand(_ words: ArraySlice<String>) -> String? {
        let word = words.first == "help" ? words.dropFirst().first : words.first
        guard let word, !word.hasPrefix("-"), word != "help" else { return nil }
        return commandNames.contains(word) ? nil : word
    }

    /// Help and version count as success; every other error of the parser is a usage error.
    private static func leave(for error: any Error) -> ExitStatus {
        let isJSON = words.contains("--json")
        let console = Console.standard(isJSON: isJSON)
        if exitCode(for: error).isSuccess {
            // Examples in a help text fit into the columns: a wrapped one cannot be copied.
            let columns = TerminalFacts.of(1).columns ?? 0
            if columns < Limits.helpColumns {
                Environment.set("COLUMNS", to: "\(Limits.helpColumns)")
            }
            return console.run {
                try console.line(fullMessage(for: error))
                return .done
            }
        }
        defer { try? console.flush() }
        let (text, hint) = hinted(message(for: error))
        if isJSON {
            try? console.refuse(.usage(text + hint))
        } else {
            var lines = fullMessage(for: error).split(
                separator: "\n", maxSplits: 1, omittingEmptySubsequences: false
            ).map(String.init)
            lines[0] = lines[0].replacing(message(for: error), with: text) + hint
            console.complain(shown(lines.joined(separator: "\n")))
        }
        return .usage
    }

    /// The message about an unknown word without the parser's hint, and the nearest option or
    /// command as a hint.
    private static func hinted(_ message: String) -> (text: String, hint: String) {
        let parts = message.split(separator: "'", omittingEmptySubsequences: false)
        guard parts.count > 2 else { return (message, "") }
        let word = String(parts[1])
        let command = command(of: words)
        if message.hasPrefix("Unknown option") {
            let known = longOptions(of: command)
            let meant = Suggestions.option(word, in: words, among: known)
            return ("Unknown option '\(word)'", meant.map { "; here it is: \($0)" } ?? "")
        }
        let names = command.configuration.subcommands.map { $0._commandName }
        guard message.hasPrefix("Unexpected argument"), !names.isEmpty,
            let meant = Suggestions.command(word, among: names), names.contains(meant)
        else { return (message, "") }
        return (message, "; `\(meant)` may be meant")
    }

    /// The command that the words name.
    private static func command(of words: [String]) -> any ParsableCommand.Type {
        var command: any ParsableCommand.Type = LonghaulCommand.self
        for word in words {
            let next = command.configuration.subcommands.first {
                $0._commandName == word || $0.configuration.aliases.contains(word)
            }
            guard let next else { break }
            command = next
        }
        return command
    }

    /// The long options of a command, from the lines of its help that begin with one.
    private static func longOptions(of command: any ParsableCommand.Type) -> [String] {
        helpMessage(for: command, columns: 500).split(separator: "\n").flatMap { line in
            let names = line.drop { $0 == " " }.prefix { $0 != "<" }
            if !names.hasPrefix("-") { return [String]() }
            return names.split(whereSeparator: { ", /".contains($0) })
                .prefix { $0.hasPrefix("-") }.filter { $0.hasPrefix("--") }.map(String.init)
        }
    }

    /// The message repeats user input: its control characters must not reach the terminal, and its
    /// passwords must not be shown.
    static func shown(_ message: String) -> String {
        message.split(separator: "\n", omittingEmptySubsequences: false)
            .map { TerminalText.shown(Redaction.text(String($0))) }
            .joined(separator: "\n")
    }

    static let _errorPrefix = "longhaul: "
}
