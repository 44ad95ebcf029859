internal import LonghaulModel

/// New transfers that go in with one statement.
private let rowsPerInsertion = 100

/// New transfers that are not inserted yet; look-ups search them as well.
struct InsertBuffer {
    struct Row {
        var id: Int64
        /// The transfer, with the destination that a download got.
        var new: NewTransfer
        var schedule: StoredSchedule
        /// See ``CalendarRows/place(of:)``.
        var calendar: Int64
        var session: Int64
        var origin: Int64
        var identityKey: Int64
        var created: Timestamp
        /// When it may begin.
        var begin: Timestamp
        var deadline: Timestamp
        var options: String?
        /// ``TransferOptions/notifies``: the batch.
        var notice: Int64?
    }

    private var batch = RowBatch<Row>()
    private var keys: Set<Int64> = []

    /// `true` when the buffer is full and must be flushed.
    mutating func append(_ row: Row) -> Bool {
        batch.append(row)
        keys.insert(row.new.reservation.key)
        return batch.rows.count == rowsPerInsertion
    }

    func holds(identity key: Int64) -> Bool { batch.rows.contains { $0.identityKey == key } }

    func holds(_ reservation: Reservation) -> Bool { keys.contains(reservation.key) }

    func holder(of reservation: Reservation) -> TransferID? {
        guard keys.contains(reservation.key) else { return nil }
        return batch.rows.first { $0.new.reservation.isExactly(reservation) }
            .map { TransferID(rawValue: $0.id) }
    }

    func url(of id: TransferID) -> String? {
        batch.rows.first { $0.id == id.rawValue }?.new.request.url
    }

    mutating func flush(_ connection: Connection) throws {
        try batch.flush(connection)
        keys.removeAll(keepingCapacity: true)
    }
}

extension InsertBuffer.Row: BatchedRow {
    enum Column: Int32, StoredColumn {
        case id, readyAt, schedule, priority, sessionID, originID, reservationKey, created
        case deadline, deadlineAt, deadlineAfter, earliest, expectedBytes, url, destination
        case options, eligibility, waiveAt, waiveBy, identityKey, realPath, source
        case uploadIdentity, uploadVersion, notice
    }

    static let insertion = RowInsertion<Column>([rowsPerInsertion], into: "transfer")

    func bind(to row: RowParameters<Column>) {
        let request = new.request
        row.bind(.id, id)
        row.bind(.readyAt, begin > created ? begin.milliseconds : 0)
        row.bind(.schedule, schedule.requested.stored(place: calendar))
        row.bind(.priority, request.priority.rawValue)
        row.bind(.sessionID, session)
        row.bind(.originID, origin)
        row.bind(.reservationKey, new.reservation.key)
        row.bind(.created, created)
        row.bind(.deadline, deadline)
        row.bind(.deadlineAt, request.deadline.instant)
        row.bind(.deadlineAfter, request.deadline.seconds)
        row.bind(.earliest, request.earliestBegin)
        row.bind(.expectedBytes, request.expectedBytes)
        row.bind(.url, request.url)
        row.bind(.destination, new.isUpload ? nil : new.path)
        row.bind(.options, options)
        row.bind(.eligibility, schedule.eligibility.stored(place: calendar))
        row.bind(.waiveAt, schedule.waiver?.checkAt)
        row.bind(.waiveBy, schedule.waiver?.by)
        row.bind(.identityKey, identityKey)
        row.bind(.realPath, new.realPath)
        row.bind(.source, new.isUpload ? new.path : nil)
        row.bind(.uploadIdentity, new.isUpload ? new.reservation.text : nil)
        row.bind(.uploadVersion, new.reservation.version)
        row.bind(.notice, notice)
    }
}
