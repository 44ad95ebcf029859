package import LonghaulModel

/// A transfer that waits for an answer, and the event that reported it.
package struct OpenNeed: Sendable {
    package var transfer: Transfer
    package var event: Int64
    package var isDelayed: Bool
}

/// Transfers that wait for an answer of their host, for clients.
package struct OpenQuestions {
    let store: Store

    /// The needs of a session's transfers that are not answered, in order.
    package func openNeeds(
        of session: String, now: Timestamp
    ) throws(LonghaulError) -> [OpenNeed] {
        try store.snapshot { connection in
            let found = try connection.all(
                """
                SELECT t.id, t.input, (SELECT max(e.seq) FROM event e INDEXED BY eventByTransfer \
                WHERE e.transferID = t.id AND e.type = ?2 AND e.acknowledgedAt IS NULL) AS question \
                FROM transfer t INDEXED BY transferInput \
                WHERE t.sessionID = (SELECT id FROM session WHERE name = ?1) AND t.input > 0 \
                AND t.ended = 0 AND question IS NOT NULL ORDER BY question
                """, session, EventType.transferNeedsInput.rawValue
            ) { ($0[0] as TransferID, $0[1] == InputKind.delayed, $0[2] as Int64) }
            return try found.compactMap { id, isDelayed, event in
                try TransferRows(connection).transfer(id, now: now).map {
                    OpenNeed(transfer: $0, event: event, isDelayed: isDelayed)
                }
            }
        }
    }

    /// Why a transfer waits for an answer; `nil` if no reason is recorded.
    package func inputError(of id: TransferID) throws(LonghaulError) -> LonghaulError? {
        try store.events.list(of: id).last { $0.type == .transferNeedsInput }?.detail
            .flatMap { StoredJSON.decode(InputDetail.self, $0) }?.error
    }

    /// The needs of a session's transfers for an answer that are not acknowledged, in order.
    package func inputNeeds(
        of session: String, now: Timestamp
    ) throws(LonghaulError) -> [(transfer: Transfer, isDelayed: Bool)] {
        try openNeeds(of: session, now: now).map { ($0.transfer, $0.isDelayed) }
    }

    /// Lets a transfer that waits for an answer continue unchanged. `false`: it does not wait.
    package func answerInput(_ id: TransferID) throws(LonghaulError) -> Bool {
        try store.write(.durable) { connection in
            let waits: Bool? = try connection.value(
                "SELECT input > 0 AND ended = 0 FROM transfer WHERE id = ?1", id)
            guard waits == true else { return false }
            try IntentRows(connection).add(id)
            return true
        }
    }

    /// True if the transfer waits for an answer, in that session.
    package func waitsForInput(
        _ id: TransferID, session: String
    ) throws(LonghaulError) -> Bool {
        try store.access {
            try $0.value(
                """
                SELECT t.input > 0 AND t.ended = 0 FROM transfer t \
                JOIN session s ON s.id = t.sessionID WHERE t.id = ?1 AND s.name = ?2
                """, id, session)
        } ?? false
    }
}

extension Store {
    /// Transfers that wait for an answer.
    package var questions: OpenQuestions { OpenQuestions(store: self) }
}
