internal import LonghaulCore

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
    }

    private var batch = RowBatch<Row>()
    private var keys: Set<Int64> = []

    /// `true` when the buffer is full and must be flushed.
    mutating func append(_ row: Row) -> Bool {
        batch.append(row)
        keys.insert(row.new.reservation.key)
        return batch.rows.count == Limits.rowsPerInsertion
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
    static let insertion = RowInsertion(
        [Limits.rowsPerInsertion], columns: 24,
        """
        INSERT OR FAIL INTO transfer (id, readyAt, schedule, priority, sessionID, originID, \
        reservationKey, created, deadline, deadlineAt, deadlineAfter, earliest, expectedBytes, \
        url, destination, options, eligibility, waiveAt, waiveBy, identityKey, \
        realPath, source, uploadIdentity, uploadVersion)
        """)

    func bind(to statement: Prepared, from index: Int32) {
        let request = new.request
        statement.bind(index, id)
        statement.bind(index + 1, begin > created ? begin.milliseconds : 0)
        statement.bind(index + 2, schedule.requested.stored(place: calendar))
        statement.bind(index + 3, request.priority.rawValue)
        statement.bind(index + 4, session)
        statement.bind(index + 5, origin)
        statement.bind(index + 6, new.reservation.key)
        statement.bind(index + 7, created)
        statement.bind(index + 8, deadline)
        statement.bind(index + 9, request.deadline.instant)
        statement.bind(index + 10, request.deadline.seconds)
        statement.bind(index + 11, request.earliestBegin)
        statement.bind(index + 12, request.expectedBytes)
        statement.bind(index + 13, request.url)
        statement.bind(index + 14, new.isUpload ? nil : new.path)
        statement.bind(index + 15, options)
        statement.bind(index + 16, schedule.eligibility.stored(place: calendar))
        statement.bind(index + 17, schedule.waiver?.checkAt)
        statement.bind(index + 18, schedule.waiver?.by)
        statement.bind(index + 19, identityKey)
        statement.bind(index + 20, new.realPath)
        statement.bind(index + 21, new.isUpload ? new.path : nil)
        statement.bind(index + 22, new.isUpload ? new.reservation.text : nil)
        statement.bind(index + 23, new.reservation.version)
    }
}
