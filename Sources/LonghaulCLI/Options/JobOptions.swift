import ArgumentParser
import Longhaul
import LonghaulPlatform

/// The options of a run's conditions.
struct JobConditionOptions: ParsableArguments {
    /// The fate of a run whose requirement does not hold any more.
    enum WhenLost: String, CaseIterable, ExpressibleByArgument {
        /// The run is asked to end, and comes again when the requirement holds.
        case stop
        /// The run continues.
        case `continue`
    }

    @Option(
        help: ArgumentHelp(
            "Begin no run after this: a time, or a duration (12h).", valueName: "when"))
    var deadline: String?

    @Option(
        help: ArgumentHelp(
            "What to do with a run when a requirement is lost (default: stop).",
            valueName: "stop|continue"))
    var whenLost: WhenLost = .stop

    @Option(
        help: ArgumentHelp(
            "Retries of a failed run (default: 3; with job once, until it succeeds).",
            valueName: "count"))
    var retries: String?

    /// A request without a name and with the schedule of a job.
    func request(
        _ conditions: FieldOptions<JobFields>, _ context: InputContext
    ) throws(LonghaulError) -> TaskRequest {
        var request = TaskRequest(identifier: "job", kind: .processing)
        var schedule = JobSchedule()
        var said = TransferRequest.blank
        try conditions.apply(to: &said, context)
        request.earliestBegin = said.earliestBegin
        request.requirements = said.schedule.requires
        schedule.prefers = said.schedule.prefers
        schedule.isDiscretionary = said.isDiscretionary
        schedule.windows = said.schedule.windows
        if let deadline {
            let begin = max(request.earliestBegin ?? context.now, context.now)
            switch try OptionText.deadline(
                deadline, "--deadline", context, earliest: request.earliestBegin)
            {
            case .at(let time): schedule.deadline = time
            case .after(let seconds): schedule.deadline = begin + seconds
            }
        }
        if let retries { schedule.retries = try OptionText.retries(retries, "--retries") }
        request.expiresWhenRequirementIsLost = whenLost == .stop
        request.job = schedule
        return request
    }
}

/// The options that say how the command is run.
struct JobRunOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Ask a run to end after this time (default: never).", valueName: "duration"))
    var maxTime: String?

    @Option(
        help: ArgumentHelp(
            "Time from SIGTERM to SIGKILL when a run is ended (default: 30s).",
            valueName: "duration"))
    var grace: String?

    @Option(
        name: .customLong("env"),
        help: ArgumentHelp("Set a variable of the command (repeatable).", valueName: "K=V"))
    var variables: [String] = []

    @Option(
        help: "Run it in this directory (default: the present one).", completion: .directory)
    var directory: String?

    @Option(
        help: ArgumentHelp(
            "0 = usual priority; 1 to 19 = lower, and the disk only when it is free (default: 10).",
            valueName: "number"))
    var nice: String?

    @Option(
        help: ArgumentHelp(
            "Keep an unused machine from going to sleep during a run (default: off).",
            valueName: "off|on|on-power"))
    var inhibitSleep: SleepInhibition = .off

    @Option(
        help: ArgumentHelp(
            "Run beside no other job of this slot; beside fewer than N with NAME=N.",
            valueName: "name"))
    var slot: String?

    @Option(
        help: ArgumentHelp(
            "How much memory a run may have; 1M or more (default: without a limit).",
            valueName: "size"))
    var maxMemory: String?

    @Flag(help: "Notify when a run fails, and of a job that runs once also when it is done.")
    var notify = false

    func settings(
        _ context: InputContext, environment: [String: String] = Environment.all()
    ) throws(LonghaulError) -> JobSettings {
        let place =
            if let directory {
                try JobSettings.directory(directory, "--directory", context)
            } else {
                try context.directory.get()
            }
        var settings = JobSettings.ofCaller(in: place, environment: environment)
        for text in variables {
            let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, !parts[0].isEmpty, !parts[0].hasPrefix("LONGHAUL_") else {
                throw .usage("--env: a variable is NAME=VALUE, and LONGHAUL_… is not for jobs")
            }
            settings.environment[String(parts[0])] = String(parts[1])
        }
        if let maxTime {
            settings.maxSeconds = try OptionText.duration(maxTime, "--max-time")
            if settings.maxSeconds == 0 { throw .usage("--max-time: no run would begin") }
        }
        if let grace { settings.graceSeconds = try OptionText.duration(grace, "--grace") }
        if let nice {
            guard let number = Int(nice), (0...19).contains(number) else {
                throw .usage("--nice: '\(TerminalText.shown(nice))' is not 0 to 19")
            }
            settings.nice = number
        }
        settings.inhibitsSleep = inhibitSleep
        settings.notifies = notify
        if let slot { settings.slot = try OptionText.slot(slot, "--slot") }
        settings.maxMemory = try maxMemory.map { text throws(LonghaulError) in
            try OptionText.memory(text, "--max-memory")
        }
        return settings
    }

    /// The command with its program by absolute path, as a shell would find it now.
    static func command(
        _ words: [String], _ context: InputContext,
        environment: [String: String] = Environment.all()
    ) throws(LonghaulError) -> [String] {
        if words.first?.isEmpty ?? true { throw .usage("say which command: -- COMMAND ARG…") }
        return try JobWords.resolved(words, context, environment: environment)
    }
}

/// The changes of the machine that begin a task or a job.
struct TriggerOptions: ParsableArguments {
    /// For the help of the command.
    static let discussion = """
        The events of --on are online, network-change, power, battery, resume, boot, mount, \
        mount=NAME (a label, UUID or path), network=NAME and path=PATH: a file there, or in the \
        directory there, is new or changed, and complete for --settle.
        """

    @Option(
        name: .customLong("on"),
        help: ArgumentHelp(
            "Begin each time this happens (a list, repeatable).", valueName: "event"),
        completion: .list(TaskTrigger.allCases.map(\.rawValue)))
    var events: [String] = []

    @Option(
        help: ArgumentHelp(
            "How long a file of --on path= is unchanged (default: 10s).",
            valueName: "duration"))
    var settle: String?

    func validate() throws {
        if settle != nil, events.isEmpty { throw ValidationError("--settle is a part of --on") }
    }

    /// Without `--on` there are none.
    func read() throws(LonghaulError) -> [TaskTrigger] {
        events.isEmpty ? [] : try OptionText.triggers(events, settle: settle)
    }
}
