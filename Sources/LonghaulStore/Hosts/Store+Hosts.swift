package import LonghaulCore

extension Store {
    /// Records a host, or replaces its settings, durably. Earlier failures are cleared.
    package func add(
        host name: String, _ settings: HostSettings, now: Timestamp
    ) throws(LonghaulError) {
        try write(.durable) {
            try $0.run(
                """
                INSERT INTO host (name, argv, permitted, eventBudget, taskBudget, created) \
                VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (name) DO UPDATE SET argv = ?2, \
                permitted = ?3, eventBudget = ?4, taskBudget = ?5, reset = reset + 1
                """, name, StoredJSON.encode(settings.argv),
                StoredJSON.encode(settings.permitted), settings.eventBudget, settings.taskBudget,
                now)
        }
    }

    package func hosts() throws(LonghaulError) -> [StoredHost] {
        try access { try $0.all(HostRecord.select + " ORDER BY name", read: HostRecord.read) }
    }

    package func host(_ name: String) throws(LonghaulError) -> StoredHost? {
        try access { try $0.host(name) }
    }

    /// Removes a host: no program is started under that name any more. Its sessions and their
    /// events stay for a later host of that name.
    package func remove(host name: String) throws(LonghaulError) {
        try write(.durable) { connection in
            try connection.run("DELETE FROM host WHERE name = ?1", name)
            if connection.changes == 0 { throw noSuchHost(name) }
        }
    }

    /// Clears the failures of a host: it may be started at once.
    package func reset(host name: String) throws(LonghaulError) {
        try write(.durable) { connection in
            try connection.run("UPDATE host SET reset = reset + 1 WHERE name = ?1", name)
            if connection.changes == 0 { throw noSuchHost(name) }
        }
    }

    /// The last launches of a host, newest first.
    package func launches(of host: String, limit: Int) throws(LonghaulError) -> [StoredLaunch] {
        try access {
            try $0.all(
                LaunchRecord.select + " WHERE l.host = ?1 ORDER BY l.id DESC LIMIT ?2", host, limit,
                read: LaunchRecord.read)
        }
    }

    /// Launches without a recorded end.
    package func openLaunches() throws(LonghaulError) -> [StoredLaunch] {
        try access {
            try $0.all(
                LaunchRecord.select
                    + " INDEXED BY launchOpen WHERE l.endedAt IS NULL ORDER BY l.id",
                read: LaunchRecord.read)
        }
    }

    /// The number of the last launch; 0 = there was none.
    package func lastLaunch() throws(LonghaulError) -> LaunchID {
        let last = try access {
            try $0.first("SELECT seq FROM sqlite_sequence WHERE name = 'launch'") { $0.int64(0) }
        }
        return LaunchID(rawValue: last ?? 0)
    }

    package func launch(_ id: LaunchID) throws(LonghaulError) -> StoredLaunch? {
        try access {
            try $0.first(LaunchRecord.select + " WHERE l.id = ?1", id, read: LaunchRecord.read)
        }
    }

    /// The needs of a session's transfers for an answer that are not acknowledged, in order.
    package func inputNeeds(
        of session: String, now: Timestamp
    ) throws(LonghaulError) -> [(transfer: Transfer, isDelayed: Bool)] {
        try openNeeds(of: session, now: now).map { ($0.transfer, $0.isDelayed) }
    }

    /// The hosts with sessions that have events, each with its recorded state. The store does not
    /// know whether a host runs, or whether it could.
    package func hostFacts() throws(LonghaulError) -> [HostFacts] {
        try snapshot { try $0.hostFacts() }
    }
}

enum HostQueries {
    /// For a transfer `t`: the event of its need waits (`?2`: its type).
    static let isAskedFor = """
        EXISTS (SELECT 1 FROM event e INDEXED BY eventByTransfer WHERE e.transferID = t.id \
        AND e.type = ?2 AND e.acknowledgedAt IS NULL)
        """

    /// `?1`, `?2`: types of events. A restart is worth knowing, not worth a launch.
    static let waiting = """
        SELECT s.host, s.name, s.launchEvents, s.launchDelay, \
        (SELECT e.at FROM event e INDEXED BY eventWaiting WHERE e.sessionID = s.id \
        AND e.acknowledgedAt IS NULL AND e.type <> ?1 ORDER BY e.seq LIMIT 1) AS first, \
        NOT EXISTS (SELECT 1 FROM tally y WHERE y.sessionID = s.id AND y.n > 0 \
        AND (y.phase = 0 OR y.pending = 1)), \
        EXISTS (SELECT 1 FROM transfer t INDEXED BY transferInput WHERE t.sessionID = s.id \
        AND t.input > 0 AND t.ended = 0 AND \(isAskedFor)), s.lastLaunch \
        FROM session s INDEXED BY sessionByHost WHERE s.host IS NOT NULL \
        AND first IS NOT NULL ORDER BY s.host, s.id LIMIT 10000
        """
}

extension Connection {
    func host(_ name: String) throws -> StoredHost? {
        try first(HostRecord.select + " WHERE name = ?1", name, read: HostRecord.read)
    }

    fileprivate func hostFacts() throws -> [HostFacts] {
        let rows = try all(
            HostQueries.waiting, EventType.transferRestarted.rawValue,
            EventType.transferNeedsInput.rawValue
        ) { row in
            var session = WaitingSession(name: row.text(1), firstWaiting: row.timestamp(4))
            session.launchEvents = row.bool(2)
            session.launchDelay = row.optionalDouble(3)
            session.isDrained = row.bool(5)
            session.needsInput = row.bool(6)
            session.lastLaunch = row.int64(7)
            return (host: row.text(0), session: session)
        }
        var facts: [HostFacts] = []
        for row in rows {
            if facts.last?.name != row.host {
                var host = HostFacts(name: row.host)
                if let known = try self.host(row.host) {
                    host.failures = known.failures
                    host.retryAt = known.retryAt
                } else {
                    host.obstacle = .removed
                }
                facts.append(host)
            }
            facts[facts.count - 1].sessions.append(row.session)
        }
        return facts
    }
}
