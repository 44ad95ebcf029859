package import LonghaulCore

/// An event, with the present state of its transfer.
package struct LoggedEvent: Sendable {
    package var event: StoredEvent
    /// As it is now; `nil` when the event is about the session, or the transfer was removed.
    package var transfer: Transfer?
}

extension Store {
    /// Events in order, those after `seq` (0 = from the first), of one session or of all; with
    /// `isWaiting` only those that are not acknowledged.
    ///
    /// A full page means that there may be more: continue after its last `seq`. Events that are
    /// committed later never have a smaller one.
    package func events(
        after seq: Int64 = 0, session: String? = nil, isWaiting: Bool = false, limit: Int
    ) throws(LonghaulError) -> [StoredEvent] {
        try access {
            try $0.events(after: seq, session: session, isWaiting: isWaiting, limit: limit)
        }
    }

    /// The same with their transfers, in one snapshot.
    package func loggedEvents(
        after seq: Int64 = 0, session: String? = nil, isWaiting: Bool = false, limit: Int,
        now: Timestamp
    ) throws(LonghaulError) -> [LoggedEvent] {
        try snapshot { connection in
            let events = try connection.events(
                after: seq, session: session, isWaiting: isWaiting, limit: limit)
            return try events.map { event in
                LoggedEvent(
                    event: event,
                    transfer: try event.transfer.flatMap { try connection.transfer($0, now: now) })
            }
        }
    }

    /// Acknowledges all events up to `seq`, of one session or of all, durably. Returns how many
    /// were still waiting.
    ///
    /// - Parameter seq: `.max` = all that there are.
    /// - Throws: `invalidRequest` for another number that no event has had.
    package func acknowledge(
        through seq: Int64, session: String? = nil, now: Timestamp
    ) throws(LonghaulError) -> Int {
        try write(.durable) { connection in
            let last = try connection.lastEvent()
            if seq > last, seq != .max {
                throw LonghaulError(
                    .invalidRequest,
                    "there is no event \(seq) yet; "
                        + (last == 0 ? "there is none at all" : "the last one is \(last)"))
            }
            guard let session else {
                try connection.run(
                    """
                    UPDATE event SET acknowledgedAt = ?2 WHERE seq <= ?1 AND acknowledgedAt IS NULL
                    """, seq, now)
                return connection.changes
            }
            guard let id = try connection.sessionID(session) else { throw noSuchSession(session) }
            return try connection.acknowledge(session: id, from: 0, through: seq, now: now)
        }
    }

    /// The same for single events, whether or not earlier ones are acknowledged.
    package func acknowledge(
        _ seqs: [Int64], now: Timestamp
    ) throws(LonghaulError) -> Int {
        try write(.durable) { connection in
            var count = 0
            for seq in seqs {
                try connection.run(
                    """
                    UPDATE event SET acknowledgedAt = coalesce(acknowledgedAt, ?2) WHERE seq = ?1
                    """, seq, now)
                if connection.changes == 0 {
                    throw LonghaulError(.noSuchEvent, "there is no event \(seq)")
                }
                count += 1
            }
            return count
        }
    }

    /// The number of the last event of the store; 0 = none yet.
    package func lastEvent() throws(LonghaulError) -> Int64 {
        try access { try $0.lastEvent() }
    }
}

extension Connection {
    func events(
        after seq: Int64, session: String?, isWaiting: Bool, limit: Int
    ) throws -> [StoredEvent] {
        let waiting = isWaiting ? "AND e.acknowledgedAt IS NULL" : ""
        guard let session else {
            return try all(
                """
                SELECT \(StoredEvent.columns) FROM event e CROSS JOIN session s \
                ON s.id = e.sessionID WHERE e.seq > ?1 \(waiting) ORDER BY e.seq LIMIT ?2
                """, seq, limit, read: StoredEvent.init)
        }
        let index = isWaiting ? "eventWaiting" : "eventBySession"
        return try all(
            """
            SELECT \(StoredEvent.columns) FROM event e INDEXED BY \(index) \
            JOIN session s ON s.id = e.sessionID \
            WHERE e.sessionID = (SELECT id FROM session WHERE name = ?1) AND e.seq > ?2 \
            \(waiting) ORDER BY e.seq LIMIT ?3
            """, session, seq, limit, read: StoredEvent.init)
    }

    fileprivate func lastEvent() throws -> Int64 {
        try first("SELECT seq FROM sqlite_sequence WHERE name = 'event'") { $0.int64(0) } ?? 0
    }

    func acknowledge(
        session: Int64, from first: Int64, through last: Int64, now: Timestamp
    ) throws -> Int {
        try run(
            """
            UPDATE event INDEXED BY eventWaiting SET acknowledgedAt = ?4 WHERE sessionID = ?1 \
            AND seq BETWEEN ?2 AND ?3 AND acknowledgedAt IS NULL
            """, session, first, last, now)
        return changes
    }

    /// Deletes the acknowledged events of a transfer that is being removed.
    func forgetAcknowledged(of id: TransferID) throws {
        try run("DELETE FROM event WHERE transferID = ?1 AND acknowledgedAt IS NOT NULL", id)
    }
}
