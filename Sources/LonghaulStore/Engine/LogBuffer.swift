internal import LonghaulModel

/// Attempts that are kept of each transfer.
private let attemptsKept = 20

/// The additions of an engine's transaction to the logs. They are not read before the commit, so
/// they are inserted at its end, many rows to a statement.
final class LogBuffer {
    private var events: [EventRow] = []
    private var attempts = RowBatch<AttemptRow>()

    func add(_ event: EventRow) {
        events.append(event)
    }

    func add(_ attempt: AttemptRow) {
        attempts.append(attempt)
    }

    func insert(_ connection: Connection) throws {
        try insertEvents(connection)
        let crowded = attempts.rows.filter { $0.outcome.number > attemptsKept }
        try attempts.flush(connection)
        for row in crowded {
            try connection.run(
                "DELETE FROM attempt WHERE transferID = ?1 AND serial <= ?2", row.transfer,
                row.outcome.number - attemptsKept)
        }
    }

    private func insertEvents(_ connection: Connection) throws {
        if events.isEmpty { return }
        let quiet = Set<Int64>(
            try connection.values(
                "SELECT id FROM session INDEXED BY sessionQuiet WHERE quiet = 1"))
        var batch = RowBatch<EventRow>()
        for var event in events {
            event.isAcknowledged = quiet.contains(event.session)
            batch.append(event)
        }
        events = []
        try batch.flush(connection)
    }
}

struct EventRow: BatchedRow {
    var at: Timestamp
    var session: Int64
    var transfer: TransferID
    var type: EventType
    var detail: String?
    /// Nobody is to be notified of it.
    var isAcknowledged = false

    enum Column: Int32, StoredColumn {
        case at, sessionID, transferID, type, detail, acknowledgedAt
    }

    static let insertion = RowInsertion<Column>([24, 6], into: "event")

    func bind(to row: RowParameters<Column>) {
        row.bind(.at, at)
        row.bind(.sessionID, session)
        row.bind(.transferID, transfer)
        row.bind(.type, type.rawValue)
        row.bind(.detail, detail)
        row.bind(.acknowledgedAt, isAcknowledged ? at : nil)
    }
}
