package import LonghaulCore

extension Store {
    /// All events of one transfer, in order.
    package func events(of id: TransferID) throws(LonghaulError) -> [StoredEvent] {
        try access {
            try $0.all(
                """
                SELECT \(StoredEvent.columns) \
                FROM event e JOIN session s ON s.id = e.sessionID \
                WHERE e.transferID = ?1 ORDER BY e.seq
                """, id, read: StoredEvent.init)
        }
    }

    /// The last attempts of a transfer, oldest first.
    package func attempts(of id: TransferID) throws(LonghaulError) -> [AttemptRecord] {
        try access {
            try $0.all(
                """
                SELECT serial, startedAt, endedAt, url, bytes, httpStatus, httpVersion, outcome, \
                message FROM attempt WHERE transferID = ?1 ORDER BY serial
                """, id
            ) { row in
                AttemptRecord(
                    serial: row.int64(0),
                    outcome: AttemptOutcome(
                        number: row.int(0), startedAt: row.timestamp(1), endedAt: row.timestamp(2),
                        url: row.text(3), bytes: row.int64(4),
                        httpStatus: row.optionalInt64(5).map { Int($0) },
                        httpVersion: row.optionalInt64(6).map { Int($0) }, outcome: row.text(7),
                        message: row.optionalText(8)))
            }
        }
    }
}
