internal import LonghaulCore

/// Rows on their way into the store. They go in many at a time: a statement opens each of the
/// table's indexes, and for a single row that costs as much as the row.
struct InsertBuffer {
    struct Row {
        var id: Int64
        var readyAt: Int64
        var schedule: StoredSchedule
        var priority: Int
        var session: Int64
        var origin: Int64
        var destinationKey: Int64
        var identityKey: Int64
        var created: Timestamp
        var deadline: Timestamp
        var deadlineAt: Timestamp?
        var deadlineAfter: Double?
        var earliest: Timestamp?
        var expectedBytes: Int64?
        var url: String
        var destination: String
        var options: String?
    }

    /// Rows of one statement.
    static let capacity = 100
    private static let columns = 20

    private var rows: [Row] = []
    private var keys: Set<Int64> = []

    /// `true` when the buffer is full and must be flushed.
    mutating func append(_ row: Row) -> Bool {
        rows.append(row)
        keys.insert(row.destinationKey)
        return rows.count == Self.capacity
    }

    func holds(identity key: Int64) -> Bool { rows.contains { $0.identityKey == key } }

    func holder(of path: String, key: Int64) -> TransferID? {
        guard keys.contains(key) else { return nil }
        return rows.first { $0.destination == path }.map { TransferID(rawValue: $0.id) }
    }

    mutating func flush(_ connection: Connection) throws {
        if rows.count == Self.capacity {
            try insert(rows[...], connection)
        } else {
            for index in rows.indices { try insert(rows[index...index], connection) }
        }
        rows.removeAll(keepingCapacity: true)
        keys.removeAll(keepingCapacity: true)
    }

    private func insert(_ rows: ArraySlice<Row>, _ connection: Connection) throws {
        let statement = try connection.prepare(rows.count == 1 ? Self.one : Self.many)
        var index: Int32 = 1
        for row in rows {
            row.bind(to: statement, from: index)
            index += Int32(Self.columns)
        }
        try statement.runOnce()
    }

    private static let one = text(rows: 1)
    private static let many = text(rows: capacity)

    /// `OR FAIL`: what has failed is undone with the whole transaction, so that SQLite need not be
    /// ready to undo one statement, for which it would copy every page that it changes.
    private static func text(rows: Int) -> String {
        let values = "(" + Array(repeating: "?", count: columns).joined(separator: ",") + ")"
        return """
            INSERT OR FAIL INTO transfer (id, readyAt, schedule, priority, sessionID, originID, \
            destinationKey, created, deadline, deadlineAt, deadlineAfter, earliest, expectedBytes, \
            url, destination, options, lane, waiveAt, waiveBy, identityKey) VALUES \
            \(Array(repeating: values, count: rows).joined(separator: ","))
            """
    }
}

extension InsertBuffer.Row {
    fileprivate func bind(to statement: Prepared, from index: Int32) {
        statement.bind(index, id)
        statement.bind(index + 1, readyAt)
        statement.bind(index + 2, schedule.asked.rawValue)
        statement.bind(index + 3, priority)
        statement.bind(index + 4, session)
        statement.bind(index + 5, origin)
        statement.bind(index + 6, destinationKey)
        statement.bind(index + 7, created)
        statement.bind(index + 8, deadline)
        statement.bind(index + 9, deadlineAt)
        statement.bind(index + 10, deadlineAfter)
        statement.bind(index + 11, earliest)
        statement.bind(index + 12, expectedBytes)
        statement.bind(index + 13, url)
        statement.bind(index + 14, destination)
        statement.bind(index + 15, options)
        statement.bind(index + 16, schedule.lane.rawValue)
        statement.bind(index + 17, schedule.waiver?.checkAt)
        statement.bind(index + 18, schedule.waiver?.by)
        statement.bind(index + 19, identityKey)
    }
}
