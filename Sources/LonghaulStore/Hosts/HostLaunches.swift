package import LonghaulModel

/// The content that a launch hands over.
package struct Handover: Hashable, Sendable {
    /// `nil`: it hands over no events.
    package var session: String?
    package var reason: LaunchReason
    /// All waiting events of the session in this range.
    package var events: ClosedRange<Int64>?
    package var count: Int
    /// The tasks and wake-ups that it carries.
    package var tasks: [TaskID] = []
    /// The resident process that takes it; `nil` = one is started for it.
    package var resident: ResidentID?

    package init(
        session: String?, reason: LaunchReason, events: ClosedRange<Int64>?, count: Int
    ) {
        self.session = session
        self.reason = reason
        self.events = events
        self.count = count
    }
}

/// The starts of hosts.
package struct HostLaunches {
    let connection: Connection

    /// Records a launch whose process exists and has not begun to run. `false`, and nothing is
    /// recorded: the resident process that it is handed to takes nothing more.
    @discardableResult package func begin(
        _ id: LaunchID, of host: String, _ handover: Handover, process: LaunchedProcess?,
        deadline: Timestamp, now: Timestamp
    ) throws -> Bool {
        if let resident = handover.resident, try !ResidentRows(connection).isPresent(resident) {
            return false
        }
        if try isForNothing(handover, of: host) { return false }
        let session = try handover.session.flatMap { try SessionRows(connection).id(of: $0) }
        try connection.run(
            """
            INSERT INTO launch (id, host, sessionID, reason, firstSeq, lastSeq, handed, startedAt, \
            deadline, pid, pidStart, bootID, resident) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, \
            ?10, ?11, ?12, ?13)
            """, id, host, session, handover.reason.rawValue, handover.events?.lowerBound,
            handover.events?.upperBound, handover.count, now, deadline,
            process.map { Int64($0.pid) }, process?.startTicks, process?.bootID,
            handover.resident?.rawValue)
        if let session {
            try connection.run("UPDATE session SET lastLaunch = ?2 WHERE id = ?1", session, id)
        }
        try CarriedTasks(connection: connection).begin(handover.tasks, in: id, now: now)
        if session == nil { try spendBudget(of: host, on: id, now: now) }
        try connection.run(
            """
            DELETE FROM launch WHERE host = ?1 AND endedAt IS NOT NULL AND id NOT IN \
            (SELECT id FROM launch WHERE host = ?1 ORDER BY id DESC LIMIT ?2)
            """, host, Limits.launchesKept)
        return true
    }

    private func spendBudget(of name: String, on launch: LaunchID, now: Timestamp) throws {
        let tasks = try TaskRows(connection).carried(by: launch)
        guard let host = try HostRows(connection).find(name),
            WakeUpBudget.pays(for: tasks, urgencyLostUntil: host.urgencyLostUntil, now: now)
        else { return }
        var budget = host.wakeUpBudget
        budget.spend(now: now)
        try connection.run(
            "UPDATE host SET wakeUpsFullAt = ?2 WHERE name = ?1", name, budget.fullAt)
    }

    /// The job was removed, or its request withdrawn, while its process was made.
    private func isForNothing(_ handover: Handover, of host: String) throws -> Bool {
        if handover.session != nil || handover.tasks.isEmpty { return false }
        let known = try HostRows(connection).find(host)
        if let known, !known.program.isJob { return false }
        let rows = TaskRows(connection)
        return try !handover.tasks.contains { try rows.find($0).map { $0.launch == nil } ?? false }
    }

    /// The resident process that the launch was handed to is to end it.
    package func askToEnd(_ id: LaunchID, _ reason: ExpirationReason) throws {
        try connection.run(
            "UPDATE launch SET expiration = ?2 WHERE id = ?1 AND endedAt IS NULL", id,
            reason.rawValue)
    }

    /// Records the end of a launch and its consequences in one transaction. If it succeeded, the
    /// events handed to it are acknowledged. Otherwise those that it has not acknowledged itself
    /// wait for the next launch, which comes later with each failure in a row. A resident process
    /// may have said more than was settled: that counts first.
    ///
    /// - Parameters:
    ///   - wasOurs: Whether this engine began it. An `unknown` end that leaves events behind is
    ///     then a failure: a host whose status is always lost would be started without end. For a
    ///     launch of an earlier engine, or of a resident process, it is not.
    ///   - time: The zone of times of day.
    /// - Returns: The outcome as recorded.
    @discardableResult package func end(
        _ id: LaunchID, _ outcome: LaunchOutcome, wasOurs: Bool = true, now: Timestamp,
        _ time: LocalTime = .utc
    ) throws -> LaunchOutcome {
        guard
            let launch = try connection.first(
                LaunchColumns.select + " WHERE l.id = ?1", id, read: LaunchColumns.read),
            launch.endedAt == nil
        else { return outcome }
        var outcome = try settleReports(of: launch, outcome, now: now)
        outcome.isOfJob = launch.isOfJob
        try connection.run(
            """
            UPDATE launch SET endedAt = ?2, ending = ?3, status = ?4, output = ?5, \
            expiration = ?6, processorSeconds = ?7 WHERE id = ?1
            """, id, now, outcome.ending.rawValue, outcome.status, outcome.output,
            outcome.expiration?.rawValue, outcome.processorSeconds)
        try CarriedTasks(connection: connection).settleAll(of: id, outcome, now: now, time)
        if outcome.isSuccess {
            try acknowledge(launch, now: now)
            try connection.run(
                "UPDATE host SET failures = 0, retryAt = NULL WHERE name = ?1", launch.host)
            return outcome
        }
        let isOurs = wasOurs && launch.resident == nil
        if outcome.ending == .unknown, try !isOurs || !leavesEvents(launch) { return outcome }
        // The launch was asked to end for a reason that is not its own.
        if outcome.expiration == .requirement || outcome.expiration == .cancelled {
            return outcome
        }
        // The failures of a job are those of its task, unless no process could be made.
        if outcome.isOfJob, outcome.ending != .notStarted { return outcome }
        guard let host = try HostRows(connection).find(launch.host) else { return outcome }
        let failures = host.failures + 1
        try connection.run(
            """
            UPDATE host SET failures = ?2, retryAt = ?3, failuresReset = reset WHERE name = ?1
            """, launch.host, failures, now + LaunchPolicy.delay(afterFailures: failures))
        return outcome
    }

    /// A resident process that has not ended its launch itself is handed nothing more: it is gone,
    /// or its handlers go on.
    private func settleReports(
        of launch: StoredLaunch, _ outcome: LaunchOutcome, now: Timestamp
    ) throws -> LaunchOutcome {
        guard let resident = launch.resident else { return outcome }
        let rows = ResidentRows(connection)
        var outcome = outcome
        for report in try rows.reports(of: launch.id) {
            switch report.content {
            case .result(let task, let result):
                _ = try CarriedTasks(connection: connection).settle(
                    task, of: launch.id, .result(result), now: now)
            case .ended(let status?): outcome.replaceEnding(status, requested: launch.requested)
            case .ended(nil):
                outcome.isGivenBack = outcome.ending == .unknown && launch.requested == nil
            }
        }
        try rows.removeReports(of: launch.id)
        if outcome.status == nil { try rows.remove(resident) }
        return outcome
    }

    private func leavesEvents(_ launch: StoredLaunch) throws -> Bool {
        guard let events = launch.events, let name = launch.session,
            let session = try SessionRows(connection).id(of: name)
        else { return false }
        return try connection.value(
            """
            SELECT EXISTS (SELECT 1 FROM event INDEXED BY eventWaiting WHERE sessionID = ?1 \
            AND acknowledgedAt IS NULL AND seq BETWEEN ?2 AND ?3)
            """, session, events.lowerBound, events.upperBound) ?? false
    }

    private func acknowledge(_ launch: StoredLaunch, now: Timestamp) throws {
        guard let events = launch.events, let name = launch.session,
            let session = try SessionRows(connection).id(of: name)
        else { return }
        _ = try EventRows(connection).acknowledge(
            session: session, from: events.lowerBound, through: events.upperBound, now: now)
    }
}

extension LaunchOutcome {
    /// The process has said with which status it ended, as a program that exits.
    fileprivate mutating func replaceEnding(_ status: Int, requested: ExpirationReason?) {
        self.status = status
        expiration = expiration ?? requested
        ending = status == 0 || expiration == nil ? .exited : .expired
    }
}

extension TaskEnd {
    /// End of a task without a result, by the end of its launch.
    init(_ outcome: LaunchOutcome) {
        switch outcome.ending {
        // The launch ended because it was asked to, not because its work was done.
        case .exited where outcome.expiration == .requirement: self = .expired(.requirement)
        case .exited where outcome.expiration == .cancelled: self = .expired(.cancelled)
        case .exited where outcome.expiration == .progress: self = .expired(.progress)
        case .exited where outcome.isDeferral: self = .result(.deferred)
        case .exited: self = .result(outcome.isSuccess ? .success : .failure)
        case .signalled, .notStarted, .exceededMemory: self = .result(.failure)
        case .expired: self = .expired(outcome.expiration ?? .time)
        case .unknown: self = .lost
        }
    }
}

extension EngineTransaction {
    /// The starts of hosts.
    package var launches: HostLaunches { HostLaunches(connection: connection) }
}
