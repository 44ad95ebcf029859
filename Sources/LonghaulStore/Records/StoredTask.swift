package import LonghaulCore

/// A request or wake-up as it is stored.
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
    var minute: Int?
    var days: Int?
    var retries: Int?
    var after: [Int64]?

    init(_ schedule: JobSchedule) {
        window = schedule.windows?.description
        prefers = schedule.prefers?.names.joined(separator: ",")
        isDiscretionary = schedule.isDiscretionary ? true : nil
        minute = schedule.daily?.minute
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
            DailyMoment(minute: minute, days: days.flatMap(Weekdays.init(storedBits:)) ?? .all)
        }
        schedule.retries = retries
        schedule.after = (after ?? []).map(TransferID.init(rawValue:))
        return schedule
    }
}

extension TaskRequest {
    var definition: String { StoredJSON.encode(TaskDefinition(self)) }
}

enum TaskColumns {
    static let select = """
        SELECT id, host, identifier, kind, definition, payload, urgent, expiresAt, submittedAt, \
        eligibility, readyAt, dueAt, mayBeginAt, waivesAt, windowAt, lastStart, failures, \
        deferrals, writtenAt, trigger, triggeredAt, launch, startedAt, firedBy, firedAt, \
        simulated, emptyRuns, paused, awaits FROM task
        """

    static func read(_ row: StoredRow) -> StoredTask {
        let kind = DueTask.Kind(rawValue: row.int(3)) ?? .refresh
        var request = TaskRequest(
            identifier: row.text(2), kind: kind == .processing ? .processing : .refresh,
            host: row.text(1))
        StoredJSON.decode(TaskDefinition.self, row.text(4))?.apply(to: &request)
        request.payload = row.optionalText(5)
        request.job?.deadline = row.optionalTimestamp(7)
        var timing = TaskTiming(dueAt: row.timestamp(11))
        timing.mayBeginAt = row.timestamp(12)
        timing.waivesAt = row.optionalTimestamp(13)
        timing.window = row.optionalTimestamp(14)
        timing.lastStart = row.optionalTimestamp(15)
        timing.failures = row.count(16)
        timing.deferrals = row.count(17)
        timing.emptyRuns = row.count(26)
        var task = StoredTask(
            id: TaskID(rawValue: row.int64(0)), host: row.text(1), kind: kind, request: request,
            isUrgent: row.bool(6), expiresAt: row.optionalTimestamp(7),
            submittedAt: row.timestamp(8),
            eligibility: EligibilityKey(stored: row.int64(9), windows: nil),
            readyAt: row.timestamp(10), timing: timing, writtenAt: row.timestamp(18),
            trigger: fired(row, 19),
            launch: row.optionalInt64(21).map(LaunchID.init(rawValue:)),
            startedAt: row.optionalTimestamp(22), firedBy: fired(row, 23),
            isSimulated: row.bool(25))
        task.isCancelled = row.int(25) == 2
        task.isPaused = row.bool(27)
        task.awaits = TransferDependencies.ids(row.optionalText(28) ?? "")
        return task
    }

    private static func fired(_ row: StoredRow, _ column: Int32) -> FiredTrigger? {
        row.optionalText(column).flatMap { FiredTrigger($0, at: row.timestamp(column + 1)) }
    }
}

extension TaskID: Bindable {
    func bind(to handle: OpaquePointer, at index: Int32) -> Int32 {
        rawValue.bind(to: handle, at: index)
    }
}
