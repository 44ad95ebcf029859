internal import GRDB
internal import GRDBSQLite
internal import LonghaulCore

/// What may be bound to a parameter of a statement.
protocol Bindable {
    func bind(to handle: OpaquePointer, at index: Int32) -> Int32
}

/// SQLite copies the bytes before the call returns (SQLITE_TRANSIENT): a Swift string's storage
/// does not outlive it.
private let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

extension Int64: Bindable {
    func bind(to handle: OpaquePointer, at index: Int32) -> Int32 {
        sqlite3_bind_int64(handle, index, self)
    }
}

extension Int: Bindable {
    func bind(to handle: OpaquePointer, at index: Int32) -> Int32 {
        sqlite3_bind_int64(handle, index, Int64(self))
    }
}

extension Bool: Bindable {
    func bind(to handle: OpaquePointer, at index: Int32) -> Int32 {
        sqlite3_bind_int64(handle, index, self ? 1 : 0)
    }
}

extension Double: Bindable {
    func bind(to handle: OpaquePointer, at index: Int32) -> Int32 {
        sqlite3_bind_double(handle, index, self)
    }
}

extension String: Bindable {
    func bind(to handle: OpaquePointer, at index: Int32) -> Int32 {
        var text = self
        return text.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) { characters in
                guard let start = characters.baseAddress else {
                    return sqlite3_bind_text(handle, index, "", 0, copied)
                }
                return sqlite3_bind_text(
                    handle, index, start, Int32(clamping: characters.count), copied)
            }
        }
    }
}

extension Timestamp: Bindable {
    func bind(to handle: OpaquePointer, at index: Int32) -> Int32 {
        milliseconds.bind(to: handle, at: index)
    }
}

extension TransferID: Bindable {
    func bind(to handle: OpaquePointer, at index: Int32) -> Int32 {
        rawValue.bind(to: handle, at: index)
    }
}

extension FetchID: Bindable {
    func bind(to handle: OpaquePointer, at index: Int32) -> Int32 {
        rawValue.bind(to: handle, at: index)
    }
}

extension Want: Bindable {
    func bind(to handle: OpaquePointer, at index: Int32) -> Int32 {
        rawValue.bind(to: handle, at: index)
    }
}

extension Phase: Bindable {
    func bind(to handle: OpaquePointer, at index: Int32) -> Int32 {
        rawValue.bind(to: handle, at: index)
    }
}

extension Optional: Bindable where Wrapped: Bindable {
    func bind(to handle: OpaquePointer, at index: Int32) -> Int32 {
        switch self {
        case .none: sqlite3_bind_null(handle, index)
        case .some(let value): value.bind(to: handle, at: index)
        }
    }
}

/// A prepared statement from GRDB's cache, stepped through SQLite's own interface: GRDB's rows and
/// arguments cost several times what the hot statements do.
struct Prepared {
    /// Keeps the handle alive.
    private let statement: Statement
    let handle: OpaquePointer

    init(_ database: Database, _ sql: String) throws {
        statement = try database.cachedStatement(sql: sql)
        handle = statement.sqliteStatement
    }

    @inline(__always)
    func bind(_ index: Int32, _ value: some Bindable) {
        let code = value.bind(to: handle, at: index)
        // SQLITE_RANGE and SQLITE_MISUSE are mistakes of ours; SQLITE_NOMEM and SQLITE_TOOBIG
        // surface as a NOT NULL failure.
        precondition(
            code != SQLITE_RANGE && code != SQLITE_MISUSE, "statement has no such parameter")
    }

    /// `true` while there are rows.
    @inline(__always)
    func step() throws -> Bool {
        let code = sqlite3_step(handle)
        if code == SQLITE_ROW { return true }
        if code == SQLITE_DONE { return false }
        throw failure(code)
    }

    /// Runs a statement that returns no rows, and makes it ready for the next time.
    @inline(__always)
    func runOnce() throws {
        let code = sqlite3_step(handle)
        let failed = code == SQLITE_DONE ? nil : failure(code)
        sqlite3_reset(handle)
        if let failed { throw failed }
    }

    func reset() {
        sqlite3_reset(handle)
        sqlite3_clear_bindings(handle)
    }

    private func failure(_ code: Int32) -> DatabaseError {
        DatabaseError(
            resultCode: ResultCode(rawValue: code),
            message: sqlite3_db_handle(handle).map { String(cString: sqlite3_errmsg($0)) },
            sql: sqlite3_sql(handle).map { String(cString: $0) })
    }
}
