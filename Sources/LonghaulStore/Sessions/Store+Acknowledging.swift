package import LonghaulCore

extension Store {
    /// Acknowledges an event, durably. A deleted event needs no acknowledgement.
    package func acknowledge(event sequence: Int64, now: Timestamp) throws(LonghaulError) {
        try write(.durable) { connection in
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
        try write(.durable) { connection in
            let found = try connection.first(
                """
                SELECT t.sessionID, t.ended = 1 AND t.rearm = t.rearmed, \
                (SELECT max(e.seq) FROM event e WHERE e.transferID = t.id) \
                FROM transfer t WHERE t.id = ?1
                """, id
            ) { (session: $0.int64(0), hasEnded: $0.bool(1), event: $0.optionalInt64(2)) }
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
            if forgetting { _ = try connection.forget(id, now: now) }
        }
    }
}
