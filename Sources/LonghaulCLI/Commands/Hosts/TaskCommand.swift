import ArgumentParser
import Longhaul

struct TaskCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "task",
        abstract:
            "Schedule background tasks of a host: once, repeatedly, or when the machine changes.",
        discussion: """
            A request is recorded on disk and survives this process, the engine and the machine. \
            The host has to permit its identifier (`host add --permit`).

              longhaul task submit refresh --every 1h
              longhaul task submit clean --kind processing --require power --every 7d
              longhaul task submit sync --on online,resume
              longhaul task submit export.7 --continued --title 'Exporting photos'
              longhaul task show refresh
            """,
        subcommands: [
            TaskSubmit.self, TaskList.self, TaskShow.self, TaskCancel.self,
            TaskSimulateLaunch.self, TaskSimulateExpiration.self,
        ])
}

struct TaskSubmit: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "submit",
        abstract: "Submit a task, or replace the waiting one of that identifier.",
        discussion: """
            Prints when it begins. Of one host \(Limits.pendingRefreshes) refresh, \
            \(Limits.pendingProcessings) processing and \(Limits.pendingContinued) continued \
            requests may wait, and \(Limits.pendingStanding) with --on.

            With --continued it is work that a person began and may leave: it begins at once, has \
            no time limit while it reports progress, and is shown with its title; `task cancel` \
            stops it. Its identifier may be one of a permitted wildcard (`host add --permit \
            'export.*'`).

            With --every there is one run in each interval. Within the tolerance it prefers \
            external power, an unmetered network and, for processing, an idle machine; at the end \
            of the tolerance it runs without them. The first run is due at once.

            \(TriggerOptions.discussion)

              longhaul task submit refresh --earliest +15m
              longhaul task submit clean --kind processing --require power,idle --every 7d
              longhaul task submit index --on mount --payload '{"full":false}'

            \(ExitStatus.help([.done, .noSuchTransfer, .refused, .usage, .storeUnavailable]))
            """)

    @Argument(help: "The task's identifier, one that a host permits.")
    var id: String

    @Option(
        help: ArgumentHelp(
            "The time of a launch: 30 seconds or ten minutes (default: refresh).",
            valueName: "refresh|processing"))
    var kind: LaunchTime?

    @OptionGroup var continued: ContinuedOptions

    @Option(help: "The host to launch (default: the one that permits the identifier).")
    var host: String?

    @OptionGroup var conditions: FieldOptions<TaskFields>

    @Option(help: ArgumentHelp("Repeat it: 1s to 365d.", valueName: "duration"))
    var every: String?

    @Option(
        help: ArgumentHelp(
            "How much earlier a run may begin (default: half).", valueName: "duration"))
    var tolerance: String?

    @OptionGroup var triggers: TriggerOptions

    @Option(help: ArgumentHelp("Your own JSON, handed to the host.", valueName: "json"))
    var payload: String?

    @Option(
        help: ArgumentHelp(
            "What to do when a requirement is lost during a run (default: again).",
            valueName: "again|continue|drop"))
    var whenLost: WhenLost = .again

    @OptionGroup var start: StartOptions
    @OptionGroup var output: OutputOptions

    /// The kinds of tasks that have a time limit.
    enum LaunchTime: String, CaseIterable, ExpressibleByArgument {
        case refresh, processing
    }

    /// Treatment of a run whose requirement does not hold any more.
    enum WhenLost: String, CaseIterable, ExpressibleByArgument {
        /// The run expires, and comes again when the requirement holds.
        case again
        /// The run continues.
        case `continue`
        /// The run expires, and does not come again for that.
        case drop
    }

    func validate() throws {
        if tolerance != nil, every == nil {
            throw ValidationError("--tolerance is a part of --every")
        }
        if every != nil, !triggers.events.isEmpty {
            throw ValidationError("--every and --on exclude each other")
        }
        if host == "" { throw ValidationError("--host must not be empty") }
        let isPlanned = kind != nil || every != nil || !triggers.events.isEmpty
        if continued.isWanted, isPlanned {
            throw ValidationError("--continued excludes --kind, --every and --on")
        }
    }

    func request(_ context: InputContext) throws(LonghaulError) -> TaskRequest {
        var request = TaskRequest(
            identifier: id, kind: kind == .processing ? .processing : .refresh, host: host)
        if let work = continued.work {
            request = TaskRequest(identifier: id, continued: work, host: host)
        }
        var said = TransferRequest.blank
        try conditions.apply(to: &said, context)
        request.earliestBegin = said.earliestBegin
        request.requirements = said.schedule.requires
        if let every {
            request.repetition = try OptionText.repetition(every: every, tolerance: tolerance)
        }
        request.triggers = try triggers.read()
        if let payload { request.payload = try OptionText.json(payload, "--payload") }
        request.expiresWhenRequirementIsLost = whenLost != .continue
        request.returnsAfterExpiration = whenLost == .again
        return request
    }

    func perform(on console: Console) throws -> ExitStatus {
        let isStarted = try start.isWanted()
        let request = try request(.current())
        let queue = try TransferQueue()
        if request.continued?.strategy == .fail, !isStarted, !queue.isEngineRunning {
            throw LonghaulError.cannotBegin(TerminalText.shown(id), [])
        }
        var task = try queue.tasks.submit(request)
        start.start(queue, on: console)
        // The engine that starts now ends a wait for an engine.
        if isStarted { task.waitingFor.removeAll { $0.reason == .engine } }
        if console.isJSON {
            try console.line { $0.value(task) }
        } else {
            try console.line(TaskText(time: .current()).submitted(task))
        }
        return .done
    }
}

/// The options of a continued task.
struct ContinuedOptions: ParsableArguments {
    @Flag(
        name: .customLong("continued"),
        help: "Work that a person began: at once, with progress, without a time limit.")
    var isWanted = false

    @Option(help: "The title that people see, with --continued.")
    var title: String?

    @Option(help: "Shown below the title.")
    var subtitle: String?

    @Option(
        help: ArgumentHelp(
            "If it cannot begin at once, with --continued (default: queue).",
            valueName: "queue|fail"))
    var strategy: SubmissionStrategy?

    func validate() throws {
        if isWanted, title == nil { throw ValidationError("--continued needs --title") }
        if !isWanted, title != nil || subtitle != nil || strategy != nil {
            throw ValidationError("--title, --subtitle and --strategy are parts of --continued")
        }
    }

    /// `nil` = the task is of another kind.
    var work: ContinuedWork? {
        if !isWanted { return nil }
        return ContinuedWork(
            title: title ?? "", subtitle: subtitle, strategy: strategy ?? .queue)
    }
}

/// Says which request is meant.
struct TaskName: ParsableArguments {
    @Argument(help: "The task's identifier.")
    var id: String

    @Option(help: "Its host, where several have one of that identifier.")
    var host: String?

    func find(in queue: TransferQueue) throws(LonghaulError) -> TaskRecord {
        guard let task = try queue.tasks.find(id, host: host) else {
            throw LonghaulError.noSuchTask(id)
        }
        return task
    }

    /// Prints the present request, for programs.
    func report(_ queue: TransferQueue, on console: Console) throws -> ExitStatus {
        guard console.isJSON, let task = try queue.tasks.find(id, host: host) else { return .done }
        try console.line { $0.value(task) }
        return .done
    }
}

struct TaskList: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the tasks that wait or run, by host and identifier.",
        discussion: """
              longhaul task list --host com.example.feed
              longhaul task list --json | jq -r 'select(.state == "waiting").identifier'

            \(ExitStatus.help([.done, .noSuchTransfer, .usage, .storeUnavailable]))
            """)

    @Option(help: "Only requests of this host.")
    var host: String?

    @OptionGroup var output: OutputOptions

    func perform(on console: Console) throws -> ExitStatus {
        let queue = try TransferQueue()
        let tasks = try queue.tasks.all(host: host)
        if tasks.isEmpty { try queue.checkKnown(host) }
        if console.isJSON {
            for task in tasks { try console.line { $0.value(task) } }
            return .done
        }
        let terminal = TerminalFacts.of(1)
        for line in TaskText(time: .current()).table(tasks, terminal) { try console.line(line) }
        return .done
    }
}

struct TaskShow: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract:
            "Show everything about one task: what it waits for, when it begins, its last runs.",
        discussion: """
            A request that was carried out is shown by its runs, while they are kept.

            \(ExitStatus.help([.done, .noSuchTransfer, .refused, .usage, .storeUnavailable]))
            """)

    @OptionGroup var name: TaskName
    @OptionGroup var output: OutputOptions

    func perform(on console: Console) throws -> ExitStatus {
        let task = try name.find(in: TransferQueue())
        if console.isJSON {
            try console.line { $0.value(task) }
            return .done
        }
        for line in TaskText(time: .current()).lines(task) { try console.line(line) }
        return .done
    }
}

struct TaskCancel: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel",
        abstract: "Withdraw tasks, all that are named or none; a running launch continues.",
        discussion: """
            A continued task that runs is stopped: it is asked to end, and killed 5 s later.

              longhaul task cancel clean refresh
              longhaul task cancel --all --host com.example.feed

            \(ExitStatus.help([.done, .noSuchTransfer, .refused, .usage, .storeUnavailable]))
            """)

    @Argument(help: "The tasks' identifiers.")
    var ids: [String] = []

    @Flag(help: "All requests.")
    var all = false

    @Option(help: "Only requests of this host.")
    var host: String?

    @OptionGroup var output: OutputOptions

    func validate() throws {
        if all == !ids.isEmpty { throw ValidationError("say which tasks, or --all") }
    }

    func perform(on console: Console) throws -> ExitStatus {
        let queue = try TransferQueue()
        if all {
            let count = try queue.tasks.cancelAll(host: host)
            if count == 0 { try queue.checkKnown(host) }
            if console.isJSON {
                try console.line { $0.object { $0.field("cancelled", count) } }
            } else {
                try console.line("\(Units.counted(count, "request")) cancelled")
            }
            return .done
        }
        try queue.tasks.cancel(ids, host: host)
        if !console.isJSON { return .done }
        for id in ids.uniqued {
            try console.line { json in
                json.object {
                    $0.field("identifier", id)
                    $0.field("cancelled", true)
                }
            }
        }
        return .done
    }
}

struct TaskSimulateLaunch: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate-launch",
        abstract: "Launch the host for a task now, whatever it waits for (for tests).",
        discussion: ExitStatus.help(
            [.done, .noSuchTransfer, .refused, .usage, .storeUnavailable]))

    @OptionGroup var name: TaskName
    @OptionGroup var start: StartOptions
    @OptionGroup var output: OutputOptions

    func perform(on console: Console) throws -> ExitStatus {
        _ = try start.isWanted()
        let queue = try TransferQueue()
        try queue.tasks.simulateLaunch(of: name.id, host: name.host)
        start.start(queue, on: console)
        return try name.report(queue, on: console)
    }
}

struct TaskSimulateExpiration: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate-expiration",
        abstract: "End the launch that runs a task now (for tests).",
        discussion: ExitStatus.help(
            [.done, .noSuchTransfer, .refused, .usage, .storeUnavailable]))

    @OptionGroup var name: TaskName
    @OptionGroup var output: OutputOptions

    func perform(on console: Console) throws -> ExitStatus {
        let queue = try TransferQueue()
        try queue.tasks.simulateExpiration(of: name.id, host: name.host)
        return try name.report(queue, on: console)
    }
}

extension TransferQueue {
    /// A removed host may have requests: called only when none are found.
    fileprivate func checkKnown(_ host: String?) throws(LonghaulError) {
        guard let name = host, try self.host(name) == nil else { return }
        throw LonghaulError(.noSuchHost, "there is no host \(TerminalText.shown(name))")
    }
}
