internal import LonghaulModel

/// The rows of `event`.
struct EventRows: ConnectionRows {
    let connection: Connection

    func list(
        after seq: Int64, session: String?, isWaiting: Bool, limit: Int
    ) throws -> [StoredEvent] {
        let waiting = isWaiting ? "AND e.acknowledgedAt IS NULL" : ""
        guard let session else {
            return try connection.all(
                """
                SELECT \(StoredEvent.columns) FROM event e CROSS JOIN session s \
                ON s.id = e.sessionID WHERE e.seq > ?1 \(waiting) ORDER BY e.seq LIMIT ?2
                """, seq, limit, read: StoredEvent.init)
        }
        let index = isWaiting ? "eventWaiting" : "eventBySession"
        return try connection.all(
            """
            SELECT \(StoredEvent.columns) FROM event e INDEXED BY \(index) \
            JOIN session s ON s.id = e.sessionID \
            WHERE e.sessionID = (SELECT id FROM session WHERE name = ?1) AND e.seq > ?2 \
            \(waiting) ORDER BY e.seq LIMIT ?3
            """, session, seq, limit, read: StoredEvent.init)
    }

    func last() throws -> Int64 {
        try connection.lastID(in: "event")
    }

    func acknowledge(
        session: Int64, from first: Int64, through last: Int64, now: Timestamp
    ) throws -> Int {
        try connection.run(
            """
            UPDATE event INDEXED BY eventWaiting SET acknowledgedAt = ?4 WHERE sessionID = ?1 \
            AND seq BETWEEN ?2 AND ?3 AND acknowledgedAt IS NULL
            """, session, first, last, now)
        return connection.changes
    }

    /// Deletes the acknowledged events of a transfer that is being removed. Waiting events keep the
    /// path of its file.
    func leave(_ id: TransferID) throws {
        try connection.run(
            "DELETE FROM event WHERE transferID = ?1 AND acknowledgedAt IS NOT NULL", id)
        try connection.run(
            """
            UPDATE event SET path = (SELECT coalesce(finalPath, destination, source) \
            FROM transfer WHERE id = ?1) WHERE transferID = ?1
            """, id)
    }
}
