internal import CSQLite
internal import LonghaulCore

/// A damaged file, opened as it is. SQLite's own interface, because a layer that checks the file at
/// opening would open none of them.
final class SalvageSource {
    /// What one cell holds.
    enum Value: Hashable {
        case null
        case integer(Int64)
        case real(Double)
        case text(String)
    }

    struct Unreadable: Error {}

    private let handle: OpaquePointer

    /// Throws ``Unreadable`` when not even the list of tables can be read.
    init(path: String) throws {
        var opened: OpaquePointer?
        let code = sqlite3_open_v2(path, &opened, SQLITE_OPEN_READWRITE, nil)
        guard code == SQLITE_OK, let opened else {
            sqlite3_close(opened)
            throw Unreadable()
        }
        handle = opened
        // Cells that reach beyond their page are refused instead of read.
        sqlite3_exec(handle, "PRAGMA cell_size_check=ON", nil, nil, nil)
        guard try !columns(of: "transfer").isEmpty else { throw Unreadable() }
    }

    deinit {
        sqlite3_close_v2(handle)
    }

    /// The page where a table begins.
    func root(of table: String) throws -> UInt32? {
        var root: UInt32?
        _ = try read("SELECT rootpage FROM sqlite_master WHERE name = '\(table)'", []) { row in
            if case .integer(let number) = row[0] { root = UInt32(exactly: number) }
        }
        return root
    }

    /// Copies what the log holds into the file.
    func emptyLog() throws {
        _ = try read("PRAGMA wal_checkpoint(TRUNCATE)", []) { _ in }
    }

    func columns(of table: String) throws -> [String] {
        var names: [String] = []
        // The names of our own tables only.
        let isComplete = try read("PRAGMA table_info(\(table))", []) { row in
            if case .text(let name) = row[1] { names.append(name) }
        }
        guard isComplete else { throw Unreadable() }
        return names
    }

    /// Steps through a query. `false` when it broke off: the rows before were handed out.
    func read(_ sql: String, _ values: [Int64], _ body: ([Value]) throws -> Void) throws -> Bool {
        var prepared: OpaquePointer?
        guard sqlite3_prepare_v2(handle, sql, -1, &prepared, nil) == SQLITE_OK, let prepared else {
            return false
        }
        defer { sqlite3_finalize(prepared) }
        for (index, value) in values.enumerated() {
            sqlite3_bind_int64(prepared, Int32(index + 1), value)
        }
        while true {
            let code = sqlite3_step(prepared)
            if code == SQLITE_DONE { return true }
            guard code == SQLITE_ROW else { return false }
            try body((0..<sqlite3_column_count(prepared)).map { Self.value(prepared, $0) })
        }
    }

    private static func value(_ statement: OpaquePointer, _ column: Int32) -> Value {
        switch sqlite3_column_type(statement, column) {
        case SQLITE_INTEGER: .integer(sqlite3_column_int64(statement, column))
        case SQLITE_FLOAT: .real(sqlite3_column_double(statement, column))
        case SQLITE_TEXT: .text(StoredRow(handle: statement).text(column))
        default: .null
        }
    }
}

extension SalvageSource.Value: Bindable {
    func bind(to handle: OpaquePointer, at index: Int32) -> Int32 {
        switch self {
        case .null: sqlite3_bind_null(handle, index)
        case .integer(let value): value.bind(to: handle, at: index)
        case .real(let value): value.bind(to: handle, at: index)
        case .text(let value): value.bind(to: handle, at: index)
        }
    }
}
