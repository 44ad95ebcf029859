internal import LonghaulModel

/// An attempt, or its end: later facts replace earlier ones.
struct AttemptRow: BatchedRow {
    var transfer: TransferID
    var outcome: AttemptRecord

    enum Column: Int32, StoredColumn {
        case transferID, serial, startedAt, endedAt, url, bytes, httpStatus, httpVersion, outcome
        case message, peer, nameLookup, connect, tlsHandshake, firstByte
    }

    static let insertion = RowInsertion<Column>(
        [24, 6], into: "attempt",
        tail: """
            ON CONFLICT (transferID, serial) DO UPDATE SET \
            \(Column.allCases.dropFirst(2).replacements)
            """)

    private static let select =
        "SELECT \(Column.list) FROM attempt WHERE transferID = ?1 ORDER BY serial"

    static func all(of id: TransferID, _ connection: Connection) throws -> [AttemptRecord] {
        try connection.all(select, id, read: read)
    }

    func bind(to row: RowParameters<Column>) {
        row.bind(.transferID, transfer)
        row.bind(.serial, outcome.number)
        row.bind(.startedAt, outcome.startedAt)
        row.bind(.endedAt, outcome.endedAt)
        row.bind(.url, outcome.url)
        row.bind(.bytes, outcome.bytes)
        row.bind(.httpStatus, outcome.httpStatus)
        row.bind(.httpVersion, outcome.httpVersion)
        row.bind(.outcome, outcome.outcome)
        row.bind(.message, outcome.message)
        let phases = outcome.phases
        row.bind(.peer, phases.peer)
        row.bind(.nameLookup, microseconds(phases.nameLookup))
        row.bind(.connect, microseconds(phases.connect))
        row.bind(.tlsHandshake, microseconds(phases.tlsHandshake))
        row.bind(.firstByte, microseconds(phases.firstByte))
    }

    private static func read(_ row: StoredRow<Column>) -> AttemptRecord {
        AttemptRecord(
            number: row[.serial], startedAt: row[.startedAt], endedAt: row[.endedAt],
            url: row[.url], bytes: row[.bytes], httpStatus: row[.httpStatus],
            httpVersion: row[.httpVersion], outcome: row[.outcome], message: row[.message],
            phases: RequestPhases(
                peer: row[.peer], nameLookup: row.seconds(.nameLookup),
                connect: row.seconds(.connect), tlsHandshake: row.seconds(.tlsHandshake),
                firstByte: row.seconds(.firstByte)))
    }

    private func microseconds(_ seconds: Double?) -> Int64? {
        seconds.map { Int64(bounding: ($0 * 1e6).rounded()) }
    }
}
