package import LonghaulModel

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

/// The rows of `session`.
struct SessionRows: ConnectionRows {
    let connection: Connection

    func id(of name: String) throws -> Int64? {
        try connection.value("SELECT id FROM session WHERE name = ?1", name)
    }

    func settings(of id: Int64) throws -> SessionSettings {
        try connection.first(SessionColumns.byID, id) {
            SessionColumns.settings($0)
        } ?? SessionSettings()
    }

    func session(_ name: String) throws -> StoredSession? {
        let found = try connection.first(
            SessionColumns.byName, name
        ) { ($0[.id] as Int64, $0[.created] as Timestamp, SessionColumns.settings($0)) }
        guard let (id, created, settings) = found else { return nil }
        let waiting = try connection.first(
            """
            SELECT count(*), min(seq) FROM event INDEXED BY eventWaiting WHERE sessionID = ?1 \
            AND acknowledgedAt IS NULL
            """, id
        ) { ($0[0] as Int, $0[1] as Int64?) }
        // A launch ends in the transaction that acknowledges its handed-over work.
        let done = try connection.first(
            """
            SELECT e.seq, (SELECT l.id FROM launch l WHERE l.sessionID = ?1 \
            AND l.endedAt = e.acknowledgedAt AND e.seq BETWEEN l.firstSeq AND l.lastSeq) \
            FROM event e INDEXED BY eventBySession WHERE e.sessionID = ?1 AND e.seq < ?2 \
            ORDER BY e.seq DESC LIMIT 1
            """, id, waiting?.1 ?? .max
        ) { ($0[0] as Int64, $0[1] as Int64?) }
        return StoredSession(
            name: name, created: created, settings: settings,
            counts: try Tally(connection).counts(session: name),
            waitingEvents: waiting?.0 ?? 0,
            acknowledgedThrough: done?.0 ?? 0, acknowledgingLaunch: done?.1)
    }

    /// Binds a session to a host, as a request demands.
    func bind(_ id: Int64, to host: String) throws {
        let settings = try settings(of: id)
        if settings.host == host { return }
        if let other = settings.host {
            throw LonghaulError(
                .conflict,
                "the session belongs to host \(other); `session set --host` changes that")
        }
        guard try HostRows(connection).find(host) != nil else { throw noSuchHost(host) }
        try connection.run("UPDATE session SET host = ?2 WHERE id = ?1", id, host)
    }

    func row(of name: String, now: Timestamp) throws -> SessionRow {
        let id = try makeID(of: name, now: now)
        let settings = try settings(of: id)
        return SessionRow(id: id, isDiscretionary: settings.isDiscretionary, host: settings.host)
    }

    /// The row of a session, made with its first transfer.
    func makeID(of name: String, now: Timestamp) throws -> Int64 {
        let found: Int64? = try connection.value("SELECT id FROM session WHERE name = ?1", name)
        if let found { return found }
        try connection.run("INSERT INTO session (name, created) VALUES (?1, ?2)", name, now)
        return connection.lastInsertedRowID
    }
}

/// The settings of a session for its transfers.
struct SessionRow {
    var id: Int64
    var isDiscretionary = false
    var host: String?
}

private enum SessionColumns: Int32, StoredColumn {
    case id, created, host, discretionary, launchEvents, askBeforeStart, launchDelay, notify

    static let byID = "SELECT \(list) FROM session WHERE id = ?1"
    static let byName = "SELECT \(list) FROM session WHERE name = ?1"

    static func settings(_ row: StoredRow<SessionColumns>) -> SessionSettings {
        var settings = SessionSettings()
        settings.host = row[.host]
        settings.isDiscretionary = row[.discretionary]
        settings.launchEvents = row[.launchEvents]
        settings.askBeforeStart = row[.askBeforeStart]
        settings.launchDelay = row[.launchDelay]
        settings.notifies = row[.notify]
        return settings
    }
}

func noSuchSession(_ name: String) -> LonghaulError {
    LonghaulError(.noSuchSession, "there is no session \(name)")
}

func noSuchHost(_ name: String) -> LonghaulError {
    LonghaulError(.noSuchHost, "there is no host \(name); `host add` makes one known")
}
