import ArgumentParser
import Longhaul
import LonghaulPlatform

/// `job log -f` looks so often for more of a log.
private let jobLogPollSeconds = 0.1

struct JobLogCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "log", abstract: "Show the output of a run, both streams, with times.",
        discussion: """
            Shows the last run. The logs of the last ten runs are kept, of each the first and the \
            last 512 KiB. An exclamation mark is before what came from standard error.

              longhaul job log backup
              longhaul job log -f backup
              longhaul job log backup --run 17 --json | jq -r .text

            \(ExitStatus.help([.done, .noSuchTransfer, .usage, .storeUnavailable, .interrupted]))
            """)

    @OptionGroup var which: JobName

    @Flag(
        name: .shortAndLong,
        help: "Print each line until the run ends; wait for a run that is asked for.")
    var follow = false

    @Option(help: ArgumentHelp("The run, by its number (default: the last).", valueName: "number"))
    var run: Int64?

    @OptionGroup var output: OutputOptions

    func perform(on console: Console) throws -> ExitStatus {
        let queue = try TransferQueue()
        if follow { Signals.watch() }
        let reader = JobOutput(queue, which.name, on: console)
        guard let number = try number(reader, queue) else {
            if follow { return .interrupted }
            throw LonghaulError(
                .noSuchTask, "the job \(TerminalText.shown(which.name)) has had no run")
        }
        let time = TimeText.current()
        let isOver = try reader.read(number, following: follow) { line in
            try show(line, of: number, time, on: console)
        }
        if isOver == nil {
            throw LonghaulError(
                .noSuchTask,
                "of run \(number) of the job \(TerminalText.shown(which.name)) no log is left")
        }
        return isOver == true ? .done : .interrupted
    }

    /// The run to show: the named one or the last; when following, one that `job run` has asked
    /// for. `nil`: none.
    private func number(_ reader: JobOutput, _ queue: TransferQueue) throws -> Int64? {
        if let run { return run }
        let last = try queue.jobs.find(which.name).lastRun
        if !follow { return last }
        // Found after the last run was: the run that was asked for has a higher number.
        let isAsked = try queue.jobs.find(which.name).isAsked
        return try isAsked ? reader.nextRun(after: last ?? 0) : last ?? reader.nextRun(after: 0)
    }

    private func show(
        _ part: JobOutput.Part, of run: Int64, _ time: TimeText, on console: Console
    ) throws {
        switch part {
        case .leftOut(let bytes):
            if console.isJSON { return }
            try console.line("… \(Units.size(bytes)) were not kept …")
        case .line(let line) where console.isJSON:
            try console.line { json in
                json.object {
                    $0.field("run", run)
                    $0.field("at", line.at)
                    $0.field("stream", line.stream == .errors ? "errors" : "output")
                    $0.field("text", line.text)
                }
            }
        case .line(let line):
            let mark = line.stream == .errors ? "! " : "  "
            let text = console.isTerminal ? TerminalText.shown(line.text) : line.text
            try console.line(time.full(line.at) + mark + text)
        }
    }
}

/// The output of the runs of a job, as it comes.
struct JobOutput {
    enum Part {
        case line(JobLog.Line)
        /// Number of bytes of a long log that were not kept.
        case leftOut(Int64)
    }

    private let queue: TransferQueue
    private let name: String
    private let console: Console
    private let changes: StoreChanges

    init(_ queue: TransferQueue, _ name: String, on console: Console) {
        self.queue = queue
        self.name = name
        self.console = console
        changes = StoreChanges(of: queue)
    }

    /// Waits for a run with a higher number; `nil`: interrupted.
    func nextRun(after number: Int64) throws -> Int64? {
        while try console.flushBeforeWait() == nil {
            if let last = try queue.jobs.find(name).lastRun, last > number { return last }
            changes.wait(timeout: Limits.followPollSeconds)
        }
        return nil
    }

    /// Reads a log to its end.
    ///
    /// - Parameter isFollowing: The end is the recorded end of the run.
    /// - Returns: `nil` = there is no log; `false`: interrupted.
    func read(
        _ run: Int64, following isFollowing: Bool, show: (Part) throws -> Void
    ) throws -> Bool? {
        let log = queue.jobs.log(of: name, run: run)
        var cursor = JobLog.Cursor()
        while true {
            // Asked before the last lines are read: the run's output is complete then.
            let isOver = try !isFollowing || end(of: run) != nil
            guard var lines = log.read(&cursor) else { return nil }
            while !lines.isEmpty {
                if cursor.leftOut > 0 { try show(.leftOut(cursor.leftOut)) }
                for line in lines { try show(.line(line)) }
                lines = log.read(&cursor) ?? []
            }
            if isOver { return true }
            if try console.flushBeforeWait() != nil { return false }
            changes.wait(timeout: jobLogPollSeconds)
        }
    }

    /// The end of a run; `nil` = it is running.
    func end(of run: Int64) throws -> TaskRun? {
        let runs = try queue.jobs.find(name).runs
        guard let known = runs.first(where: { $0.launch == run }) else {
            // Later runs have displaced its record.
            return TaskRun(launch: run, startedAt: Timestamp(milliseconds: 0))
        }
        return known.endedAt == nil ? nil : known
    }
}
