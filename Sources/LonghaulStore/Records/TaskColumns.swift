import LonghaulModel
private import Synchronization

/// The stored form of a request, but for its identifier, kind, host and payload.
private struct TaskDefinition: Codable, Sendable {
    var earliest: Int64?
    var requirements: String
    var prefers: String?
    var repetition: TaskRepetition?
    var triggers: [TaskTrigger]?
    var staysWhenRequirementIsLost: Bool?
    var endsWithExpiration: Bool?
    var continued: ContinuedWork?
    var job: JobDefinition?

    init(_ request: TaskRequest) {
        earliest = request.earliestBegin?.milliseconds
        requirements = request.requirements.names.joined(separator: ",")
        prefers = request.prefers?.names.joined(separator: ",")
        repetition = request.repetition
        triggers = request.triggers.isEmpty ? nil : request.triggers
        staysWhenRequirementIsLost = request.expiresWhenRequirementIsLost ? nil : true
        endsWithExpiration = request.returnsAfterExpiration ? nil : true
        continued = request.continued
        job = request.job.map { JobDefinition($0) }
    }

    /// Decoded definitions by their text: each decision reads all tasks, and decoding takes longer
    /// than the rest of a row.
    private static let known = Mutex<[ExactText: TaskDefinition]>([:])

    /// More than a machine has different ones; beyond it all are forgotten.
    private static let keptMaximum = 1024

    static func find(_ text: String) -> TaskDefinition? {
        let key = ExactText(text)
        if let found = known.withLock({ $0[key] }) { return found }
        guard let found = StoredJSON.decode(TaskDefinition.self, text) else { return nil }
        known.withLock {
            if $0.count == keptMaximum { $0 = [:] }
            $0[key] = found
        }
        return found
    }

    func apply(to request: inout TaskRequest) {
        request.earliestBegin = earliest.map(Timestamp.init(milliseconds:))
        request.requirements = ConditionNeeds(parsing: requirements) ?? ConditionNeeds()
        request.prefers = prefers.flatMap { ConditionNeeds(parsing: $0) }
        request.repetition = repetition
        request.triggers = triggers ?? []
        request.expiresWhenRequirementIsLost = staysWhenRequirementIsLost != true
        request.returnsAfterExpiration = endsWithExpiration != true
        request.continued = continued
        if continued != nil { request.kind = .continued }
        request.job = job?.schedule
    }
}

/// The stored form of a job's schedule; its deadline is a column.
private struct JobDefinition: Codable, Sendable {
    var window: String?
    var prefers: String?
    var isDiscretionary: Bool?
    /// The first time of day; ``minutes`` has all if there are several.
    var minute: Int?
    var minutes: [Int]?
    var days: Int?
    /// Moments as systemd.time(7) writes them.
    var calendar: String?
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
        calendar = schedule.calendar?.description
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
        schedule.calendar = calendar.flatMap { CalendarMoments(parsing: $0) }
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
    case eligibility, dueAt, mayBeginAt, waivesAt, windowAt, lastStart, failures
    case deferrals, writtenAt, trigger, triggeredAt, launch, startedAt, firedBy, firedAt
    case simulated, emptyRuns, paused, awaits, lastRun, wasStopped, progress
    case reports

    var sql: String {
        switch self {
        case .lastRun: "CASE kind WHEN 0 THEN \(Self.ofLastRun("startedAt")) END"
        case .wasStopped:
            "deferrals > 0 AND \(Self.ofLastRun("expiration")) IS 'requirement'"
        default: "\(self)"
        }
    }

    private static func ofLastRun(_ column: String) -> String {
        """
        (SELECT r.\(column) FROM taskRun r WHERE r.host = task.host \
        AND r.identifier = task.identifier ORDER BY r.id DESC LIMIT 1)
        """
    }

    static let select = "SELECT \(list) FROM task"

    static func read(_ row: StoredRow<TaskColumns>) -> StoredTask {
        let kind: DueTask.Kind = row.known(.kind) ?? .refresh
        var request = TaskRequest(
            identifier: row[.identifier], kind: kind == .processing ? .processing : .refresh,
            host: row[.host])
        TaskDefinition.find(row[.definition])?.apply(to: &request)
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
            id: row[.id], kind: request.continued == nil ? kind : .continued, request: request,
            host: row[.host], timing: timing, submittedAt: row[.submittedAt])
        task.isUrgent = row[.urgent]
        task.expiresAt = row[.expiresAt]
        // The names of its needs stand in the definition.
        task.eligibility = EligibilityKey(bits: row[.eligibility], terms: task.eligibility.terms)
        task.writtenAt = row[.writtenAt]
        task.trigger = fired(row, .trigger, at: .triggeredAt)
        task.launch = row[.launch]
        task.startedAt = row[.startedAt]
        task.firedBy = fired(row, .firedBy, at: .firedAt)
        task.isSimulated = row[.simulated]
        task.isCancelled = row[.simulated] == 2
        task.isPaused = row[.paused]
        task.awaits = TransferDependencies.ids(row[.awaits])
        task.lastRun = row[.lastRun]
        task.report = row.json(.progress)
        task.reports = row.count(.reports)
        task.wasStopped = task.request.job != nil && row[.wasStopped]
        return task
    }

    private static func fired(
        _ row: StoredRow<TaskColumns>, _ events: TaskColumns, at moment: TaskColumns
    ) -> FiredTrigger? {
        FiredTrigger(row[events], at: row[moment])
    }
}

extension FiredTrigger {
    /// Names with commas between, or JSON where one has details.
    var text: String {
        events.allSatisfy(\.isPlain)
            ? events.map(\.trigger.rawValue).joined(separator: ",") : StoredJSON.encode(events)
    }

    /// `nil` = nothing has fired that this version knows.
    init?(_ text: String, at: Timestamp) {
        let events = Self.events(text)
        if events.isEmpty { return nil }
        self.init(events, at: at)
    }

    static func events(_ text: String) -> [TriggerEvent] {
        if text.hasPrefix("[") { return StoredJSON.decode([TriggerEvent].self, text) ?? [] }
        return text.split(separator: ",").compactMap { TaskTrigger(rawValue: String($0)) }
            .map { TriggerEvent($0) }
    }
}
