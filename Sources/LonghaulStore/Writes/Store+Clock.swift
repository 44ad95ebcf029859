package import LonghaulCore

extension Store {
    /// What is meant as a duration stays one when the clock is set: a machine without a clock of
    /// its own starts years in the past, and what was recorded before it has asked for the time
    /// would be over at once. Whoever sees the clock first that was set, before it writes times by
    /// it.
    package func follow(_ clock: ClockMark, now: Timestamp) throws(LonghaulError) {
        let isKnown = try access { try $0.clockMark() }.map {
            $0.boot == clock.boot && clock.jump(since: $0) == nil
        }
        if isKnown ?? false { return }
        try write(.durable) { try $0.follow(clock, now: now) }
    }
}

extension EngineTransaction {
    /// See ``Store/follow(_:now:)``.
    package func follow(_ clock: ClockMark, now: Timestamp) throws {
        try connection.follow(clock, now: now)
    }
}

extension Connection {
    fileprivate static let clockKey = "clock"

    /// By which the times were written that are stored.
    fileprivate func clockMark() throws -> ClockMark? {
        try setting(Connection.clockKey).flatMap { ClockMark($0) }
    }

    fileprivate func follow(_ clock: ClockMark, now: Timestamp) throws {
        let known = try clockMark()
        let jump = known.flatMap { clock.jump(since: $0) }
        if jump == nil, known?.boot == clock.boot { return }
        try set(Connection.clockKey, to: clock.text)
        guard let jump else { return }
        try moveDeadlines(by: jump, now: now)
        if jump < 0 { try forgetFiles(finishedWithin: -jump) }
    }

    /// Whether a finished file has been touched since is told by the clock. Of those that were
    /// finished in the time that comes a second time nobody can tell: they are not copied.
    private func forgetFiles(finishedWithin milliseconds: Int64) throws {
        try run(
            """
            UPDATE transfer SET fileValidator = NULL WHERE ended = 1 AND finishedAt > \
            (SELECT max(finishedAt) FROM transfer INDEXED BY transferFinished WHERE ended = 1) - ?1
            """, milliseconds)
    }

    /// Where a relative deadline began to run.
    private static let began = "(deadline - CAST(deadlineAfter * 1000 AS INTEGER))"
    /// What has begun goes on with what was left of it; what was to begin in the time that was
    /// jumped over begins now.
    private static let shift = "min(?2, ?1 - \(began))"
    /// What began later than the clock showed before, and was not asked to, was written by one that
    /// was right. What the clock was steered by before is not known.
    private static let isPast = """
        \(began) <= ?1 AND (\(began) <= ?1 - ?2 + \(ClockMark.smallestJump) OR \(wasAskedFor))
        """
    /// Seems to begin at a moment that is yet to come, and was not asked to.
    private static let isAhead = "\(began) > ?1 AND NOT (\(wasAskedFor))"
    private static let wasAskedFor = "earliest IS NOT NULL AND earliest >= \(began)"

    private func moveDeadlines(by jump: Int64, now: Timestamp) throws {
        try run(
            """
            UPDATE transfer SET deadline = min(?3, deadline + \(Connection.shift)), \
            waiveAt = min(?3, waiveAt + \(Connection.shift)), \
            waiveBy = min(?3, waiveBy + \(Connection.shift)) \
            WHERE ended = 0 AND deadlineAfter IS NOT NULL \
            AND (\(jump > 0 ? Connection.isPast : Connection.isAhead))
            """, now, jump, Timestamp.distantFuture)
    }
}
