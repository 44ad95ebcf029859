/// A row that may go in with others of its kind.
protocol BatchedRow {
    associatedtype Column: StoredColumn

    static var insertion: RowInsertion<Column> { get }

    func bind(to row: RowParameters<Column>)
}

/// The statements that insert rows of one kind, by their number of rows.
///
/// They use `OR FAIL`: a failure undoes the whole transaction, so SQLite need not be able to undo
/// one statement, which would make it copy every page that it changes.
struct RowInsertion<Column: StoredColumn>: Sendable {
    let columns: Int32
    /// The largest first; the last takes one row.
    let statements: [(rows: Int, text: String)]

    /// - Parameters:
    ///   - sizes: How many rows the statements take; one for a single row is added.
    ///   - tail: SQL after the values.
    init(_ sizes: [Int], into table: String, tail: String = "") {
        let head = "INSERT OR FAIL INTO \(table) (\(Column.list))"
        let values = "(" + Column.allCases.map { _ in "?" }.joined(separator: ",") + ")"
        columns = Int32(Column.allCases.count)
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
                var parameters = RowParameters<Row.Column>(statement: statement)
                for row in rest.prefix(count) {
                    row.bind(to: parameters)
                    parameters.first += Row.insertion.columns
                }
                try statement.runOnce()
                rest = rest.dropFirst(count)
            }
        }
        rows.removeAll(keepingCapacity: true)
    }
}
