package import LonghaulModel

/// Facts that decide which tasks may begin.
package struct TaskHead: Sendable {
    /// Due, with open gates, by host; of each host also what may begin along with that.
    package var due: [StoredTask] = []
    /// The moment of the next one, of those whose conditions hold.
    package var next: Timestamp?
    /// The conditions that pending requests wait for.
    package var interest = ConditionNeeds()
    /// Something is due and held back by a condition.
    package var holdsBack = false
    /// Something waits, whatever for.
    package var hasPending = false
    /// Triggers that standing requests wait for.
    package var triggers = TriggerSet(rawValue: 0)
    /// There are more that are due.
    package var isCut = false

    package init() {}
}

/// Tasks and wake-ups that wait, as the engine sees them inside a transaction.
package struct TaskQueue {
    let connection: Connection
    var rows: TaskRows { TaskRows(connection) }
    var runs: TaskRunRows { TaskRunRows(connection) }

    static func hasAny(_ connection: Connection) throws -> Bool {
        try connection.value("SELECT EXISTS (SELECT 1 FROM task)") ?? false
    }

    // MARK: - What may begin

    /// Each eligibility is decided once, and of those that are open the due requests are read: what
    /// waits costs nothing.
    ///
    /// - Parameters:
    ///   - time: By which the use of hosts is counted.
    ///   - isAwake: The machine has something else to do: requests whose window is open go along.
    ///   - isOpen: Whether the conditions of an eligibility hold.
    package func head(
        now: Timestamp, _ time: LocalTime, isAwake: Bool = false,
        isOpen: (EligibilityKey) -> Bool
    ) throws -> TaskHead {
        var head = TaskHead()
        try waive(now: now)
        try dropExpired(now: now)
        try followTransfers(now: now)
        var moments = [try nextChange()]
        for key in try keys() {
            head.hasPending = true
            head.interest = head.interest.union(key.interest)
            guard isOpen(key) else {
                if try due(key, now: now, limit: 1).isEmpty {
                    moments.append(try next(key, now))
                } else {
                    head.holdsBack = true
                }
                continue
            }
            let found = try due(key, now: now, limit: Limits.tasksPerDecision)
            if found.count == Limits.tasksPerDecision { head.isCut = true }
            head.due += found
            moments.append(try next(key, now))
        }
        moments.append(try holdRefreshes(&head.due, now: now, time))
        moments.append(try holdJobs(&head.due, now: now, time))
        try addCompanions(&head, now: now, isOpen: isOpen)
        // A host that cannot be launched is looked at again and again, which counts for nothing.
        let begins = head.due.contains {
            $0.timing.window != nil && $0.readyAt <= $0.timing.dueAt
        }
        if begins || isAwake { try addNeighbours(&head, now: now, time, isOpen: isOpen) }
        head.next = moments.compactMap { $0 }.min()
        head.triggers = try StandingTasks(connection: connection).triggers()
        head.interest = head.interest.union(head.triggers.interest)
        return head
    }

    /// Tasks whose launch a client has asked for, whatever they wait for, or its end.
    package func simulated() throws -> [StoredTask] {
        try connection.all(
            TaskColumns.select + " INDEXED BY taskSimulated WHERE simulated > 0",
            read: TaskColumns.read)
    }

    /// The eligibilities of those that wait: one look-up each.
    private func keys() throws -> [EligibilityKey] {
        try connection.all(
            """
            WITH RECURSIVE k(e) AS (
            SELECT min(eligibility) FROM task INDEXED BY taskReady \
            WHERE launch IS NULL AND paused = 0
            UNION ALL
            SELECT (SELECT min(eligibility) FROM task INDEXED BY taskReady \
            WHERE launch IS NULL AND paused = 0 AND eligibility > k.e) FROM k WHERE k.e IS NOT NULL)
            SELECT e FROM k WHERE e IS NOT NULL
            """
        ) { EligibilityKey(stored: $0[0], windows: nil) }
    }

    private func due(_ key: EligibilityKey, now: Timestamp, limit: Int) throws -> [StoredTask] {
        try connection.all(
            TaskColumns.select + """
                 INDEXED BY taskReady WHERE eligibility = ?1 AND launch IS NULL \
                AND paused = 0 AND readyAt <= ?2 ORDER BY readyAt LIMIT ?3
                """, key.bits, now, limit, read: TaskColumns.read)
    }

    private func next(_ key: EligibilityKey, _ now: Timestamp) throws -> Timestamp? {
        try connection.value(
            """
            SELECT min(readyAt) FROM task INDEXED BY taskReady WHERE eligibility = ?1 \
            AND launch IS NULL AND paused = 0 AND readyAt > ?2 AND readyAt < ?3
            """, key.bits, now, Timestamp.distantFuture)
    }

    /// When preferences end or a wake-up expires.
    private func nextChange() throws -> Timestamp? {
        let waives: Timestamp? = try connection.value(
            """
            SELECT min(waivesAt) FROM task INDEXED BY taskWaives WHERE launch IS NULL \
            AND waivesAt IS NOT NULL
            """)
        let expires: Timestamp? = try connection.value(
            """
            SELECT min(expiresAt) FROM task INDEXED BY taskExpires WHERE launch IS NULL \
            AND expiresAt IS NOT NULL
            """)
        return [waives, expires].compactMap { $0 }.min()
    }

    /// Preferences end with the tolerance of a request.
    private func waive(now: Timestamp) throws {
        let over = try connection.all(
            """
            SELECT id, eligibility FROM task INDEXED BY taskWaives WHERE launch IS NULL \
            AND waivesAt IS NOT NULL AND waivesAt <= ?1
            """, now
        ) { ($0[0] as TaskID, EligibilityKey(stored: $0[1], windows: nil)) }
        for (id, key) in over {
            try connection.run(
                "UPDATE task SET eligibility = ?2, waivesAt = NULL WHERE id = ?1", id,
                key.waived.bits)
        }
    }

    /// Adds other tasks that may begin of the hosts that are due, so that the hosts are launched
    /// once.
    private func addCompanions(
        _ head: inout TaskHead, now: Timestamp, isOpen: (EligibilityKey) -> Bool
    ) throws {
        let known = Set(head.due.map(\.id))
        for host in Set(head.due.map(\.host)).sorted() {
            head.due += try connection.all(
                TaskColumns.select + """
                     INDEXED BY taskPending WHERE host = ?1 AND launch IS NULL \
                    AND paused = 0 AND mayBeginAt <= ?2 AND readyAt > ?2
                    """, host, now, read: TaskColumns.read
            ).filter { !known.contains($0.id) && isOpen($0.eligibility) }
        }
    }

    /// When a request begins that repeats, those of other hosts with an open window begin too: the
    /// machine is awake, and a wake-up later in their windows is spared. A refresh whose host is
    /// used later waits for that.
    private func addNeighbours(
        _ head: inout TaskHead, now: Timestamp, _ time: LocalTime,
        isOpen: (EligibilityKey) -> Bool
    ) throws {
        let known = Set(head.due.map(\.id))
        head.due += try connection.all(
            TaskColumns.select + """
                 INDEXED BY taskWindow WHERE launch IS NULL AND windowAt IS NOT NULL \
                AND paused = 0 AND mayBeginAt <= ?1 AND readyAt > ?1 LIMIT ?2
                """, now, Limits.tasksPerDecision, read: TaskColumns.read
        ).filter { task in
            guard !known.contains(task.id), isOpen(task.eligibility),
                task.request.windowPhase(at: now, time)?.isOpen ?? true
            else { return false }
            var early = task
            early.timing.dueAt = now
            let learnt = try rows.refreshTiming(of: early, now: now, time)
            return learnt.map { $0.startsAt <= now } ?? true
        }
    }

    /// A request is considered again at this moment: its host cannot be launched before.
    package func putOff(_ id: TaskID, until moment: Timestamp) throws {
        try connection.run("UPDATE task SET readyAt = max(dueAt, ?2) WHERE id = ?1", id, moment)
    }

    /// The requests of all hosts are considered again as soon as they are due.
    package func releaseAll() throws {
        try connection.run(
            """
            UPDATE task INDEXED BY taskPutOff SET readyAt = dueAt \
            WHERE launch IS NULL AND readyAt <> dueAt
            """)
    }

    /// The last run of a job was stopped since a requirement was lost, and it comes again.
    package func wasStopped(_ task: StoredTask) throws -> Bool {
        try task.request.job != nil && task.timing.deferrals > 0 && runs.wasStopped(task)
    }

    /// Conditions have changed: what was put off comes at once if it waits for one of them. A job
    /// that was stopped has its pause, which grows: the condition may come and go.
    package func returnDeferred(_ hasChanged: (EligibilityKey) -> Bool, now: Timestamp) throws {
        let found = try connection.all(
            TaskColumns.select
                + " INDEXED BY taskDeferred WHERE launch IS NULL AND deferrals > 0 "
                + "AND failures = 0",
            read: TaskColumns.read)
        for task in found where task.readyAt > now && hasChanged(task.eligibility) {
            if try wasStopped(task) { continue }
            try connection.run(
                """
                UPDATE task SET readyAt = ?2, dueAt = ?2, mayBeginAt = ?2, writtenAt = ?2 \
                WHERE id = ?1
                """, task.id, now)
        }
    }

    // MARK: - Clock

    /// A clock that was set back: what was written at a later moment lasts as long from now on.
    package func follow(now: Timestamp) throws {
        let ahead = try connection.all(
            TaskColumns.select + " WHERE writtenAt > ?1", now, read: TaskColumns.read)
        for task in ahead { try rows.write(TaskTiming(task, at: now), of: task.id, now: now) }
    }
}

extension TaskQueue {
    /// The rules of zones have changed: what waits for a time of day, or for the opening of a
    /// window, is considered anew by its words.
    package func followZones(now: Timestamp, _ time: LocalTime) throws {
        try releaseAll()
        let daily = try connection.all(
            TaskColumns.select
                + " WHERE launch IS NULL AND instr(definition, '\"minute\"') > 0",
            read: TaskColumns.read)
        for task in daily {
            var timing = task.timing
            guard timing.followZone(of: task.request, now: now, time) else { continue }
            try rows.write(timing, of: task.id, now: now)
        }
    }
}

extension EngineTransaction {
    /// Tasks and wake-ups, for which hosts are launched besides events.
    package var tasks: TaskQueue { TaskQueue(connection: connection) }
    package var standingTasks: StandingTasks { StandingTasks(connection: connection) }
    package var carriedTasks: CarriedTasks { CarriedTasks(connection: connection) }
}
