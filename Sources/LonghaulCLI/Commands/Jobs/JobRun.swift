import ArgumentParser
import Longhaul
import LonghaulPlatform

struct JobRun: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "run", abstract: "Run a job now, whatever it waits for.",
        discussion: """
            With --wait the output of the command is shown, and its exit status is that of this \
            one: 128 and the number of the signal where a signal ended it. Ctrl-C does not end the \
            run.

            \(ExitStatus.help([.done, .noSuchTransfer, .refused, .usage, .storeUnavailable, .interrupted]))
            """)

    @OptionGroup var which: JobName

    @Flag(help: "Show its output, and end with its exit status.")
    var wait = false

    @OptionGroup var start: StartOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        if wait, start.noStart { throw ValidationError("--wait needs an engine") }
    }

    func perform(on console: Console) throws -> ExitStatus {
        if !wait { _ = try start.isWanted() }
        let queue = try TransferQueue()
        let before = try queue.jobs.find(which.name).lastRun ?? 0
        if wait { Signals.watch() }
        try queue.jobs.run(which.name)
        if !wait {
            start.start(queue, on: console)
            return try which.report(queue, on: console)
        }
        try queue.startBackgroundEngine()
        let reader = JobOutput(queue, which.name, on: console)
        guard let run = try reader.nextRun(after: before) else { return .interrupted }
        let isOver = try reader.read(run, following: true) { part in
            guard case .line(let line) = part else { return }
            if line.stream == .output, !console.isJSON {
                try console.line(line.text)
            } else {
                console.complain(line.text)
            }
        }
        guard isOver != false, let end = try reader.end(of: run) else { return .interrupted }
        if console.isJSON { _ = try which.report(queue, on: console) }
        try console.flush()
        OwnProcess.exit(Self.status(of: end))
    }

    /// The exit status of a run, as a shell would give it.
    static func status(of run: TaskRun) -> Int32 {
        if let status = run.exitStatus { return Int32(clamping: status) }
        if let signal = run.signal { return 128 + Int32(clamping: signal) }
        return run.result == .success ? 0 : ExitStatus.transferFailed.rawValue
    }
}
