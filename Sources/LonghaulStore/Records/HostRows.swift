internal import LonghaulModel

enum HostQueries {
    /// A condition on a transfer `t`: the event of its need waits (`?2`: its type).
    static let isAskedFor = """
        EXISTS (SELECT 1 FROM event e INDEXED BY eventByTransfer WHERE e.transferID = t.id \
        AND e.type = ?2 AND e.acknowledgedAt IS NULL)
        """

    /// `?1`, `?2`: types of events. A restart is worth knowing, not worth a launch.
    static let waiting = """
        SELECT \(WaitingColumn.list) FROM session s INDEXED BY sessionByHost WHERE s.host IS NOT NULL \
        AND first IS NOT NULL ORDER BY s.host, s.id LIMIT 10000
        """
}

/// A session `s` with events that wait for its host.
private enum WaitingColumn: Int32, StoredColumn {
    case host, name, launchEvents, launchDelay, first, isDrained, needsInput, lastLaunch

    var sql: String {
        switch self {
        case .first:
            """
            (SELECT e.at FROM event e INDEXED BY eventWaiting WHERE e.sessionID = s.id \
            AND e.acknowledgedAt IS NULL AND e.type <> ?1 ORDER BY e.seq LIMIT 1) AS first
            """
        case .isDrained:
            """
            NOT EXISTS (SELECT 1 FROM tally y WHERE y.sessionID = s.id AND y.n > 0 \
            AND (y.phase = 0 OR y.pending = 1))
            """
        case .needsInput:
            """
            EXISTS (SELECT 1 FROM transfer t INDEXED BY transferInput WHERE t.sessionID = s.id \
            AND t.input > 0 AND t.ended = 0 AND \(HostQueries.isAskedFor))
            """
        default: "s.\(self)"
        }
    }
}

/// The rows of `host`.
struct HostRows: ConnectionRows {
    let connection: Connection

    func find(_ name: String) throws -> StoredHost? {
        try connection.first(HostColumns.select + " WHERE name = ?1", name, read: HostColumns.read)
    }

    func remove(_ name: String) throws {
        try connection.run("DELETE FROM host WHERE name = ?1", name)
        if connection.changes == 0 { throw noSuchHost(name) }
        try connection.run("DELETE FROM task WHERE host = ?1", name)
        try connection.run("DELETE FROM wakeUpEnd WHERE host = ?1", name)
        try connection.run("DELETE FROM subscription WHERE host = ?1", name)
        try dropNotices(of: name)
    }

    /// Nobody asks any more for the notices that are not delivered. Those of continued tasks are
    /// not asked for.
    func dropNotices(of name: String) throws {
        try connection.run(
            "UPDATE taskRun INDEXED BY taskRunNotice SET notice = NULL WHERE notice IS NOT NULL "
                + "AND host = ?1 AND kind <> ?2", name, TaskKind.continued.rawValue)
        try connection.run("DELETE FROM expiredActivity WHERE host = ?1", name)
    }

    /// Reads the usage. A host that was never used is observed since it was made known.
    func usage(of name: String) throws -> UsageHistogram? {
        try connection.first("SELECT usage, created FROM host WHERE name = ?1", name) { row in
            row.json(0) ?? UsageHistogram(observedSince: row[1])
        }
    }

    func all() throws -> [StoredHost] {
        try connection.all(HostColumns.select + " ORDER BY name", read: HostColumns.read)
    }

    /// The sessions with events that wait for their hosts.
    func waitingSessions() throws -> [(host: String, session: WaitingSession)] {
        try connection.all(
            HostQueries.waiting, EventType.transferRestarted.rawValue,
            EventType.transferNeedsInput.rawValue
        ) { (row: StoredRow<WaitingColumn>) in
            var session = WaitingSession(name: row[.name], firstWaiting: row[.first])
            session.launchEvents = row[.launchEvents]
            session.launchDelay = row[.launchDelay]
            session.isDrained = row[.isDrained]
            session.needsInput = row[.needsInput]
            session.lastLaunch = row[.lastLaunch]
            return (row[.host], session)
        }
    }
}
