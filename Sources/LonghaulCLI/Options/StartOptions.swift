import ArgumentParser
import Longhaul
import LonghaulPlatform

/// Decides whether a command that leaves work behind starts an engine for it.
struct StartOptions: ParsableArguments {
    @Flag(help: "Do not start a background engine.")
    var noStart = false

    init() {}

    /// The options of a command line that does not set them.
    private static var unsaid: StartOptions? { try? StartOptions.parse([]) }

    /// Starts a background engine if a launch of a host is due.
    static func startForHosts(_ queue: TransferQueue, on console: Console) throws {
        guard try queue.hosts().contains(where: { $0.nextLaunch != nil }) else { return }
        unsaid?.start(queue, on: console)
    }

    /// Starts a background engine for the transfers of a command whose terminal has gone, and ends
    /// the command: the transfers do not end with the terminal.
    static func startAfterHangUp(_ queue: TransferQueue, on console: Console) -> Never {
        if let unsaid, (try? unsaid.isWanted()) == true {
            unsaid.start(queue, on: console)
            console.say("longhaul: the terminal has gone; a background engine carries on")
        }
        OwnProcess.end(by: Signals.hangUp)
    }

    /// The environment takes precedence over the configuration file, which is read only if it
    /// counts.
    ///
    /// To be called before anything is recorded: an invalid file is a usage error.
    func isWanted(
        environment: (String) -> String? = Environment.value,
        configuration: () throws(LonghaulError) -> UserConfiguration = ConfigurationFile.read
    ) throws(LonghaulError) -> Bool {
        if noStart { return false }
        guard let said = environment("LONGHAUL_AUTOSTART"), !said.isEmpty else {
            return try configuration().autostart
        }
        switch said.lowercased() {
        case "0", "false", "no", "off": return false
        case "1", "true", "yes", "on": return true
        default:
            throw .usage("LONGHAUL_AUTOSTART: '\(TerminalText.shown(said))' is neither 0 nor 1")
        }
    }

    /// The request is recorded at this point: if an engine cannot be started, that is a message,
    /// not a failure.
    func start(_ queue: TransferQueue, on console: Console) {
        do {
            if !(try isWanted()) { return }
            try queue.startBackgroundEngine()
        } catch {
            console.complain(
                "longhaul: no engine could be started: \(TerminalText.shown(error.message)); "
                    + "`longhaul run` does the work")
        }
    }

    /// The background engine ends with the machine. A user learns that once, at the first transfer
    /// that is left to it.
    func sayWhatAReboot(ends queue: TransferQueue, on console: Console) {
        guard !console.isJSON, CommandStream.isTerminal(2), (try? isWanted()) == true,
            (try? Installation.current().isMissing(of: queue)) == true
        else { return }
        console.say(
            "longhaul: after a reboot nothing resumes by itself; `longhaul install --systemd` or "
                + "`longhaul install --cron '@hourly'` sees to that")
    }

    /// The same for wants that an engine would apply: without an engine, they are applied here.
    func startOrSettle(_ queue: TransferQueue, on console: Console) {
        start(queue, on: console)
        console.settle(queue)
    }
}

extension Console {
    /// The request is recorded at this point; if no engine runs, it is applied at once. If that
    /// fails, an engine applies it later.
    func settle(_ queue: TransferQueue) {
        if queue.isEngineRunning { return }
        do {
            try queue.settle()
        } catch {
            // The error is that of a second transaction; the first one has recorded the request.
            let reason = error.message.replacing("; nothing was recorded", with: "")
            complain(
                "longhaul: it is recorded, and done by the next engine: for now, "
                    + TerminalText.shown(reason))
        }
    }
}
