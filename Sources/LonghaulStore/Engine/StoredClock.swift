package import LonghaulCore

extension Store {
    /// Keeps durations when the clock is set: a machine without a clock of its own starts years in
    /// the past, and once it has asked for the time, all deadlines recorded before would have
    /// passed. To be called by the process that sees the new clock first, before it writes times.
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

    /// The clock by which the stored times were written.
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

    /// Whether a finished file was changed since is checked by the clock. For files finished in the
    /// period that the clock repeats, that is unknown: they are not copied.
    private func forgetFiles(finishedWithin milliseconds: Int64) throws {
        try run(
            """
            UPDATE transfer SET fileValidator = NULL WHERE ended = 1 AND finishedAt > \
            (SELECT max(finishedAt) FROM transfer INDEXED BY transferFinished WHERE ended = 1) - ?1
            """, milliseconds)
    }

    /// Where a relative deadline began to run.
    private static let began = "(deadline - CAST(deadlineAfter * 1000 AS INTEGER))"
    /// A transfer that has begun keeps the rest of its time; one that was to begin in the skipped
    /// period begins now.
    private static let shift = "min(?2, ?1 - \(began))"
    /// A begin after the time that the clock showed before, and not requested, was written by a
    /// correct clock. How the clock was set before is unknown.
    private static let isPast = """
        \(began) <= ?1 AND (\(began) <= ?1 - ?2 + \(ClockMark.smallestJump) OR \(wasAskedFor))
        """
    /// The begin seems to be in the future, and was not requested.
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
