package import LonghaulModel

/// An event, with the present state of its transfer.
package struct LoggedEvent: Sendable {
    package var event: StoredEvent
    /// The current state of the transfer; `nil` when the event is about the session, or the
    /// transfer was removed.
    package var transfer: Transfer?
}

/// The event log as clients read and acknowledge it.
package struct EventLog {
    let store: Store

    /// Events after `seq` in order (0 = from the first), of one session or of all; with `isWaiting`
    /// only events that are not acknowledged.
    ///
    /// A full page means that there may be more: continue after its last `seq`. Events that are
    /// committed later never have a smaller one.
    package func list(
        after seq: Int64 = 0, session: String? = nil, isWaiting: Bool = false, limit: Int
    ) throws(LonghaulError) -> [StoredEvent] {
        try store.access {
            try EventRows($0).list(after: seq, session: session, isWaiting: isWaiting, limit: limit)
        }
    }

    /// The same with their transfers, in one snapshot.
    package func listWithTransfers(
        after seq: Int64 = 0, session: String? = nil, isWaiting: Bool = false, limit: Int,
        now: Timestamp
    ) throws(LonghaulError) -> [LoggedEvent] {
        try store.snapshot { connection in
            let events = try EventRows(connection).list(
                after: seq, session: session, isWaiting: isWaiting, limit: limit)
            return try events.map { event in
                LoggedEvent(
                    event: event,
                    transfer: try event.transfer.flatMap {
                        try TransferRows(connection).transfer($0, now: now)
                    })
            }
        }
    }

    /// Acknowledges all events up to `seq`, of one session or of all, durably. Returns how many
    /// were still waiting.
    ///
    /// - Parameter seq: `.max` = all events.
    /// - Throws: `invalidRequest` for another number that no event has had.
    package func acknowledge(
        through seq: Int64, session: String? = nil, now: Timestamp
    ) throws(LonghaulError) -> Int {
        try store.write(.durable) { connection in
            let last = try EventRows(connection).last()
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
            guard let id = try SessionRows(connection).id(of: session) else {
                throw noSuchSession(session)
            }
            return try EventRows(connection).acknowledge(
                session: id, from: 0, through: seq, now: now)
        }
    }

    /// The same for single events, whether or not earlier ones are acknowledged.
    package func acknowledge(
        _ seqs: [Int64], now: Timestamp
    ) throws(LonghaulError) -> Int {
        try store.write(.durable) { connection in
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

    /// Records a client's finding about a session, not about one of its transfers.
    package func append(
        _ type: EventType, of session: String, detail: String, now: Timestamp
    ) throws(LonghaulError) {
        try store.write(.durable) { connection in
            try connection.run(
                """
                INSERT INTO event (at, sessionID, type, detail) \
                SELECT ?2, id, ?3, ?4 FROM session WHERE name = ?1
                """, session, now, type.rawValue, detail)
        }
    }

    /// The number of the last event of the store; 0 = none yet.
    package func last() throws(LonghaulError) -> Int64 {
        try store.access { try EventRows($0).last() }
    }

    /// All events of one transfer, in order.
    package func list(of id: TransferID) throws(LonghaulError) -> [StoredEvent] {
        try store.access {
            try $0.all(
                """
                SELECT \(StoredEvent.columns) \
                FROM event e JOIN session s ON s.id = e.sessionID \
                WHERE e.transferID = ?1 ORDER BY e.seq
                """, id, read: StoredEvent.init)
        }
    }

    /// The next transfers that have ended, or wait for an answer, after an event, in order, of all
    /// sessions. `last` is the event up to which the log was read, `nil` at its end.
    package func ends(
        after sequence: Int64, limit: Int
    ) throws(LonghaulError) -> (ids: [TransferID], last: Int64?) {
        let events = try store.access {
            try $0.all(
                "SELECT seq, transferID, type FROM event WHERE seq > ?1 ORDER BY seq LIMIT ?2",
                sequence, limit
            ) { ($0[0] as Int64, $0[1] as Int64?, EventType(rawValue: $0[2])) }
        }
        let ids = events.compactMap { event in
            event.2.endsTransfer || event.2 == .transferNeedsInput
                ? event.1.map(TransferID.init(rawValue:)) : nil
        }
        return (ids, events.last?.0)
    }
}

extension Store {
    /// The event log, for clients.
    package var events: EventLog { EventLog(store: self) }
}

extension EventLog {
    /// Acknowledges an event, durably. A deleted event needs no acknowledgement.
    package func acknowledge(event sequence: Int64, now: Timestamp) throws(LonghaulError) {
        try store.write(.durable) { connection in
            try connection.run(
                "UPDATE event SET acknowledgedAt = ?2 WHERE seq = ?1 AND acknowledgedAt IS NULL",
                sequence, now)
        }
    }

    /// Acknowledges the events of an ended transfer, durably. The end of its session is
    /// acknowledged with them if no other event of the session waits: a reader of these must see
    /// it, too. With `forgetting` the transfer is removed.
    package func consume(
        _ id: TransferID, forgetting: Bool, now: Timestamp
    ) throws(LonghaulError) {
        try store.write(.durable) { connection in
            let found = try connection.first(
                """
                SELECT t.sessionID, t.ended = 1 AND t.rearm = t.rearmed, \
                (SELECT max(e.seq) FROM event e WHERE e.transferID = t.id) \
                FROM transfer t WHERE t.id = ?1
                """, id
            ) { (session: $0[0] as Int64, hasEnded: $0[1] as Bool, event: $0[2] as Int64?) }
            guard let found, found.hasEnded else { return }
            try connection.run(
                """
                UPDATE event SET acknowledgedAt = ?2 \
                WHERE transferID = ?1 AND acknowledgedAt IS NULL
                """, id, now)
            if let event = found.event {
                try connection.run(
                    """
                    UPDATE event SET acknowledgedAt = ?3 WHERE seq IN (\
                    SELECT w.seq FROM event w INDEXED BY eventWaiting WHERE w.sessionID = ?1 \
                    AND w.acknowledgedAt IS NULL ORDER BY w.seq LIMIT 1) \
                    AND seq > ?2 AND type = ?4
                    """, found.session, event, now, EventType.sessionFinished.rawValue)
            }
            if forgetting { _ = try TransferRows(connection).forget(id, now: now) }
        }
    }
}
