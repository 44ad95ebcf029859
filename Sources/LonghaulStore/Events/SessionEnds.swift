internal import LonghaulCore

/// From which event on transfers ended in a transaction.
final class EndNotes {
    private(set) var first: (seq: Int64, at: Timestamp)?

    func note(_ seq: Int64, _ now: Timestamp) {
        if first == nil { first = (seq, now) }
    }
}

extension EngineTransaction {
    /// Says of each session whose last live transfer ended in this transaction that it is finished:
    /// the two facts are committed together. The tally knows, whatever the number of transfers.
    ///
    /// Of the default session only when it has a host: it is where unrelated transfers meet, and
    /// nobody would ask.
    func finishSessions() throws {
        guard let first = ends.first else { return }
        try connection.run(
            """
            INSERT INTO event (at, sessionID, type, detail) \
            SELECT ?2, s.id, ?3, (SELECT json_object(\
            'completed', coalesce(sum(n) FILTER (WHERE phase = 3), 0), \
            'failed', coalesce(sum(n) FILTER (WHERE phase = 4), 0), \
            'cancelled', coalesce(sum(n) FILTER (WHERE phase = 5), 0)) \
            FROM tally WHERE sessionID = s.id) FROM session s \
            WHERE s.id IN (SELECT sessionID FROM event WHERE seq >= ?1 \
            AND type IN (?4, ?5, ?6)) AND (s.name <> ?7 OR s.host IS NOT NULL) \
            AND NOT EXISTS (SELECT 1 FROM tally WHERE sessionID = s.id AND n > 0 \
            AND (phase = 0 OR pending = 1))
            """, first.seq, first.at, EventType.sessionFinished.rawValue,
            EventType.transferCompleted.rawValue, EventType.transferFailed.rawValue,
            EventType.transferCancelled.rawValue, TransferRequest.defaultSession)
    }
}
