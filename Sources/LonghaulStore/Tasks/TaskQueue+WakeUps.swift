package import LonghaulCore

extension TaskQueue {
    /// Wake-ups that were not handed over in time are dropped, and why is remembered; so are jobs
    /// whose deadline has passed.
    func dropExpired(now: Timestamp) throws {
        let expired = try connection.all(
            TaskColumns.select + """
                 INDEXED BY taskExpires WHERE launch IS NULL AND expiresAt IS NOT NULL \
                AND expiresAt <= ?1
                """, now, read: TaskColumns.read)
        for task in expired {
            if task.kind != .wakeUp {
                try runs.missDeadline(task, now: now)
                try rows.delete(task.id)
                continue
            }
            try log(task, now: now, launch: nil, obstacle: try obstacle(of: task))
            try rows.delete(task.id)
        }
    }

    /// Reason why the wake-up was not handed over until it expired.
    private func obstacle(of task: StoredTask) throws -> WaitReason.Reason {
        let expired = task.expiresAt ?? task.timing.dueAt
        guard let host = try HostRows(connection).find(task.host) else { return .host }
        if let retry = host.retryAt, host.failures > 0, retry >= expired { return .backoff }
        let isBusy = try connection.first(
            "SELECT EXISTS (SELECT 1 FROM launch INDEXED BY launchOpen WHERE host = ?1 "
                + "AND endedAt IS NULL)", task.host
        ) { $0.bool(0) }
        // A wake-up that was put off waits for its host.
        return isBusy == true || task.readyAt > task.timing.dueAt ? .host : .engine
    }

    /// Settles a wake-up. A wake-up that was not handled comes again, in the background; later with
    /// each failure of its host. One that was given back comes again as it was.
    func settleWakeUp(_ task: StoredTask, _ outcome: LaunchOutcome, now: Timestamp) throws {
        let isHandled = outcome.isSuccess
        let keepsUrgency = task.isUrgent && outcome.isGivenBack
        if task.isUrgent, !keepsUrgency {
            try countUrgency(of: task.host, isHandled: isHandled, now: now)
        }
        if !isHandled { try log(task, now: now, launch: task.launch, obstacle: nil) }
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

    private func log(
        _ task: StoredTask, now: Timestamp, launch: LaunchID?, obstacle: WaitReason.Reason?
    ) throws {
        try connection.run(
            """
            INSERT INTO wakeUpEnd (host, identifier, urgent, submittedAt, at, launch, obstacle) \
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
            """, task.host, task.request.identifier, task.isUrgent, task.submittedAt, now, launch,
            obstacle?.rawValue)
        try connection.run(
            """
            DELETE FROM wakeUpEnd WHERE host = ?1 AND id NOT IN (SELECT id FROM wakeUpEnd \
            WHERE host = ?1 ORDER BY id DESC LIMIT ?2)
            """, task.host, Limits.wakeUpEndsKept)
    }
}

/// A wake-up that was dropped, or handed over and not handled.
package struct WakeUpEnd: Hashable, Sendable {
    /// Empty = it has none.
    package var identifier: String
    package var isUrgent: Bool
    package var submittedAt: Timestamp
    package var at: Timestamp
    /// The launch that has not handled it; `nil` = it was dropped.
    package var launch: LaunchID?
    /// Reason why the wake-up was not handed over.
    package var obstacle: WaitReason.Reason?
}

extension TaskRequests {
    /// The last wake-ups that were not handled, newest first.
    package func wakeUpEnds(of host: String) throws(LonghaulError) -> [WakeUpEnd] {
        try store.access {
            try $0.all(
                """
                SELECT identifier, urgent, submittedAt, at, launch, obstacle FROM wakeUpEnd \
                INDEXED BY wakeUpEndByHost WHERE host = ?1 ORDER BY id DESC LIMIT ?2
                """, host, Limits.wakeUpEndsKept
            ) { row in
                WakeUpEnd(
                    identifier: row.text(0), isUrgent: row.bool(1), submittedAt: row.timestamp(2),
                    at: row.timestamp(3),
                    launch: row.optionalInt64(4).map(LaunchID.init(rawValue:)),
                    obstacle: row.optionalText(5).flatMap(WaitReason.Reason.init(rawValue:)))
            }
        }
    }
}
