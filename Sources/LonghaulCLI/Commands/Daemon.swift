import ArgumentParser
import Longhaul

struct Daemon: ConsoleCommand {
    static let configuration = CommandConfiguration(
        abstract: "Be the engine until told to stop.",
        discussion: """
            SIGTERM and SIGINT: everything is saved, exit 0. While another engine runs, this one stands by and \
            takes over when that leaves.

              longhaul daemon
              longhaul daemon --exit-when-idle 5m

            \(ExitStatus.help([.done, .internalError, .usage, .storeUnavailable]))
            """)

    @Option(help: "Leave when there was nothing to do or to wait for during this time: 90s, 15m.")
    var exitWhenIdle: String?

    /// Only `status` shows the difference: this one was started by a command that needed an engine.
    @Flag(help: .hidden)
    var background = false

    @OptionGroup var output: OutputOptions

    /// How often a daemon that stands by looks whether it is needed.
    static let standbySeconds: Double = 2

    func perform(on console: Console) async throws -> ExitStatus {
        var options = EngineOptions(mode: background ? .background : .daemon)
        if let exitWhenIdle {
            options.exitWhenIdle = try OptionText.duration(exitWhenIdle, "--exit-when-idle")
        }
        let queue = try TransferQueue()
        while true {
            let summary = try await EngineRun(queue: queue, options: options).runUntilSignalled()
            if summary.stoppedBy != .busy { return try report(summary, on: console) }
            // Whoever wanted an engine for a while has one.
            if options.exitWhenIdle != nil { return try report(summary, on: console) }
            console.say("longhaul: another engine runs; standing by")
            // Nothing is in hand while standing by: a signal may simply end the process.
            Signals.unwatch()
            while queue.isEngineRunning { queue.waitForChange(timeout: Daemon.standbySeconds) }
        }
    }

    private func report(_ summary: EngineSummary, on console: Console) throws -> ExitStatus {
        if console.isJSON {
            try console.line { $0.summary(summary) }
        } else {
            console.say("longhaul: " + Run.text(summary))
        }
        return .done
    }
}
