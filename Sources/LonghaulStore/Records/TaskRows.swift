import LonghaulModel

/// The rows of `task`.
struct TaskRows: ConnectionRows {
    let connection: Connection

    func all() throws -> [StoredTask] {
        try connection.all(TaskColumns.select + " ORDER BY id", read: TaskColumns.read)
    }

    func find(_ id: TaskID) throws -> StoredTask? {
        try connection.first(TaskColumns.select + " WHERE id = ?1", id, read: TaskColumns.read)
    }

    /// The request of this identifier that waits.
    func pending(_ identifier: String, of host: String, isWakeUp: Bool = false) throws
        -> StoredTask?
    {
        try connection.first(
            TaskColumns.select + """
                 WHERE host = ?1 AND identifier = ?2 AND (kind = 2) = ?3 AND launch IS NULL
                """, host, identifier, isWakeUp, read: TaskColumns.read)
    }

    /// The requests that wait for a host, without wake-ups.
    func pending(of host: String) throws -> [StoredTask] {
        try connection.all(
            TaskColumns.select + " WHERE host = ?1 AND kind <> 2 AND launch IS NULL ORDER BY id",
            host, read: TaskColumns.read)
    }

    /// The request of this identifier that a launch carries.
    func running(_ identifier: String, of host: String) throws -> StoredTask? {
        try connection.first(
            TaskColumns.select + """
                 WHERE launch IS NOT NULL AND host = ?1 AND identifier = ?2 AND kind <> 2 \
                ORDER BY id DESC
                """, host, identifier, read: TaskColumns.read)
    }

    func carried(by launch: LaunchID) throws -> [StoredTask] {
        try connection.all(
            TaskColumns.select + " WHERE launch = ?1 ORDER BY id", launch, read: TaskColumns.read)
    }

    /// Place of this machine among others, which chooses the moments of repeating requests.
    func place() throws -> Double {
        StablePlace.of(try connection.value("SELECT storeID FROM lease") ?? "")
    }

    /// Records a request that waits for its host, which is known.
    ///
    /// - Parameters:
    ///   - isAsked: A client wants it to begin, whether or not its conditions hold.
    ///   - awaits: The transfers that must complete before it is due.
    func insert(
        _ request: TaskRequest, _ timing: TaskTiming, isPaused: Bool = false,
        isRequested: Bool = false, awaits: [TransferID] = [], now: Timestamp
    ) throws -> StoredTask {
        try connection.run(
            """
            INSERT INTO task (host, identifier, kind, definition, payload, triggers, \
            submittedAt, eligibility, readyAt, dueAt, mayBeginAt, writtenAt, expiresAt, paused, \
            simulated, awaits) \
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?9, ?9, ?7, ?10, ?11, ?12, ?13)
            """, request.host, request.identifier,
            (request.kind == .refresh ? DueTask.Kind.refresh : .processing).rawValue,
            request.definition, request.payload, request.triggers.storedBits, now,
            request.eligibility.eligibility.bits, timing.dueAt, request.job?.deadline,
            isPaused, isRequested, TransferDependencies.text(awaits))
        let id = TaskID(rawValue: connection.lastInsertedRowID)
        try write(timing, of: id, now: now)
        guard let task = try find(id) else {
            preconditionFailure("a request that was recorded is there")
        }
        return task
    }

    /// Records a wake-up of a host, which is known, in place of a waiting one of its identifier.
    func wake(_ host: String, _ wakeUp: WakeUp, now: Timestamp) throws {
        let waiting = try pending(wakeUp.identifier ?? "", of: host, isWakeUp: true)
        if let waiting { try delete(waiting.id) }
        let (request, isUrgent, expiresAt, timing) = wakeUp.request(replacing: waiting, now: now)
        try connection.run(
            """
            INSERT INTO task (host, identifier, kind, definition, payload, urgent, expiresAt, \
            submittedAt, eligibility, readyAt, dueAt, mayBeginAt, writtenAt, waivesAt) \
            VALUES (?1, ?2, 2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?9, ?7, ?7, ?10)
            """, host, request.identifier, request.definition, wakeUp.payload, isUrgent,
            expiresAt, now, request.eligibility.eligibility.bits, timing.dueAt, timing.waivesAt)
    }

    /// Writes what the plan has changed.
    func write(_ task: StoredTask, now: Timestamp) throws {
        try write(task.timing, of: task.id, now: now)
        try connection.run(
            "UPDATE task SET trigger = ?2, triggeredAt = ?3, awaits = ?4 WHERE id = ?1", task.id,
            task.trigger?.text, task.trigger?.at, TransferDependencies.text(task.awaits))
    }

    /// Writes a new timing.
    func write(_ timing: TaskTiming, of id: TaskID, now: Timestamp) throws {
        try connection.run(
            """
            UPDATE task SET readyAt = ?2, dueAt = ?2, mayBeginAt = ?3, waivesAt = ?4, \
            windowAt = ?5, lastStart = ?6, failures = ?7, deferrals = ?8, writtenAt = ?9, \
            emptyRuns = ?10 WHERE id = ?1
            """, id, timing.dueAt, timing.mayBeginAt, timing.waivesAt, timing.window,
            timing.lastStart, timing.failures, timing.deferrals, now, timing.emptyRuns)
    }

    /// Adds a report of progress to the earlier ones of the run.
    ///
    /// - Returns: Whether the launch carries the task, as a continued one.
    @discardableResult func record(
        _ report: ProgressReport, of identifier: String, in launch: LaunchID
    ) throws -> Bool {
        let task = try carried(by: launch).first {
            $0.kind == .continued && $0.request.identifier == identifier
        }
        guard let task, report.isValid else { return false }
        try connection.run(
            "UPDATE task SET progress = ?2, reports = reports + ?3 WHERE id = ?1", task.id,
            StoredJSON.encode(task.report?.followed(by: report) ?? report),
            report.progress == nil ? 0 : 1)
        return true
    }

    /// Withdraws a request. The engine ends the run of a continued task; other runs continue.
    func cancel(_ task: StoredTask) throws {
        guard task.kind == .continued, task.launch != nil else { return try delete(task.id) }
        try cancelRun(of: task)
    }

    /// Asks the engine to end a run, which counts as no failure.
    func cancelRun(of task: StoredTask) throws {
        try connection.run("UPDATE task SET simulated = 2 WHERE id = ?1", task.id)
    }

    func delete(_ id: TaskID) throws {
        try connection.run("DELETE FROM task WHERE id = ?1", id)
    }

    /// Forgets the failures of a host's requests: what waits for a back-off is due.
    func reset(_ host: String, now: Timestamp) throws {
        let delayed = try connection.all(
            TaskColumns.select + """
                 WHERE host = ?1 AND launch IS NULL AND (failures > 0 OR deferrals > 0)
                """, host, read: TaskColumns.read)
        for task in delayed {
            var timing = TaskTiming(task, at: now)
            timing.forgive(task.request.repetition, now: now)
            try write(timing, of: task.id, now: now)
        }
    }
}
