package import LonghaulCore

/// A session for display, from one consistent snapshot.
package struct StoredSession: Sendable {
    package var name: String
    package var created: Timestamp
    package var settings: SessionSettings
    package var counts: [TransferState: Int]
    /// The number of events that are not acknowledged.
    package var waitingEvents: Int
    /// The last event before which none waits; 0 = none in the log is acknowledged.
    package var acknowledgedThrough: Int64
    /// The launch whose success acknowledged that one; `nil` = it was acknowledged by its number.
    package var acknowledgingLaunch: Int64?
}

extension Store {
    /// All sessions, by name.
    package func sessions() throws(LonghaulError) -> [StoredSession] {
        try snapshot { connection in
            try connection.all("SELECT name FROM session ORDER BY name") { $0.text(0) }
                .compactMap { try connection.session($0) }
        }
    }

    package func session(_ name: String) throws(LonghaulError) -> StoredSession? {
        try snapshot { try $0.session(name) }
    }

    /// Changes the settings of a session, durably; makes the session if there is none. Transfers
    /// that are already enqueued keep their settings, except for the host.
    package func change(
        session name: String, _ change: SessionChange, now: Timestamp
    ) throws(LonghaulError) {
        try write(.durable) { connection in
            let id = try connection.id(ofSession: name, now: now)
            var settings = try connection.settings(ofSession: id)
            change.apply(to: &settings)
            if case .some(.some(let host)) = change.host, try connection.host(host) == nil {
                throw noSuchHost(host)
            }
            try connection.run(
                """
                UPDATE session SET host = ?2, discretionary = ?3, launchEvents = ?4, \
                askBeforeStart = ?5, launchDelay = ?6 WHERE id = ?1
                """, id, settings.host, settings.isDiscretionary, settings.launchEvents,
                settings.askBeforeStart, settings.launchDelay)
        }
    }

    /// Deletes a session with its ended transfers and its events. Refused while a transfer has not
    /// ended, and while events wait unless these are to be discarded. Returns the part files that
    /// no transfer uses any more.
    package func remove(
        session name: String, discardingEvents: Bool, now: Timestamp
    ) throws(LonghaulError) -> [OrphanedPart] {
        try write(.durable) { connection in
            guard let id = try connection.sessionID(name),
                let session = try connection.session(name)
            else { throw noSuchSession(name) }
            let live = try connection.first(
                """
                SELECT coalesce(sum(n), 0) FROM tally WHERE sessionID = ?1 \
                AND (phase = 0 OR pending = 1)
                """, id, read: { $0.int(0) })
            if let live, live > 0 {
                let what = live == 1 ? "transfer that has" : "transfers that have"
                throw LonghaulError(
                    .conflict,
                    "session \(name) has \(live) \(what) not ended; cancel what is left first")
            }
            if session.waitingEvents > 0, !discardingEvents {
                let what = session.waitingEvents == 1 ? "event" : "events"
                throw LonghaulError(
                    .conflict,
                    "session \(name) has \(session.waitingEvents) \(what) that nobody has"
                        + " acknowledged; acknowledge or discard what waits first")
            }
            let ids = try connection.all(
                """
                SELECT id FROM transfer INDEXED BY transferEnded WHERE sessionID = ?1 \
                AND ended = 1
                """, id, read: { $0.transferID(0) })
            let parts = try ids.flatMap { try connection.forget($0, now: now) }
            try connection.run("DELETE FROM event WHERE sessionID = ?1", id)
            try connection.run("DELETE FROM tally WHERE sessionID = ?1", id)
            try connection.run("DELETE FROM session WHERE id = ?1", id)
            return parts
        }
    }
}

func noSuchSession(_ name: String) -> LonghaulError {
    LonghaulError(.noSuchSession, "there is no session \(name)")
}

func noSuchHost(_ name: String) -> LonghaulError {
    LonghaulError(.noSuchHost, "there is no host \(name); `host add` makes one known")
}

extension Connection {
    func sessionID(_ name: String) throws -> Int64? {
        try first("SELECT id FROM session WHERE name = ?1", name) { $0.int64(0) }
    }

    func settings(ofSession id: Int64) throws -> SessionSettings {
        try first(
            """
            SELECT host, discretionary, launchEvents, askBeforeStart, launchDelay FROM session \
            WHERE id = ?1
            """, id
        ) { $0.sessionSettings(0) } ?? SessionSettings()
    }

    fileprivate func session(_ name: String) throws -> StoredSession? {
        let found = try first(
            """
            SELECT id, created, host, discretionary, launchEvents, askBeforeStart, launchDelay \
            FROM session WHERE name = ?1
            """, name
        ) { ($0.int64(0), $0.timestamp(1), $0.sessionSettings(2)) }
        guard let (id, created, settings) = found else { return nil }
        let waiting = try first(
            """
            SELECT count(*), min(seq) FROM event INDEXED BY eventWaiting WHERE sessionID = ?1 \
            AND acknowledgedAt IS NULL
            """, id
        ) { ($0.int(0), $0.optionalInt64(1)) }
        // A launch ends in the transaction that acknowledges what it was handed.
        let done = try first(
            """
            SELECT e.seq, (SELECT l.id FROM launch l WHERE l.sessionID = ?1 \
            AND l.endedAt = e.acknowledgedAt AND e.seq BETWEEN l.firstSeq AND l.lastSeq) \
            FROM event e INDEXED BY eventBySession WHERE e.sessionID = ?1 AND e.seq < ?2 \
            ORDER BY e.seq DESC LIMIT 1
            """, id, waiting?.1 ?? .max
        ) { ($0.int64(0), $0.optionalInt64(1)) }
        return StoredSession(
            name: name, created: created, settings: settings, counts: try counts(session: name),
            waitingEvents: waiting?.0 ?? 0,
            acknowledgedThrough: done?.0 ?? 0, acknowledgingLaunch: done?.1)
    }

    /// Binds a session to a host, as a request demands.
    func bind(session id: Int64, to host: String) throws {
        let settings = try settings(ofSession: id)
        if settings.host == host { return }
        if let other = settings.host {
            throw LonghaulError(
                .conflict, "the session belongs to host \(other); `session set --host` changes that"
            )
        }
        guard try self.host(host) != nil else { throw noSuchHost(host) }
        try run("UPDATE session SET host = ?2 WHERE id = ?1", id, host)
    }
}

extension StoredRow {
    func sessionSettings(_ column: Int32) -> SessionSettings {
        var settings = SessionSettings()
        settings.host = optionalText(column)
        settings.isDiscretionary = bool(column + 1)
        settings.launchEvents = bool(column + 2)
        settings.askBeforeStart = bool(column + 3)
        settings.launchDelay = optionalDouble(column + 4)
        return settings
    }
}
