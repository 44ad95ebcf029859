package import LonghaulModel

/// A stored request or wake-up.
package struct StoredTask: Sendable {
    package var id: TaskID
    package var host: String
    package var kind: DueTask.Kind
    package var request: TaskRequest
    package var isUrgent: Bool
    package var expiresAt: Timestamp?
    package var submittedAt: Timestamp
    package var eligibility: EligibilityKey
    /// The engine considers it at this moment; later than due while its host cannot be launched.
    package var readyAt: Timestamp
    package var timing: TaskTiming
    /// When the timing was written.
    package var writtenAt: Timestamp
    /// Triggers that have fired and are not handed over yet.
    package var trigger: FiredTrigger?
    /// The launch that carries it; `nil` = it waits.
    package var launch: LaunchID?
    package var startedAt: Timestamp?
    /// Triggers that the present launch of a standing request hands over.
    package var firedBy: FiredTrigger?
    /// A launch, or the end of the one that carries it, was asked for.
    package var isSimulated = false
    /// The run that carries it is to be cancelled.
    package var isCancelled = false
    package var isPaused = false
    /// The transfers that must complete before it is due.
    package var awaits: [TransferID] = []
}

extension StoredTask {
    /// The reason for the next run of a job.
    package var reason: RunReason? {
        guard let job = request.job else { return nil }
        if isSimulated { return .asked }
        if timing.deferrals > 0 { return .again }
        let attempt = job.attempt(ofFailures: timing.failures)
        if attempt > 0, job.isTriedAgain(afterFailures: timing.failures) { return .retry }
        return trigger == nil ? .due : .trigger
    }
}

extension TaskTiming {
    /// Timing of a task, corrected for a clock that was set back since it was written.
    init(_ task: StoredTask, at now: Timestamp) {
        self = task.timing
        follow(
            task.writtenAt, earliest: task.request.earliestBegin,
            isDaily: task.request.job?.daily != nil, now: now)
    }
}

/// How the world has changed for a standing request, and when it last did so.
package struct FiredTrigger: Hashable, Sendable {
    /// All changes that are handed over together, in order; never empty, each once.
    package private(set) var events: [TaskTrigger]
    package private(set) var at: Timestamp

    package init(_ trigger: TaskTrigger, at: Timestamp) {
        events = [trigger]
        self.at = at
    }

    /// The last one.
    package var trigger: TaskTrigger { events[events.count - 1] }

    /// The trigger with everything that has fired since.
    func adding(_ new: FiredTrigger) -> FiredTrigger {
        var all = self
        all.events.removeAll { new.events.contains($0) }
        all.events += new.events
        all.at = new.at
        return all
    }

    // MARK: - Stored

    var text: String { Self.text(events) }

    init?(_ text: String, at: Timestamp) {
        events = Self.events(text)
        self.at = at
        if events.isEmpty { return nil }
    }

    static func events(_ text: String) -> [TaskTrigger] {
        text.split(separator: ",").compactMap { TaskTrigger(rawValue: String($0)) }
    }

    private static func text(_ events: [TaskTrigger]) -> String {
        events.map(\.rawValue).joined(separator: ",")
    }
}

/// The stored form of a request, but for its identifier, kind, host and payload.
private struct TaskDefinition: Codable {
    var earliest: Int64?
    var requirements: String
    var repetition: TaskRepetition?
    var triggers: [TaskTrigger]?
    var staysWhenRequirementIsLost: Bool?
    var endsWithExpiration: Bool?
    var job: JobDefinition?

    init(_ request: TaskRequest) {
        earliest = request.earliestBegin?.milliseconds
        requirements = request.requirements.names.joined(separator: ",")
        repetition = request.repetition
        triggers = request.triggers.isEmpty ? nil : request.triggers
        staysWhenRequirementIsLost = request.expiresWhenRequirementIsLost ? nil : true
        endsWithExpiration = request.returnsAfterExpiration ? nil : true
        job = request.job.map { JobDefinition($0) }
    }

    func apply(to request: inout TaskRequest) {
        request.earliestBegin = earliest.map(Timestamp.init(milliseconds:))
        request.requirements = ConditionNeeds(parsing: requirements) ?? ConditionNeeds()
        request.repetition = repetition
        request.triggers = triggers ?? []
        request.expiresWhenRequirementIsLost = staysWhenRequirementIsLost != true
        request.returnsAfterExpiration = endsWithExpiration != true
        request.job = job?.schedule
    }
}

/// The stored form of a job's schedule; its deadline is a column.
private struct JobDefinition: Codable {
    var window: String?
    var prefers: String?
    var isDiscretionary: Bool?
    /// The first time of day; ``minutes`` has all if there are several.
    var minute: Int?
    var minutes: [Int]?
    var days: Int?
    /// The zone of times of day and windows; `nil` = the machine's.
    var timeZone: String?
    var retries: Int?
    var after: [Int64]?

    init(_ schedule: JobSchedule) {
        window = schedule.windows?.description
        prefers = schedule.prefers?.names.joined(separator: ",")
        isDiscretionary = schedule.isDiscretionary ? true : nil
        minute = schedule.daily?.minutes.first
        minutes = schedule.daily.flatMap { $0.minutes.count > 1 ? $0.minutes : nil }
        timeZone = schedule.timeZone
        days = schedule.daily?.days.bits
        retries = schedule.retries
        after = schedule.after.isEmpty ? nil : schedule.after.map(\.rawValue)
    }

    var schedule: JobSchedule {
        var schedule = JobSchedule()
        schedule.windows = window.flatMap { TimeWindows(parsing: $0) }
        schedule.prefers = prefers.flatMap { ConditionNeeds(parsing: $0) }
        schedule.isDiscretionary = isDiscretionary == true
        schedule.daily = minute.map { minute in
            DailyMoment(
                minutes: [minute] + (minutes ?? []),
                days: days.flatMap(Weekdays.init(storedBits:)) ?? .all)
        }
        schedule.timeZone = timeZone
        schedule.retries = retries
        schedule.after = (after ?? []).map(TransferID.init(rawValue:))
        return schedule
    }
}

extension TaskRequest {
    var definition: String { StoredJSON.encode(TaskDefinition(self)) }
}

enum TaskColumns: Int32, StoredColumn {
    case id, host, identifier, kind, definition, payload, urgent, expiresAt, submittedAt
    case eligibility, readyAt, dueAt, mayBeginAt, waivesAt, windowAt, lastStart, failures
    case deferrals, writtenAt, trigger, triggeredAt, launch, startedAt, firedBy, firedAt
    case simulated, emptyRuns, paused, awaits

    static let select = "SELECT \(list) FROM task"

    static func read(_ row: StoredRow<TaskColumns>) -> StoredTask {
        let kind: DueTask.Kind = row.known(.kind) ?? .refresh
        var request = TaskRequest(
            identifier: row[.identifier], kind: kind == .processing ? .processing : .refresh,
            host: row[.host])
        let definition: TaskDefinition? = row.json(.definition)
        definition?.apply(to: &request)
        request.payload = row[.payload]
        request.job?.deadline = row[.expiresAt]
        var timing = TaskTiming(dueAt: row[.dueAt])
        timing.mayBeginAt = row[.mayBeginAt]
        timing.waivesAt = row[.waivesAt]
        timing.window = row[.windowAt]
        timing.lastStart = row[.lastStart]
        timing.failures = row.count(.failures)
        timing.deferrals = row.count(.deferrals)
        timing.emptyRuns = row.count(.emptyRuns)
        var task = StoredTask(
            id: row[.id], host: row[.host], kind: kind, request: request, isUrgent: row[.urgent],
            expiresAt: row[.expiresAt], submittedAt: row[.submittedAt],
            eligibility: EligibilityKey(stored: row[.eligibility], windows: nil),
            readyAt: row[.readyAt], timing: timing, writtenAt: row[.writtenAt],
            trigger: fired(row, .trigger, at: .triggeredAt), launch: row[.launch],
            startedAt: row[.startedAt], firedBy: fired(row, .firedBy, at: .firedAt),
            isSimulated: row[.simulated])
        task.isCancelled = row[.simulated] == 2
        task.isPaused = row[.paused]
        task.awaits = TransferDependencies.ids(row[.awaits])
        return task
    }

    private static func fired(
        _ row: StoredRow<TaskColumns>, _ events: TaskColumns, at moment: TaskColumns
    ) -> FiredTrigger? {
        FiredTrigger(row[events], at: row[moment])
    }
}
