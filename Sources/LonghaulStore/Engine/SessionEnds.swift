internal import LonghaulModel

/// The ends within a transaction: the sessions concerned, and the changes of the tally, which is
/// updated once for all of them.
final class EndNotes {
    struct Group: Hashable {
        var sessionID: Int64
        var want: Int
        var isRearmPending: Bool
    }

    struct End: Hashable {
        var group: Group
        var phase: Phase
    }

    /// The sessions with an ended transfer, and the time of its end.
    private(set) var sessions: [Int64: Timestamp] = [:]
    private var ended: [End: Int] = [:]
    /// Other transfers wait for one of them, and are in the inbox.
    var areSomeAwaited = false

    /// Records that a live transfer has ended in this phase.
    func add(_ phase: Phase, in group: Group, at now: Timestamp) {
        sessions[group.sessionID] = now
        ended[End(group: group, phase: phase), default: 0] += 1
    }

    func removeEnded() -> [End: Int] {
        defer { ended = [:] }
        return ended
    }
}

/// Reports sessions as finished at the end of a transaction.
struct SessionEnds {
    let connection: Connection
    let ends: EndNotes

    /// Reports each session whose last live transfer ended in this transaction as finished: both
    /// facts are committed together. The tally has the count, regardless of the number of
    /// transfers.
    ///
    /// The default session is reported only if it has a host: unrelated transfers share it, and its
    /// end has no meaning.
    func finishSessions() throws {
        try tallyEnded()
        for (session, at) in ends.sessions.sorted(by: { $0.key < $1.key }) {
            try finish(session, at)
        }
    }

    private func finish(_ session: Int64, _ now: Timestamp) throws {
        try connection.run(
            """
            INSERT INTO event (at, sessionID, type, detail) \
            SELECT ?2, s.id, ?3, (SELECT json_object(\
            'completed', coalesce(sum(n) FILTER (WHERE phase = 3), 0), \
            'failed', coalesce(sum(n) FILTER (WHERE phase = 4), 0), \
            'cancelled', coalesce(sum(n) FILTER (WHERE phase = 5), 0)) \
            FROM tally WHERE sessionID = s.id) FROM session s \
            WHERE s.id = ?1 AND s.quiet = 0 AND (s.name <> ?4 OR s.host IS NOT NULL) \
            AND NOT EXISTS (SELECT 1 FROM tally WHERE sessionID = s.id AND n > 0 \
            AND (phase = 0 OR pending = 1))
            """, session, now, EventType.sessionFinished.rawValue, TransferRequest.defaultSession)
    }

    /// Makes the changes that the trigger would have made row by row.
    private func tallyEnded() throws {
        for (end, count) in ends.removeEnded() {
            let group = end.group
            try connection.run(
                """
                UPDATE tally SET n = n - ?4 WHERE sessionID = ?1 AND phase = 0 AND want = ?2 \
                AND pending = ?3
                """, group.sessionID, group.want, group.isRearmPending, count)
            try connection.run(
                """
                INSERT INTO tally (sessionID, phase, want, pending, n) VALUES (?1, ?5, ?2, ?3, ?4) \
                ON CONFLICT DO UPDATE SET n = n + ?4
                """, group.sessionID, group.want, group.isRearmPending, count, end.phase.rawValue)
        }
    }
}
