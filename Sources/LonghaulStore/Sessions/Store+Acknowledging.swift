package import LonghaulCore

extension Store {
    /// All that the log says of a transfer was dealt with, durably.
    package func acknowledgeEvents(of id: TransferID, now: Timestamp) throws(LonghaulError) {
        try write(.durable) { connection in
            try connection.run(
                """
                UPDATE event SET acknowledgedAt = ?2 \
                WHERE transferID = ?1 AND acknowledgedAt IS NULL
                """, id, now)
        }
    }

    package func acknowledge(event sequence: Int64, now: Timestamp) throws(LonghaulError) {
        try write(.durable) { connection in
            try connection.run(
                "UPDATE event SET acknowledgedAt = ?2 WHERE seq = ?1 AND acknowledgedAt IS NULL",
                sequence, now)
        }
    }

    package func acknowledge(
        session name: String, through sequence: Int64, now: Timestamp
    ) throws(LonghaulError) {
        try write(.durable) { connection in
            try connection.run(
                """
                UPDATE event SET acknowledgedAt = ?3 WHERE seq <= ?2 AND acknowledgedAt IS NULL \
                AND sessionID = (SELECT id FROM session WHERE name = ?1)
                """, name, sequence, now)
        }
    }
}
