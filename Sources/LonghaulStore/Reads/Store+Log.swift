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

extension StoredEvent {
    static let columns = "e.seq, e.at, s.name, e.transferID, e.type, e.detail, e.acknowledgedAt"

    init(_ row: StoredRow) {
        self.init(
            seq: row.int64(0), at: row.timestamp(1), session: row.text(2),
            transfer: row.isNull(3) ? nil : row.transferID(3),
            type: EventType(rawValue: row.text(4)), detail: row.optionalText(5),
            acknowledgedAt: row.optionalTimestamp(6))
    }
}
