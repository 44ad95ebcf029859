package import LonghaulCore

/// A transfer that waits for an answer, and the event that reported it.
package struct OpenNeed: Sendable {
    package var transfer: Transfer
    package var event: Int64
    package var isDelayed: Bool
}

extension Store {
    /// The needs of a session's transfers that are not answered, in order.
    package func openNeeds(
        of session: String, now: Timestamp
    ) throws(LonghaulError) -> [OpenNeed] {
        try snapshot { connection in
            let found = try connection.all(
                """
                SELECT t.id, t.input, (SELECT max(e.seq) FROM event e INDEXED BY eventByTransfer \
                WHERE e.transferID = t.id AND e.type = ?2 AND e.acknowledgedAt IS NULL) AS question \
                FROM transfer t INDEXED BY transferInput \
                WHERE t.sessionID = (SELECT id FROM session WHERE name = ?1) AND t.input > 0 \
                AND t.ended = 0 AND question IS NOT NULL ORDER BY question
                """, session, EventType.transferNeedsInput.rawValue
            ) { ($0.transferID(0), $0.int(1) == InputKind.delayed, $0.int64(2)) }
            return try found.compactMap { id, isDelayed, event in
                try connection.transfer(id, now: now).map {
                    OpenNeed(transfer: $0, event: event, isDelayed: isDelayed)
                }
            }
        }
    }

    /// Whether a transfer, live or ended, has or had this destination. Reads all transfers: for
    /// rare calls only.
    package func hasTransfer(to destination: String) throws(LonghaulError) -> Bool {
        try snapshot { connection in
            try connection.first(
                "SELECT 1 FROM transfer WHERE destination = ?1", destination
            ) { $0.bool(0) } ?? false
        }
    }

    /// Why a transfer waits for an answer; `nil` if no reason is recorded.
    package func inputError(of id: TransferID) throws(LonghaulError) -> LonghaulError? {
        try events(of: id).last { $0.type == .transferNeedsInput }?.detail
            .flatMap { StoredJSON.decode(InputDetail.self, $0) }?.error
    }
}
