/// A row that may go in with others of its kind.
protocol BatchedRow {
    static var insertion: RowInsertion { get }

    func bind(to statement: Prepared, from index: Int32)
}

/// The statements that insert rows of one kind, by how many they take.
///
/// `OR FAIL` in them: what has failed is undone with the whole transaction, so that SQLite need not
/// be ready to undo one statement, for which it would copy every page that it changes.
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

/// Rows on their way into the store. They go in many at a time: a statement opens each of the
/// table's indexes, and for a single row that costs as much as the row.
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
