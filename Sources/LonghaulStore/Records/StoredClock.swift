internal import LonghaulModel

/// The clock that the stored times were written with.
struct StoredClock: ConnectionRows {
    let connection: Connection

    static let clockKey = "clock"

    /// The clock that the stored times were written with.
    func mark() throws -> ClockMark? {
        try SettingRows(connection).value(of: Self.clockKey).flatMap { ClockMark($0) }
    }

    func follow(_ clock: ClockMark, now: Timestamp) throws {
        let known = try mark()
        let jump = known.flatMap { clock.jump(since: $0) }
        if jump == nil, known?.boot == clock.boot { return }
        try SettingRows(connection).set(Self.clockKey, to: clock.text)
        guard let jump else { return }
        try moveDeadlines(by: jump, now: now)
        if jump < 0 { try forgetFiles(finishedWithin: -jump) }
    }

    /// The clock checks whether a finished file was changed since. For files finished in the period
    /// that the clock repeats, that is unknown: they are not copied.
    private func forgetFiles(finishedWithin milliseconds: Int64) throws {
        try connection.run(
            """
            UPDATE transfer SET fileValidator = NULL WHERE ended = 1 AND finishedAt > \
            (SELECT max(finishedAt) FROM transfer INDEXED BY transferFinished WHERE ended = 1) - ?1
            """, milliseconds)
    }

    /// The moment when a relative deadline began to run.
    private static let began = "(deadline - CAST(deadlineAfter * 1000 AS INTEGER))"
    /// A transfer that has begun keeps the rest of its time; one that was to begin in the skipped
    /// period begins now.
    private static let shift = "min(?2, ?1 - \(began))"
    /// A begin after the time that the clock showed before, and not requested, was written by a
    /// correct clock. How the clock was set before is unknown.
    private static let isPast = """
        \(began) <= ?1 AND (\(began) <= ?1 - ?2 + \(Limits.clockJumpMilliseconds) OR \(wasAskedFor))
        """
    /// The begin seems to be in the future, and was not requested.
    private static let isAhead = "\(began) > ?1 AND NOT (\(wasAskedFor))"
    private static let wasAskedFor = "earliest IS NOT NULL AND earliest >= \(began)"

    private func moveDeadlines(by jump: Int64, now: Timestamp) throws {
        try connection.run(
            """
            UPDATE transfer SET deadline = min(?3, deadline + \(Self.shift)), \
            waiveAt = min(?3, waiveAt + \(Self.shift)), \
            waiveBy = min(?3, waiveBy + \(Self.shift)) \
            WHERE ended = 0 AND deadlineAfter IS NOT NULL \
            AND (\(jump > 0 ? Self.isPast : Self.isAhead))
            """, now, jump, Timestamp.distantFuture)
    }
}
