/// A row that may go in with others of its kind.
protocol BatchedRow {
    static var insertion: RowInsertion { get }

    func bind(to statement: Prepared, from index: Int32)
}

/// The statements that insert rows of one kind, by the number of rows that they insert.
///
/// They use `OR FAIL`: a failure undoes the whole transaction, so SQLite need not be able to undo
/// one statement, for which it would copy every page that it changes.
struct RowInsertion: Sendable {
    let columns: Int
    /// The largest first; the last takes one row.
    let statements: [(rows: Int, text: String)]

    /// - Parameters:
    ///   - sizes: How many rows the statements take; one for a single row is added.
    ///   - head: `INSERT OR FAIL INTO TABLE (COLUMNS)`.
    ///   - tail: What follows the values.
    init(_ sizes: [Int], columns: Int, _ head: String, tail: String = "") {
        let values = "(" + Array(repeating: "?", count: columns).joined(separator: ",") + ")"
        self.columns = columns
        statements = (sizes + [1]).map { rows in
            let all = Array(repeating: values, count: rows).joined(separator: ",")
            return (rows, "\(head) VALUES \(all) \(tail)")
        }
    }
}

/// Rows that are not inserted yet. One statement inserts many: it opens each index of the table,
/// which for a single row costs as much as the row.
struct RowBatch<Row: BatchedRow> {
    private(set) var rows: [Row] = []

    mutating func append(_ row: Row) {
        rows.append(row)
    }

    mutating func flush(_ connection: Connection) throws {
        var rest = rows[...]
        for (count, text) in Row.insertion.statements {
            while rest.count >= count {
                let statement = try connection.prepare(text)
                var index: Int32 = 1
                for row in rest.prefix(count) {
                    row.bind(to: statement, from: index)
                    index += Int32(Row.insertion.columns)
                }
                try statement.runOnce()
                rest = rest.dropFirst(count)
            }
        }
        rows.removeAll(keepingCapacity: true)
    }
}
