internal import LonghaulCore

/// The additions of an engine's transaction to the logs. They are not read before the commit, so
/// they are inserted at its end, many rows to a statement.
final class LogBuffer {
    private var events = RowBatch<EventRow>()
    private var attempts = RowBatch<AttemptRow>()

    func add(_ event: EventRow) {
        events.append(event)
    }

    func add(_ attempt: AttemptRow) {
        attempts.append(attempt)
    }

    func insert(_ connection: Connection) throws {
        try events.flush(connection)
        let crowded = attempts.rows.filter { $0.outcome.number > Limits.attemptsKept }
        try attempts.flush(connection)
        for row in crowded {
            try connection.run(
                "DELETE FROM attempt WHERE transferID = ?1 AND serial <= ?2", row.transfer,
                row.outcome.number - Limits.attemptsKept)
        }
    }
}

struct EventRow: BatchedRow {
    var at: Timestamp
    var session: Int64
    var transfer: TransferID
    var type: EventType
    var detail: String?

    static let insertion = RowInsertion(
        [24, 6], columns: 5,
        "INSERT OR FAIL INTO event (at, sessionID, transferID, type, detail)")

    func bind(to statement: Prepared, from index: Int32) {
        statement.bind(index, at)
        statement.bind(index + 1, session)
        statement.bind(index + 2, transfer)
        statement.bind(index + 3, type.rawValue)
        statement.bind(index + 4, detail)
    }
}

/// An attempt, or its end: later facts replace earlier ones.
struct AttemptRow: BatchedRow {
    var transfer: TransferID
    var outcome: AttemptRecord

    static let insertion = RowInsertion(
        [24, 6], columns: 15,
        """
        INSERT OR FAIL INTO attempt (transferID, serial, startedAt, endedAt, url, bytes, \
        httpStatus, httpVersion, outcome, message, peer, nameLookup, connect, tlsHandshake, \
        firstByte)
        """,
        tail: """
            ON CONFLICT (transferID, serial) DO UPDATE SET startedAt = excluded.startedAt, \
            endedAt = excluded.endedAt, url = excluded.url, bytes = excluded.bytes, \
            httpStatus = excluded.httpStatus, httpVersion = excluded.httpVersion, \
            outcome = excluded.outcome, message = excluded.message, peer = excluded.peer, \
            nameLookup = excluded.nameLookup, connect = excluded.connect, \
            tlsHandshake = excluded.tlsHandshake, firstByte = excluded.firstByte
            """)

    func bind(to statement: Prepared, from index: Int32) {
        statement.bind(index, transfer)
        statement.bind(index + 1, outcome.number)
        statement.bind(index + 2, outcome.startedAt)
        statement.bind(index + 3, outcome.endedAt)
        statement.bind(index + 4, outcome.url)
        statement.bind(index + 5, outcome.bytes)
        statement.bind(index + 6, outcome.httpStatus)
        statement.bind(index + 7, outcome.httpVersion)
        statement.bind(index + 8, outcome.outcome)
        statement.bind(index + 9, outcome.message)
        let phases = outcome.phases
        statement.bind(index + 10, phases.peer)
        statement.bind(index + 11, microseconds(phases.nameLookup))
        statement.bind(index + 12, microseconds(phases.connect))
        statement.bind(index + 13, microseconds(phases.tlsHandshake))
        statement.bind(index + 14, microseconds(phases.firstByte))
    }

    private func microseconds(_ seconds: Double?) -> Int64? {
        seconds.map { Int64(bounding: ($0 * 1e6).rounded()) }
    }
}
