import ArgumentParser
import Longhaul
import LonghaulPlatform

struct Run: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Be the engine until nothing is left that can be done now; for cron.",
        discussion: """
            Waits out back-offs of up to a minute. SIGTERM: everything is saved, exit 0. If \
            another engine runs: says so, exit 0.

              longhaul run
              longhaul run --max-time 20m --max-bytes 2G
              longhaul run --only discretionary --json

            \(ExitStatus.help([.done, .internalError, .usage, .storeUnavailable, .interrupted]))
            """)

    @OptionGroup var box: RunOptions
    @OptionGroup var output: OutputOptions

    func perform(on console: Console) throws -> ExitStatus {
        var options = try engineOptions()
        let queue = try TransferQueue()
        options.onOverdue = { Run.leaveWithoutDisk() }
        let engine = EngineRun(queue: queue, options: options)
        let summary = try engine.runUntilSignalled { Signals.record($0) }
        if console.isJSON {
            try console.line { $0.summary(summary) }
        } else {
            try console.line(Run.text(summary))
        }
        return Signals.received == Signals.interrupt ? .interrupted : .done
    }

    func engineOptions() throws(LonghaulError) -> EngineOptions {
        var options = EngineOptions(mode: .run)
        options.untilDrained = true
        try box.apply(to: &options)
        options.limits = try ConfigurationFile.read().limits
        return options
    }

    /// The written bytes are recovered at the next start, as after a crash.
    static func leaveWithoutDisk() -> Never {
        let status: ExitStatus = Signals.received == Signals.interrupt ? .interrupted : .done
        Console.sayHanging()
        OwnProcess.exitNow(status.rawValue)
    }

    static func text(_ summary: EngineSummary) -> String {
        if summary.stoppedBy == .busy { return "another engine runs and does the work" }
        let why =
            switch summary.stoppedBy {
            case .drained: "nothing more to do now"
            case .maxTime: "the time is over"
            case .maxBytes: "the bytes are used up"
            case .signal: "stopped by a signal"
            case .busy: ""
            }
        return
            "\(Units.count(summary.completed)) completed, \(Units.count(summary.failed)) failed, "
            + "\(Units.count(summary.left)) left; \(Units.size(summary.bytes)) in "
            + "\(Units.duration(summary.seconds)): \(why)"
    }
}
