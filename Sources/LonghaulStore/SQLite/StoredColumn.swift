/// A column of a statement, by its place in the text.
protocol ColumnPosition {
    /// Position of the column, from 0 on.
    var position: Int32 { get }
}

extension Int: ColumnPosition {
    var position: Int32 { Int32(self) }
}

/// The columns that a statement reads, writes, or both: the cases of an enumeration in the order of
/// the text. The raw values are positions and are never given by hand, so that a case that is added
/// anywhere moves the others in the text as well.
protocol StoredColumn: ColumnPosition, CaseIterable, RawRepresentable where RawValue == Int32 {
    /// The selected expression: by default the column with the case's name.
    var sql: String { get }
}

extension StoredColumn {
    @inline(__always) var position: Int32 { rawValue }

    var sql: String { "\(self)" }

    /// Columns for the head of a SELECT.
    static var list: String { allCases.list }
}

/// Parts of texts. They are made once: a statement is found by the address of its text.
extension Collection where Element: StoredColumn {
    var list: String { map(\.sql).joined(separator: ", ") }

    /// Values for an INSERT of ``list``. The parameter of a column has its position, counted from
    /// 1.
    var parameters: String { map { "?\($0.position + 1)" }.joined(separator: ", ") }

    /// Assignments for an UPDATE.
    var assignments: String {
        map { "\($0.sql) = ?\($0.position + 1)" }.joined(separator: ", ")
    }

    /// Assignments for an INSERT that replaces the values of an existing row.
    var replacements: String {
        map { "\($0.sql) = excluded.\($0.sql)" }.joined(separator: ", ")
    }
}

/// The parameters of a statement that writes a row, by the names of the columns.
struct RowParameters<Column: StoredColumn> {
    let statement: Prepared
    /// The parameter of the first column: a statement may write several rows.
    var first: Int32 = 1

    @inline(__always)
    func bind(_ column: Column, _ value: some StoredValue) {
        statement.bind(first + column.position, value)
    }
}
