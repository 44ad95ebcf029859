internal import LonghaulModel

extension TaskQueue {
    /// Refreshes whose host is used later, as far as is known, are put off until shortly before.
    /// They begin along with other work of their host.
    ///
    /// - Returns: When the first of them begins.
    func holdRefreshes(
        _ due: inout [StoredTask], now: Timestamp, _ time: LocalTime
    ) throws -> Timestamp? {
        var first: Timestamp?
        var begins: [StoredTask] = []
        for task in due {
            guard let start = try rows.refreshTiming(of: task, now: now, time)?.startsAt,
                start > now
            else {
                begins.append(task)
                continue
            }
            try putOff(task.id, until: start)
            first = min(first ?? start, start)
        }
        due = begins
        return first
    }

    /// Jobs outside of their windows are put off until these open.
    ///
    /// - Returns: When the first of them begins.
    func holdJobs(
        _ due: inout [StoredTask], now: Timestamp, _ time: LocalTime
    ) throws -> Timestamp? {
        var first: Timestamp?
        var begins: [StoredTask] = []
        for task in due {
            guard let phase = task.request.windowPhase(at: now, time), !phase.isOpen else {
                begins.append(task)
                continue
            }
            try putOff(task.id, until: phase.until)
            first = min(first ?? phase.until, phase.until)
        }
        due = begins
        return first
    }
}

extension TaskRows {
    /// `nil` for what learning does not move: all but refreshes that repeat or have an earliest
    /// moment, and those that come again after a failure or a deferral.
    func refreshTiming(
        of task: StoredTask, now: Timestamp, _ time: LocalTime
    ) throws -> RefreshTiming? {
        let (request, timing) = (task.request, task.timing)
        guard task.kind == .refresh, !request.isStanding,
            request.repetition != nil || request.earliestBegin != nil,
            timing.failures == 0, timing.deferrals == 0, timing.dueAt < .distantFuture,
            let usage = try HostRows(connection).usage(of: task.host)
        else { return nil }
        return RefreshTiming.decide(
            due: timing.dueAt, lastRun: try lastRun(of: task), usage: usage, now: now, time)
    }

    /// The start of the last run, by this request or an earlier one.
    private func lastRun(of task: StoredTask) throws -> Timestamp? {
        if let start = task.timing.lastStart { return start }
        return try connection.value(
            """
            SELECT startedAt FROM taskRun INDEXED BY taskRunByTask WHERE host = ?1 \
            AND identifier = ?2 ORDER BY id DESC LIMIT 1
            """, task.host, task.request.identifier)
    }
}
