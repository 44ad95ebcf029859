import ArgumentParser
import Longhaul

struct Daemon: ConsoleCommand {
    static let configuration = CommandConfiguration(
        abstract: "Be the engine until told to stop.",
        discussion: """
            SIGTERM and SIGINT: everything is saved, exit 0. While another engine runs, this one \
            stands by and takes over when that leaves.

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

    func perform(on console: Console) throws -> ExitStatus {
        var options = EngineOptions(mode: background ? .background : .daemon)
        if let exitWhenIdle {
            options.exitWhenIdle = try OptionText.duration(exitWhenIdle, "--exit-when-idle")
        }
        let queue = try TransferQueue()
        // Whoever wanted an engine for a while has one; a daemon stands by until it is needed.
        options.waitsForLease = options.exitWhenIdle == nil
        if options.waitsForLease, queue.isEngineRunning {
            console.say("longhaul: another engine runs; standing by")
        }
        let summary = try EngineRun(queue: queue, options: options).runUntilSignalled()
        return try report(summary, on: console)
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
