package import LonghaulCore

/// Reads of the event log and the transfers for a session's own process.
extension Store {
    /// The next transfers that have ended, or wait for an answer, after an event, in order, of all
    /// sessions. `last` is the event up to which the log was read, `nil` at its end.
    package func ends(
        after sequence: Int64, limit: Int
    ) throws(LonghaulError) -> (ids: [TransferID], last: Int64?) {
        let events = try access {
            try $0.all(
                "SELECT seq, transferID, type FROM event WHERE seq > ?1 ORDER BY seq LIMIT ?2",
                sequence, limit
            ) { ($0.int64(0), $0.optionalInt64(1), EventType(rawValue: $0.text(2))) }
        }
        let ids = events.compactMap { event in
            event.2.endsTransfer || event.2 == .transferNeedsInput
                ? event.1.map(TransferID.init(rawValue:)) : nil
        }
        return (ids, events.last?.0)
    }

    /// Transfers of a session that have not ended, or whose end is not acknowledged, the oldest
    /// first.
    package func openTransfers(ofSession name: String) throws(LonghaulError) -> [TransferID] {
        try snapshot { connection in
            let live = try connection.streams(session: name, states: [.waiting, .running, .paused])
            var ids = Set(try connection.newest(of: live, below: .max, limit: .max))
            let ended = try connection.all(
                """
                SELECT e.transferID, e.type FROM event e INDEXED BY eventWaiting \
                JOIN transfer t ON t.id = e.transferID \
                WHERE e.sessionID = (SELECT id FROM session WHERE name = ?1) \
                AND e.acknowledgedAt IS NULL
                """, name
            ) { ($0.transferID(0), EventType(rawValue: $0.text(1))) }
            for (id, type) in ended where type.endsTransfer { ids.insert(id) }
            return ids.sorted()
        }
    }
}

extension EventType {
    /// Whether it reports that a transfer has ended.
    var endsTransfer: Bool {
        self == .transferCompleted || self == .transferFailed || self == .transferCancelled
    }
}
