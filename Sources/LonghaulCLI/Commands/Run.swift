import ArgumentParser
import Longhaul
import LonghaulPlatform

struct Run: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Process the queue until nothing more can run now, then exit (for cron).",
        discussion: """
            Waits out back-offs of up to a minute. SIGTERM: everything is saved, exit 0. If \
            another engine runs: says so, exit 0.

            For each transfer, job, host and task that fails a line goes to standard error. Exit \
            1 if a transfer has failed in this run, and with --fail-on-jobs if a job has.

              longhaul run
              longhaul run --max-time 20m --max-bytes 2G
              longhaul run --only discretionary --json

            \(ExitStatus.help([.done, .transferFailed, .internalError, .usage, .storeUnavailable, .interrupted]))
            """)

    @OptionGroup var box: RunOptions
    @OptionGroup var output: OutputOptions

    func perform(on console: Console) throws -> ExitStatus {
        var options = try engineOptions()
        let queue = try TransferQueue()
        options.onOverdue = { Run.leaveWithoutDisk() }
        options.onFailure = { Console.sayFailure($0) }
        let engine = EngineRun(queue: queue, options: options)
        let began = SystemClock.now().wall
        var summary = try engine.runUntilSignalled { Signals.record($0) }
        if summary.stoppedBy != .busy { try sayMissedRuns(queue, since: began, &summary, console) }
        if console.isJSON {
            try console.line { $0.value(summary) }
        } else {
            try console.line(Run.text(summary))
        }
        if Signals.received == Signals.interrupt { return .interrupted }
        let jobsCount = box.failOnJobs && summary.jobsFailed > 0
        return summary.failed > 0 || jobsCount ? .transferFailed : .done
    }

    /// Reports the jobs that failed in this run without a launch.
    private func sayMissedRuns(
        _ queue: TransferQueue, since began: Timestamp, _ summary: inout EngineSummary,
        _ console: Console
    ) throws {
        let text = JobText(time: .current())
        for job in try queue.jobs.all() {
            guard let run = job.runs.first, run.launch == 0, let end = run.endedAt, end >= began
            else { continue }
            console.complain("longhaul: job \(TerminalText.shown(job.name)) \(text.ending(run))")
            summary.hostsFailed += 1
            summary.jobsFailed += 1
        }
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
        let others = [
            (summary.hostsFailed - summary.jobsFailed, "hosts"), (summary.jobsFailed, "jobs"),
        ].map { $0 > 0 ? ", \(Units.counted($0, "failure")) of \($1)" : "" }.joined()
        return
            "\(Units.count(summary.completed)) completed, \(Units.count(summary.failed)) failed, "
            + "\(Units.count(summary.left)) left\(others); \(Units.size(summary.bytes)) in "
            + "\(Units.duration(summary.seconds)): \(why)"
    }
}
