import ArgumentParser
import Longhaul
import LonghaulPlatform

@main
struct LonghaulCommand: ParsableCommand {
    // Each command has its name written out: deriving the names from the types would cost every
    // start of the program two milliseconds.
    static let configuration = CommandConfiguration(
        commandName: "longhaul",
        abstract: "Transfers that carry on: across crashes, reboots and network changes.",
        discussion: """
            A transfer is recorded on disk before it begins, so it goes on from the bytes that \
            it has, whatever happens to this process.

              longhaul get https://example.com/big.iso     transfer now and wait
              longhaul enqueue https://example.com/b.iso   leave it to the background
              longhaul list                                how far everything is

            \(ExitStatus.help)

            ENVIRONMENT
              LONGHAUL_HOME         state directory (~/.local/state/longhaul)
              LONGHAUL_CONFIG       configuration file (~/.config/longhaul/config.json)
              LONGHAUL_AUTOSTART=0  do not start a background engine
              LONGHAUL_CONDITIONS   what holds, whatever the machine says: see `conditions`
              LONGHAUL_LOG          what an engine logs: off, critical, error, warning,
                                    notice, info, debug, trace
              NO_COLOR              no colours
              *_proxy, no_proxy     the way of the transfers that name no --proxy
            """,
        version: "longhaul \(LonghaulVersion.current)",
        // The parser puts "SUBCOMMANDS" behind each name.
        groupedSubcommands: [
            .init(name: "Transfer", subcommands: [Get.self, Enqueue.self, Upload.self]),
            .init(
                name: "Inspection",
                subcommands: [List.self, Show.self, Why.self, Status.self, Wait.self]),
            .init(
                name: "Control",
                subcommands: [
                    Pause.self, Resume.self, Cancel.self, Retry.self, SetCommand.self, Remove.self,
                    Clean.self,
                ]),
            .init(
                name: "Event",
                subcommands: [
                    EventsCommand.self, SessionCommand.self, HostCommand.self, TaskCommand.self,
                    Wake.self,
                ]),
            .init(
                name: "Engine",
                subcommands: [
                    Run.self, Daemon.self, ConditionsCommand.self, Doctor.self, Install.self,
                    Uninstall.self,
                ]),
        ])

    /// Every way out of the process has a documented status, and with `--json` every error is an
    /// object.
    static func main() {
        CommandStream.fillStandardStreams()
        OwnProcess.tune()
        Signals.ignoreFailedWrites()
        if let refusal = ArgumentBytes.refusal(OwnProcess.arguments) { leave(refusing: refusal) }
        if let refusal = ArgumentBytes.bundledHelp(words) { leave(refusing: refusal) }
        if let name = unknownCommand(words[...]) {
            leave(
                refusing: .usage(
                    "there is no command '\(TerminalText.shown(name))'; `longhaul --help` shows all"
                ))
        }
        let status: ExitStatus
        do {
            var command = try parsed(words)
            // The proxy variables of `run` and `daemon` apply to all transfers without a proxy.
            if !(command is Run), !(command is Daemon) { ProxyVariables.dropOfCommand() }
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

    private static let words = OwnProcess.arguments.map { String(decoding: $0, as: UTF8.self) }

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
            let more = Result { try parseAsRoot(words + ["1"]) }
            guard case .failure(let other) = more, !exitCode(for: error).isSuccess,
                message(for: other).hasPrefix("Unknown option")
            else { throw error }
            throw other
        }
    }

    /// The parser would report unexpected arguments instead.
    private static func unknownCommand(_ words: ArraySlice<String>) -> String? {
        let word = words.first == "help" ? words.dropFirst().first : words.first
        guard let word, !word.hasPrefix("-"), word != "help" else { return nil }
        let known = configuration.subcommands.contains {
            $0._commandName == word || $0.configuration.aliases.contains(word)
        }
        return known ? nil : word
    }

    /// Help and version count as success; every other error of the parser is a usage error.
    private static func leave(for error: any Error) -> ExitStatus {
        let isJSON = words.contains("--json")
        let console = Console.standard(isJSON: isJSON)
        if exitCode(for: error).isSuccess {
            return console.run {
                try console.line(fullMessage(for: error))
                return .done
            }
        }
        defer { try? console.flush() }
        if isJSON {
            try? console.refuse(.usage(message(for: error)))
        } else {
            console.complain(shown(fullMessage(for: error)))
        }
        return .usage
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
