package import LonghaulModel

/// The moments that transfers wait for: begins, ends of back-offs, checks of preferences,
/// deadlines.
package struct TransferTimers {
    let connection: Connection

    /// The due transfers at ?1: the first ?2 of them, in a total order.
    static let due = """
        SELECT id FROM transfer INDEXED BY transferDue WHERE phase = 0 \
        AND readyAt > 0 AND readyAt <= ?1 ORDER BY readyAt, id LIMIT ?2
        """

    /// Makes due transfers ready (earliest begin, end of a back-off). Returns how many; at the
    /// limit there may be more.
    package func promoteDue(_ now: Timestamp, limit: Int) throws -> Int {
        try connection.run(
            """
            UPDATE transfer SET readyAt = 0, readySince = readyAt, waitReason = NULL, input = 0 \
            WHERE id IN (\(TransferTimers.due))
            """, now, limit)
        return connection.changes
    }

    /// Restarts pauses after the clock was set back: back-offs, cool-downs and waits for disk space
    /// that began in the future begin now, with their length. A pause longer than the longest
    /// possible one ends. Earliest begins stay: they were requested.
    ///
    /// - Parameter limit: The most transfers to examine, due ones first; `nil` = every waiting one.
    package func resumePauses(now: Timestamp, limit: Int?) throws {
        let longest = now + Limits.retryAfterMaximumSeconds
        try connection.run(
            """
            WITH soon AS (SELECT id, readyAt, earliest, waitReason \
            FROM transfer INDEXED BY transferDue WHERE phase = 0 AND readyAt > 0 \
            AND readyAt > ?1 AND readyAt < ?3 ORDER BY readyAt LIMIT ?4), \
            pause AS (SELECT id, readyAt AS ends, earliest, \
            json_extract(waitReason, '$[0].since.milliseconds') AS began \
            FROM soon WHERE waitReason IS NOT NULL) \
            UPDATE transfer SET \
            readyAt = max(coalesce(p.earliest, 0), iif(p.began > ?1, ?1 + p.ends - p.began, ?1)), \
            waitReason = json_replace(waitReason, '$[0].since.milliseconds', ?1, \
            '$[0].nextCheck.milliseconds', iif(p.began > ?1, ?1 + p.ends - p.began, ?1)) \
            FROM pause AS p WHERE transfer.id = p.id AND (p.began > ?1 OR p.ends > ?2)
            """, now, longest, Timestamp.distantFuture, limit ?? -1)
        try connection.run(
            """
            UPDATE origin SET coolDownUntil = ?1 + coolDownUntil - coolDownSince, \
            pauseUntil = ?1 + pauseUntil - coolDownSince, coolDownSince = ?1 \
            WHERE coolDownSince > ?1
            """, now)
    }

    /// Due after ?1 and by ?2, when the longest possible back-off ends.
    private static let dueSoon = """
        transfer INDEXED BY transferDue \
        WHERE phase = 0 AND readyAt > 0 AND readyAt > ?1 AND readyAt <= ?2
        """
    /// Waits for the reason ?3, but not because a server has asked for it (?4).
    private static let mayEnd = """
        waitReason IS NOT NULL AND json_extract(waitReason, '$[0].reason') = ?3 \
        AND json_extract(waitReason, '$[0].required') IS NOT ?4
        """

    /// Ends waits for this reason at `moment`, unless they end earlier. Earliest begins stay, and
    /// so do pauses that a server has requested.
    ///
    /// - Parameter limit: The most transfers to examine, due ones first.
    package func endWaits(for reason: WaitReason.Reason, at moment: Timestamp, limit: Int) throws {
        try connection.run(
            """
            UPDATE transfer SET readyAt = max(coalesce(earliest, 0), ?1), \
            waitReason = json_replace(waitReason, '$[0].nextCheck.milliseconds', ?1) \
            WHERE id IN (SELECT id FROM \(TransferTimers.dueSoon) \
            AND \(TransferTimers.mayEnd) ORDER BY readyAt LIMIT ?5)
            """, moment, moment + Limits.backOffMaximumSeconds, reason.rawValue,
            WaitReason.retryAfter, limit)
    }

    /// Makes the transfers of an origin ready that wait for other credentials. Returns whether
    /// there were any.
    package func endWaitsForCredentials(at origin: String, now: Timestamp) throws -> Bool {
        func waiting(_ due: String) -> String {
            """
            SELECT id FROM transfer INDEXED BY transferDue \
            WHERE phase = 0 AND readyAt > 0 AND \(due) \
            AND originID = (SELECT id FROM origin WHERE name = ?1) \
            AND json_extract(waitReason, '$[0].required') = ?2
            """
        }
        try connection.run(
            """
            UPDATE transfer SET readyAt = 0, waitReason = NULL WHERE id IN (\
            \(waiting("readyAt = ?3")) UNION ALL \
            \(waiting("readyAt > ?4 AND readyAt <= ?5")))
            """, origin, WaitReason.otherCredentials, Timestamp.distantFuture, now,
            now + Limits.secretsCheckSeconds)
        return connection.changes > 0
    }

    /// The eligibilities of transfers whose back-offs ``endWaits(for:at:limit:)`` could end, judged
    /// by the first few that are due.
    package func eligibilitiesBackingOff(_ now: Timestamp) throws -> Set<EligibilityKey> {
        let eligibilities = try connection.all(
            """
            SELECT eligibility, \(CalendarRows.windows("eligibility")) \
            FROM (SELECT eligibility, waitReason FROM \(TransferTimers.dueSoon) \
            ORDER BY readyAt LIMIT 64) WHERE \(TransferTimers.mayEnd)
            """, now, now + Limits.backOffMaximumSeconds, WaitReason.Reason.backoff.rawValue,
            WaitReason.retryAfter
        ) { CalendarRows.key($0, 0, windows: 1) }
        return Set(eligibilities)
    }

    /// When the next transfer becomes ready by time; `nil` = none waits for time.
    package func nextDue() throws -> Timestamp? {
        try connection.value(
            """
            SELECT readyAt FROM transfer INDEXED BY transferDue WHERE phase = 0 AND readyAt > 0 \
            AND readyAt < ?1 ORDER BY readyAt LIMIT 1
            """, Timestamp.distantFuture)
    }

    /// The same for transfers that do not wait for disk space.
    package func nextDueBesidesStorage() throws -> Timestamp? {
        try connection.value(
            """
            SELECT readyAt FROM transfer INDEXED BY transferDueBesidesStorage \
            WHERE phase = 0 AND readyAt > 0 AND readyAt < ?1 \
            AND instr(coalesce(waitReason, ''), '"storage"') = 0 ORDER BY readyAt LIMIT 1
            """, Timestamp.distantFuture)
    }

    /// Waiting transfers whose preferences are due for a check, the earliest first.
    package func dueWaivers(_ now: Timestamp, limit: Int) throws -> [TransferID] {
        try connection.values(
            """
            SELECT id FROM transfer INDEXED BY transferWaiver WHERE phase = 0 AND waiveAt > 0 \
            AND waiveAt <= ?1 ORDER BY waiveAt LIMIT ?2
            """, now, limit)
    }

    /// When the next preferences are due for a check.
    package func nextWaiver() throws -> Timestamp? {
        try connection.value(
            """
            SELECT waiveAt FROM transfer INDEXED BY transferWaiver WHERE phase = 0 \
            AND waiveAt > 0 ORDER BY waiveAt LIMIT 1
            """)
    }

    /// Waives the preferences of a transfer.
    package func waivePreferences(of id: TransferID, in eligibility: EligibilityKey) throws {
        try connection.run(
            "UPDATE transfer SET eligibility = ?2, waiveAt = NULL, waiveBy = NULL WHERE id = ?1",
            id, CalendarRows(connection).stored(eligibility.waived))
    }

    package func setWaiverCheck(of id: TransferID, at moment: Timestamp) throws {
        try connection.run("UPDATE transfer SET waiveAt = ?2 WHERE id = ?1", id, moment)
    }

    /// Live transfers whose deadline has passed, the earliest first, without those being cancelled.
    package func expired(_ now: Timestamp, limit: Int) throws -> [TransferID] {
        try connection.values(
            """
            SELECT id FROM transfer INDEXED BY transferDeadline WHERE ended = 0 AND deadline <= ?1 \
            AND want IN (0, 1) ORDER BY deadline LIMIT ?2
            """, now, limit)
    }

    /// The earliest deadline of a live transfer. A running transfer past its deadline is left out:
    /// it was handled already, and ends as soon as its disk responds.
    package func nextDeadline(_ now: Timestamp) throws -> Timestamp? {
        try connection.value(
            """
            SELECT deadline FROM transfer INDEXED BY transferDeadline WHERE ended = 0 \
            AND want IN (0, 1) AND (phase <> 1 OR deadline > ?1) ORDER BY deadline LIMIT 1
            """, now)
    }
}

extension EngineTransaction {
    /// The moments that transfers wait for.
    package var timers: TransferTimers { TransferTimers(connection: connection) }
}
