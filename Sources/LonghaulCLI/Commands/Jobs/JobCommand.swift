import ArgumentParser
import Longhaul

struct JobCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "job",
        abstract: "Run any command when the machine is right: daily, on power, after a missed day.",
        discussion: """
            A job is recorded on disk and survives this process, the engine and the machine. It \
            never runs twice at a time, and runs that were missed are made up for by one.

              longhaul job add backup --every 1d --require power -- restic backup docs
              longhaul job add fetch --at 07:30 --days Mon-Fri -- git -C ~/src/main fetch
              longhaul job once --require idle -- make -C ~/src/main check
              longhaul job log -f backup

            An exit status of 0 is success, 75 puts the run off without a failure, and any other \
            is a failure: it is tried again after 60s, doubled up to 1h.
            """,
        subcommands: [
            JobAdd.self, JobOnce.self, JobList.self, JobShow.self, JobWhy.self, JobLogCommand.self,
            JobRun.self, JobPause.self, JobResume.self, JobCancel.self, JobRemove.self,
        ])
}

/// Says which job is meant.
struct JobName: ParsableArguments {
    @Argument(help: "The job's name.", completion: Candidates.jobs)
    var name: String
}

extension JobName {
    /// Prints the job: for programs whole, for people these lines of it.
    func show(on console: Console, _ lines: (JobText, JobRecord) -> [String]) throws -> ExitStatus {
        let queue = try TransferQueue()
        if console.isJSON { return try report(queue, on: console) }
        let job = try queue.jobs.find(name)
        for line in lines(JobText(time: .current()), job) { try console.line(line) }
        return .done
    }

    /// Prints the present job, for programs.
    func report(_ queue: TransferQueue, on console: Console) throws -> ExitStatus {
        if console.isJSON {
            let job = try queue.jobs.find(name)
            try console.line { $0.value(job) }
        }
        return .done
    }
}

struct JobList: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List all jobs, by name.",
        discussion: ExitStatus.help([.done, .usage, .storeUnavailable]))

    @OptionGroup var output: OutputOptions

    func perform(on console: Console) throws -> ExitStatus {
        let jobs = try TransferQueue().jobs.all()
        if console.isJSON {
            for job in jobs { try console.line { $0.value(job) } }
            return .done
        }
        let terminal = TerminalFacts.of(1)
        for line in JobText(time: .current()).table(jobs, terminal) { try console.line(line) }
        return .done
    }
}

struct JobShow: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show everything about one job: when it runs, and its last runs.",
        discussion: ExitStatus.help([.done, .noSuchTransfer, .usage, .storeUnavailable]))

    @OptionGroup var which: JobName
    @OptionGroup var output: OutputOptions

    func perform(on console: Console) throws -> ExitStatus {
        try which.show(on: console) { text, job in text.lines(job) }
    }
}

struct JobWhy: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "why", abstract: "Say what a job waits for, and when it will run.",
        discussion: ExitStatus.help([.done, .noSuchTransfer, .usage, .storeUnavailable]))

    @OptionGroup var which: JobName
    @OptionGroup var output: OutputOptions

    func perform(on console: Console) throws -> ExitStatus {
        try which.show(on: console) { text, job in text.why(job) }
    }
}

struct JobPause: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Pause a job: a present run continues, and only `job run` begins another.",
        discussion: ExitStatus.help([.done, .noSuchTransfer, .refused, .usage, .storeUnavailable]))

    @OptionGroup var which: JobName
    @OptionGroup var output: OutputOptions

    func perform(on console: Console) throws -> ExitStatus {
        let queue = try TransferQueue()
        try queue.jobs.setPaused(which.name, true)
        return try which.report(queue, on: console)
    }
}

struct JobResume: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Resume a paused job; if it missed runs, one is made up for.",
        discussion: ExitStatus.help([.done, .noSuchTransfer, .refused, .usage, .storeUnavailable]))

    @OptionGroup var which: JobName
    @OptionGroup var start: StartOptions
    @OptionGroup var output: OutputOptions

    func perform(on console: Console) throws -> ExitStatus {
        let queue = try TransferQueue()
        try queue.jobs.setPaused(which.name, false)
        start.start(queue, on: console)
        return try which.report(queue, on: console)
    }
}

struct JobCancel: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel",
        abstract:
            "End the present run (SIGTERM, and SIGKILL after --grace); the next one stays due.",
        discussion: """
            Of `job once` a run that waits is given up. A cancelled run is no failure.

            \(ExitStatus.help([.done, .noSuchTransfer, .refused, .usage, .storeUnavailable]))
            """)

    @OptionGroup var which: JobName
    @OptionGroup var start: StartOptions
    @OptionGroup var output: OutputOptions

    func perform(on console: Console) throws -> ExitStatus {
        let queue = try TransferQueue()
        try queue.jobs.cancel(which.name)
        // Without an engine nothing could end the run.
        start.start(queue, on: console)
        return try which.report(queue, on: console)
    }
}

struct JobRemove: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Forget a job with its runs and their logs.",
        discussion: ExitStatus.help([.done, .noSuchTransfer, .refused, .usage, .storeUnavailable]))

    @OptionGroup var which: JobName
    @OptionGroup var output: OutputOptions

    func perform(on console: Console) throws -> ExitStatus {
        try TransferQueue().jobs.remove(which.name)
        try console.removed(which.name)
        return .done
    }
}
