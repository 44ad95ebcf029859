import ArgumentParser
import Longhaul

struct JobAdd: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "add", abstract: "Add a job that stays, or replace the one of that name.",
        discussion: """
            Prints when it runs. Without --every, --at, --calendar and --on it runs at once, and \
            then when `job run` asks for it. The command is run by no shell, with the working directory of \
            this one and its PATH, HOME, LANG, LC_*, USER, LOGNAME, SHELL and TZ.

            With --every there is one run in each interval. Within the tolerance it prefers \
            external power, an unmetered network and an idle machine, or what --prefer says; at \
            the end of the tolerance it runs without them. The first run is due at once.

            Times of day are in the zone TZ, or without it in the machine's, also where that \
            changes.

            \(TriggerOptions.discussion)

              longhaul job add backup --every 1d --require power -- restic backup docs
              longhaul job add copy --at 02:30 --days Mon-Fri -- rsync -a /srv/ b:/srv
              longhaul job add trim --calendar 'Mon *-*-01..07 03:00' -- /sbin/fstrim /
              longhaul job add mail --on online,resume -- mbsync -a

            \(ExitStatus.help([.done, .refused, .usage, .storeUnavailable]))
            """)

    @Argument(help: "The job's name: letters, digits, '.', '_' and '-'.")
    var name: String

    @Argument(
        parsing: .postTerminator, help: "After --: the command and its arguments.",
        completion: Candidates.programs)
    var command: [String] = []

    @Option(help: ArgumentHelp("Repeat it: 1s to 365d.", valueName: "duration"))
    var every: String?

    @Option(
        help: ArgumentHelp(
            "How much earlier a run may begin (default: half).", valueName: "duration"))
    var tolerance: String?

    @Option(
        help: ArgumentHelp(
            "Repeat it at this time of day: 02:30 (a list, repeatable).", valueName: "hh:mm"))
    var at: [String] = []

    @Option(help: ArgumentHelp("Only on these days: Mon-Fri or Sat,Sun.", valueName: "days"))
    var days: String?

    @Option(
        help: ArgumentHelp(
            "Repeat it at these moments, as systemd.time(7) writes them: 'Mon *-*-01..07 03:00'.",
            valueName: "moments"))
    var calendar: String?

    @OptionGroup var triggers: TriggerOptions

    @OptionGroup var conditions: FieldOptions<JobFields>
    @OptionGroup var when: JobConditionOptions
    @OptionGroup var how: JobRunOptions
    @OptionGroup var start: StartOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        if tolerance != nil, every == nil {
            throw ValidationError("--tolerance is a part of --every")
        }
        if days != nil, at.isEmpty { throw ValidationError("--days is a part of --at") }
        let whens = [every != nil, !at.isEmpty, calendar != nil, !triggers.events.isEmpty]
        if whens.count(where: { $0 }) > 1 {
            throw ValidationError("--every, --at, --calendar and --on exclude each other")
        }
    }

    func request(_ context: InputContext) throws(LonghaulError) -> TaskRequest {
        var request = try when.request(conditions, context)
        if when.retries == nil { request.job?.retries = jobRetries }
        if let every {
            request.repetition = try OptionText.repetition(every: every, tolerance: tolerance)
        }
        if !at.isEmpty {
            let times = at.joined(separator: ",")
            request.job?.daily = try OptionText.daily(times, days: days)
        }
        if let calendar {
            request.job?.calendar = try OptionText.calendar(calendar, "--calendar")
        }
        request.triggers = try triggers.read()
        return request
    }

    /// Returns its name.
    @discardableResult
    func record(in queue: TransferQueue) throws -> String {
        let context = InputContext.current()
        return try queue.jobs.add(
            name, try JobRunOptions.command(command, context), try how.settings(context),
            try request(context))
    }

    func perform(on console: Console) throws -> ExitStatus {
        let isStarted = try start.isWanted()
        let queue = try TransferQueue()
        let name = try record(in: queue)
        start.start(queue, on: console)
        var job = try queue.jobs.find(name)
        // A job that waits for an engine only begins with the one that starts now.
        if isStarted { job.waitingFor.removeAll { $0.reason == .engine } }
        if console.isJSON {
            try console.line { $0.value(job) }
        } else {
            try console.line(JobText(time: .current()).added(job))
            start.sayWhatAReboot(ends: queue, on: console)
        }
        return .done
    }
}

struct JobOnce: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "once", abstract: "Run a command once, when the machine is right.",
        discussion: """
            Prints the name of the job. A run that fails is tried again until it succeeds or its \
            deadline has passed. `job remove` removes the rest of the job.

            With --after it runs when these transfers have completed. If one of them fails or is \
            cancelled, the job ends without a run, as failed.

              longhaul job once --require power,idle -- make -C ~/src/main check
              longhaul job once --earliest 22:00 --deadline 12h -- apt-get -yd upgrade
              longhaul job once --after 7 -- tar -xf big.tar.gz -C /srv

            \(ExitStatus.help([.done, .refused, .usage, .storeUnavailable]))
            """)

    @Argument(
        parsing: .postTerminator, help: "After --: the command and its arguments.",
        completion: Candidates.programs)
    var command: [String] = []

    @Option(help: "Its name (default: job-N).")
    var name: String?

    @Option(
        parsing: .upToNextOption,
        help: ArgumentHelp(
            "When these transfers have completed (several, repeatable).", valueName: "ids"),
        completion: Candidates.ids)
    var after: [TransferID] = []

    @OptionGroup var conditions: FieldOptions<JobFields>
    @OptionGroup var when: JobConditionOptions
    @OptionGroup var how: JobRunOptions
    @OptionGroup var start: StartOptions
    @OptionGroup var output: OutputOptions

    /// Returns its name.
    @discardableResult
    func record(in queue: TransferQueue) throws -> String {
        let context = InputContext.current()
        var settings = try how.settings(context)
        settings.isOnce = true
        var request = try when.request(conditions, context)
        request.job?.after = Array(Set(after)).sorted()
        return try queue.jobs.add(
            name, try JobRunOptions.command(command, context), settings, request)
    }

    func perform(on console: Console) throws -> ExitStatus {
        _ = try start.isWanted()
        let queue = try TransferQueue()
        let name = try record(in: queue)
        start.start(queue, on: console)
        if console.isJSON {
            let job = try queue.jobs.find(name)
            try console.line { $0.value(job) }
        } else {
            try console.line(name)
            start.sayWhatAReboot(ends: queue, on: console)
        }
        return .done
    }
}
