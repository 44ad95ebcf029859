internal import LonghaulCore
internal import LonghaulStore

/// A launch in memory, from the order of its process to the commit of its end.
struct KeptLaunch {
    let host: String
    let session: String?
    /// The process that took the launch, ran before and runs on; `nil` = one was made.
    let resident: ResidentID?
    /// Seconds.
    let budget: Double
    let program: LaunchedProgram
    /// When it is asked to end, and then when it is killed; `nil` = it has not begun.
    var endsAt: Instant?
    var isExpired = false
    /// Why it was asked to end.
    var expiration: ExpirationReason?
    /// A resident process has been told.
    var isExpirationTold = false
    /// Tasks of the launch that begin because a client has asked for it.
    var requested: Set<TaskID> = []
    /// Tasks of the launch that have no result yet.
    var tasks: [RunningTask] = []
    /// The continued task that it carries, alone; `nil` = it carries none.
    private(set) var continued: ContinuedRun?
    var processor = ProcessorWatch()
    /// An earlier engine began it, and its exit status is gone with that engine.
    var isAdopted = false
    var answers = UnrecordedAnswers()

    /// The processor time of a resident process is not measured, since it does other work, too; nor
    /// that of a job or a continued task, which may compute.
    mutating func watchProcessor(from now: Instant) {
        if budget > Limits.processorSeconds, resident == nil, !program.isJob, continued == nil {
            processor.sampleAt = now
        }
    }

    // MARK: - Continued tasks

    /// The launch has begun, or is adopted: a continued task has a minute for its first progress.
    mutating func watchProgress(from now: Instant) {
        guard let task = tasks.first(where: \.isContinued) else { return }
        continued = ContinuedRun(task.identifier, reports: task.reports, now: now)
    }

    /// Its program has reported progress, which puts off its end. After an expiration nothing does.
    mutating func receive(_ report: ProgressReport, now: Instant) {
        continued?.receive(report, now: now)
        putOffEnd()
    }

    /// A resident process has recorded this number of reports.
    mutating func receive(reports count: Int, now: Instant) {
        continued?.receive(reports: count, now: now)
        putOffEnd()
    }

    mutating func recordProgress(now: Instant) { continued?.record(now: now) }

    private mutating func putOffEnd() {
        if let continued, !isExpired { endsAt = continued.silentUntil }
    }

    // MARK: - Moments

    /// When the launch needs a turn.
    func moments(now: Moment, _ time: LocalTime) -> [Instant] {
        var moments = [endsAt, processor.sampleAt].compactMap { $0 }
        if endsAt == nil || isExpired { return moments }
        for task in tasks {
            guard let closes = task.closesAt(now: now.wall, time) else { continue }
            moments.append(now.monotonic + max(0, closes - now.wall))
        }
        return moments
    }

    /// The conditions that the launch depends on. A task that does not expire when they are lost is
    /// told of it: its process reads what this engine has published.
    var interest: ConditionNeeds {
        let sleep = ConditionNeeds(power: program.job?.inhibitsSleep == .onPower)
        return tasks.reduce(sleep) { $0.union($1.required.interest) }
    }

    /// True if its run keeps the machine awake.
    func keepsAwake(in conditions: Conditions) -> Bool {
        endsAt != nil && program.job?.inhibitsSleep.holds(in: conditions) ?? false
    }

    /// The launch knows that it is to end. A resident process reads it in the store.
    var wasAskedToEnd: Bool { isExpired && (resident == nil || isExpirationTold) }

    /// Seconds from the request to end to the kill. The supervisor of a job kills first.
    var grace: Double {
        program.job.map { $0.graceSeconds + Limits.jobSupervisorSeconds }
            ?? Limits.launchGraceSeconds
    }

    /// The engine before has asked a resident process to end it.
    mutating func resumeExpiration(_ requested: ExpirationReason?, now: Instant) {
        guard let requested else { return }
        expiration = requested
        isExpired = true
        isExpirationTold = true
        endsAt = now + grace
    }
}

/// The answers of a host that could not be recorded.
struct UnrecordedAnswers {
    /// How often that has failed.
    var failures = 0
    /// They were given up: the events of the launch are handed over again after any exit status.
    var areLost = false
}

/// The processor time of a launch, and the moment of the next reading.
struct ProcessorWatch {
    var monitor = ProcessorMonitor()
    /// `nil` = it is not read.
    var sampleAt: Instant?
}

/// Launches that were handed to processes which run by themselves: engine and process meet in the
/// store alone. The engine writes that a launch is to end, the process its results.
struct ResidentLaunches {
    private let writer: StoreWriter

    init(_ writer: StoreWriter) {
        self.writer = writer
    }

    /// Writes the expirations that the processes have not been told.
    func tellExpirations(of launches: inout [LaunchID: KeptLaunch]) throws(LonghaulError) {
        let expired = launches.filter { _, launch in
            launch.resident != nil && launch.isExpired && !launch.isExpirationTold
        }
        if expired.isEmpty { return }
        try writer.transaction(.relaxed) { tx in
            for (id, launch) in expired { try tx.launches.askToEnd(id, launch.expiration ?? .time) }
        }
        for id in expired.keys { launches[id]?.isExpirationTold = true }
    }

    /// The reports of the processes. A report is removed by the commit that settles it, so what
    /// cannot be recorded now is read again.
    func reports(of launches: [LaunchID: KeptLaunch]) throws(LonghaulError) -> [HostReport] {
        guard launches.values.contains(where: { $0.resident != nil }) else { return [] }
        return try writer.store.residents.reports().map { report in
            switch report.content {
            case .result(let task, let result): .result(report.launch, task: task, result)
            // The commit of the end finds the status.
            case .ended: .ended(report.launch, .unknown, status: nil, output: "")
            }
        }
    }
}

/// The launches of continued tasks: their programs report progress, which puts off their end.
struct ContinuedLaunches {
    private let writer: StoreWriter
    private let port: any HostPort

    init(_ writer: StoreWriter, _ port: any HostPort) {
        self.writer = writer
        self.port = port
    }

    /// Reads what their programs have reported; resident ones report in the store. Taken from each
    /// launch, so that nothing is kept of programs without a continued task.
    func receive(into launches: inout [LaunchID: KeptLaunch], now: Instant) {
        for (id, launch) in launches {
            let taken = launch.resident == nil ? port.takeProgress(of: id) : [:]
            guard let task = launch.continued?.identifier else { continue }
            if launch.resident != nil {
                guard let count = try? writer.store.tasks.reports(of: id) else { continue }
                launches[id]?.receive(reports: count, now: now)
            } else if let report = taken[task] {
                launches[id]?.receive(report, now: now)
            }
        }
    }

    /// A power cut may lose it: the next report is recorded soon.
    func record(of launches: inout [LaunchID: KeptLaunch], now: Instant) throws(LonghaulError) {
        for (id, launch) in launches {
            guard let run = launch.continued, let report = run.due(now: now) else { continue }
            try writer.transaction(.relaxed) { tx in
                try tx.carriedTasks.record(report, of: run.identifier, in: id)
            }
            launches[id]?.recordProgress(now: now)
        }
    }
}
