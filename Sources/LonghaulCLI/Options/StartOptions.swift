import ArgumentParser
import Longhaul

/// Whether a command that leaves work behind sees to it that somebody does it.
struct StartOptions: ParsableArguments {
    @Flag(help: "Do not start a background engine.")
    var noStart = false

    init() {}

    /// As if it was not said.
    private static var unsaid: StartOptions? { try? StartOptions.parse([]) }

    /// Leaves the hosts that are told of what has just ended to an engine that stays for them.
    static func startForHosts(_ queue: TransferQueue, on console: Console) throws {
        guard try queue.hosts().contains(where: { $0.nextLaunch != nil }) else { return }
        unsaid?.start(queue, on: console)
    }

    /// The environment stands before the configuration file, which is read only where it counts.
    ///
    /// To be asked before anything is recorded: a file that cannot be understood is a usage error.
    func isWanted(
        environment: (String) -> String? = Platform.environment,
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

    /// What was asked for is recorded by now: an engine that cannot be started is worth a word, not
    /// a failure.
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

    /// The same for wants that an engine would have to take up: without one, they are settled here.
    func startOrSettle(_ queue: TransferQueue, on console: Console) {
        start(queue, on: console)
        console.settle(queue)
    }
}

extension Console {
    /// What was asked for is recorded by now; where no engine runs it is folded in at once. If that
    /// cannot be, an engine does it later.
    func settle(_ queue: TransferQueue) {
        if queue.isEngineRunning { return }
        do {
            try queue.settle()
        } catch {
            // Of a transaction of its own, after the one that has recorded it.
            let reason = error.message.replacing("; nothing was recorded", with: "")
            complain(
                "longhaul: it is recorded, and done by the next engine: for now, "
                    + TerminalText.shown(reason))
        }
    }
}
