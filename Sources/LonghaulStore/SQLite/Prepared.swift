internal import CSQLite

/// A prepared statement. Used by one thread at a time, as its connection is.
final class Prepared {
    let handle: OpaquePointer

    /// - Parameter isKept: The statement will be used often: SQLite then keeps it apart from its
    ///   short-lived allocations.
    init(_ database: OpaquePointer, _ sql: String, isKept: Bool) throws {
        var sql = sql
        var prepared: OpaquePointer?
        let flags = isKept ? UInt32(SQLITE_PREPARE_PERSISTENT) : 0
        let code = sql.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) {
                sqlite3_prepare_v3(
                    database, $0.baseAddress, Int32($0.count), flags, &prepared, nil)
            }
        }
        guard code == SQLITE_OK else { throw SQLiteError(code, on: database, sql: sql) }
        guard let prepared else { preconditionFailure("a statement has a text") }
        handle = prepared
    }

    deinit {
        // The result repeats the failure of the last step.
        sqlite3_finalize(handle)
    }

    @inline(__always)
    func bind(_ index: Int32, _ value: some StoredValue) {
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

    private func failure(_ code: Int32) -> SQLiteError {
        SQLiteError(
            code, on: sqlite3_db_handle(handle),
            sql: sqlite3_sql(handle).map { String(cString: $0) })
    }
}
