package import LonghaulModel

/// Tasks that launches carry, from the start of the launch to their ends.
package struct CarriedTasks {
    let connection: Connection
    private var rows: TaskRows { TaskRows(connection) }
    private var runs: TaskRunRows { TaskRunRows(connection) }

    /// A launch carries these from now on; tasks that were cancelled meanwhile are left out.
    func begin(_ ids: [TaskID], in launch: LaunchID, now: Timestamp) throws {
        for id in ids {
            guard let task = try rows.find(id), task.launch == nil else { continue }
            try connection.run(
                """
                UPDATE task SET launch = ?2, startedAt = ?3, firedBy = trigger, \
                firedAt = triggeredAt, trigger = NULL, triggeredAt = NULL, simulated = 0, \
                awaits = NULL, progress = NULL, reports = 0 WHERE id = ?1
                """, id, launch, now)
            if task.kind == .wakeUp { continue }
            try runs.begin(task, in: launch, now: now)
        }
    }

    package func all(of launch: LaunchID) throws -> [StoredTask] {
        try rows.carried(by: launch)
    }

    /// Records what the program of a continued task has reported.
    package func record(
        _ report: ProgressReport, of identifier: String, in launch: LaunchID
    ) throws {
        try rows.record(report, of: identifier, in: launch)
    }

    /// Records how a task of a launch ended. `false` = the launch carries no task of that name, or
    /// it has a result already.
    package func settle(
        _ identifier: String, of launch: LaunchID, _ end: TaskEnd, now: Timestamp,
        _ time: LocalTime = .utc
    ) throws -> Bool {
        // A resident process may have reported it.
        try connection.run(
            "DELETE FROM launchReport WHERE launch = ?1 AND task = ?2", launch, identifier)
        let found = try rows.carried(by: launch).first {
            $0.kind != .wakeUp && $0.request.identifier == identifier
        }
        guard let found else { return false }
        try settle(found, end, now: now, time)
        return true
    }

    /// The launch has ended: so do its tasks without a result.
    func settleAll(
        of launch: LaunchID, _ outcome: LaunchOutcome, now: Timestamp, _ time: LocalTime
    ) throws {
        let end = TaskEnd(outcome)
        for task in try rows.carried(by: launch) {
            if task.kind == .wakeUp {
                try settleWakeUp(task, outcome, now: now)
            } else {
                try settle(task, end, now: now, time)
            }
        }
        // The requests of these tasks were cancelled while they ran.
        try runs.end(of: launch, identifier: nil, end, now: now)
    }

    private func settle(
        _ task: StoredTask, _ end: TaskEnd, now: Timestamp, _ time: LocalTime
    ) throws {
        let isStopped = task.isCancelled && task.kind == .continued
        let end = isStopped && end == .lost ? .expired(.cancelled) : end
        if let launch = task.launch {
            try runs.end(of: launch, identifier: task.request.identifier, end, now: now)
        }
        // A person has stopped it: it does not come again, whatever its program has answered.
        if isStopped { return try rows.delete(task.id) }
        try runs.askForNotice(of: task, end)
        // A request that was submitted meanwhile takes its place.
        if let next = try rows.pending(task.request.identifier, of: task.host) {
            try countEmpty(end, of: task, for: next, now: now)
            return try rows.delete(task.id)
        }
        let decision = TaskSettlement.decide(
            task.request, TaskTiming(task, at: now), end, started: task.startedAt ?? now,
            place: try rows.place(), now: now, time)
        guard case .again(let timing) = decision else {
            try runs.askForNotice(ofContinued: task)
            return try rows.delete(task.id)
        }
        try connection.run(
            """
            UPDATE task SET launch = NULL, startedAt = NULL, firedBy = NULL, firedAt = NULL, \
            simulated = 0 WHERE id = ?1
            """, task.id)
        var next = task
        next.timing = timing
        if task.request.isStanding {
            let isDone = timing.dueAt == .distantFuture
            // The triggers of the launch have to be handed over again, with later ones.
            let told = isDone ? nil : task.firedBy
            next.trigger = task.trigger.map { told?.adding($0) ?? $0 } ?? told
            if isDone, next.trigger != nil { next.makeDue(now: now) }
        }
        try rows.write(next, now: now)
    }

    /// Carries the count of empty runs over to the request that was submitted while the run went
    /// on.
    private func countEmpty(
        _ end: TaskEnd, of task: StoredTask, for next: StoredTask, now: Timestamp
    ) throws {
        var timing = TaskTiming(next, at: now)
        timing.emptyRuns = task.timing.emptyRuns
        timing.skip(afterEmpty: end, of: next.request, place: try rows.place(), now: now)
        try rows.write(timing, of: next.id, now: now)
    }

    /// True if the run of a job that this launch carries was asked for by a client.
    package func isRequested(_ launch: LaunchID) throws -> Bool { try runs.isRequested(launch) }

    // MARK: - Wake-ups

    /// Settles a wake-up. A wake-up that was not handled comes again, in the background; later with
    /// each failure of its host. One that was given back comes again as it was.
    private func settleWakeUp(_ task: StoredTask, _ outcome: LaunchOutcome, now: Timestamp) throws {
        let isHandled = outcome.isSuccess
        let keepsUrgency = task.isUrgent && outcome.isGivenBack
        if task.isUrgent, !keepsUrgency {
            try countUrgency(of: task.host, isHandled: isHandled, now: now)
        }
        if !isHandled {
            try WakeUpLog(connection: connection).record(
                task, now: now, launch: task.launch, obstacle: nil)
        }
        let isReplaced =
            try rows.pending(task.request.identifier, of: task.host, isWakeUp: true) != nil
        if isHandled || isReplaced { return try rows.delete(task.id) }
        try connection.run(
            """
            UPDATE task SET launch = NULL, startedAt = NULL, urgent = ?3, readyAt = ?2, \
            dueAt = ?2, mayBeginAt = ?2, writtenAt = ?2 WHERE id = ?1
            """, task.id, now, keepsUrgency)
    }

    private func countUrgency(of host: String, isHandled: Bool, now: Timestamp) throws {
        if isHandled {
            return try connection.run("UPDATE host SET urgentFailures = 0 WHERE name = ?1", host)
        }
        try connection.run(
            "UPDATE host SET urgentFailures = urgentFailures + 1 WHERE name = ?1", host)
        try connection.run(
            """
            UPDATE host SET urgentFailures = 0, urgencyLostUntil = ?2 \
            WHERE name = ?1 AND urgentFailures >= ?3
            """, host, now + Limits.urgencyLostSeconds, Limits.urgentFailures)
    }
}
