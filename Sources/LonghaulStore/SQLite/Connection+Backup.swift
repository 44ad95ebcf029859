internal import CSQLite

extension Connection {
    /// Copies all pages into `target`, some at a time. `target` must be empty.
    ///
    /// A backup begins again when another connection commits between two steps. It does not if this
    /// connection has a read transaction open, which is required here: every step then reads the
    /// same snapshot, and writers continue (sqlite.org/isolation.html).
    func copy(into target: Connection, pages: Int32, between: () throws -> Void) throws {
        precondition(isInsideTransaction, "the snapshot is that of a transaction")
        guard let backup = sqlite3_backup_init(target.handle, "main", handle, "main") else {
            throw SQLiteError(sqlite3_errcode(target.handle), on: target.handle)
        }
        var code: Int32
        do {
            repeat {
                code = sqlite3_backup_step(backup, pages)
                if code == SQLITE_OK { try between() }
            } while code == SQLITE_OK
        } catch {
            sqlite3_backup_finish(backup)
            throw error
        }
        let end = sqlite3_backup_finish(backup)
        guard code == SQLITE_DONE, end == SQLITE_OK else {
            throw SQLiteError(code == SQLITE_DONE ? end : code, on: nil)
        }
    }

    /// The first fault that SQLite finds in the file; `nil` = it is sound. Throws if `goesOn` ends
    /// the search. Indexes are not compared with their tables, which takes several times as long.
    func quickFault(goesOn: @escaping () -> Bool) throws -> String? {
        let callback = ProgressCallback(goesOn)
        let steps: Int32 = 100_000
        sqlite3_progress_handler(
            handle, steps,
            { context in
                guard let context else { return 0 }
                return Unmanaged<ProgressCallback>.fromOpaque(context).takeUnretainedValue()
                    .goesOn() ? 0 : 1
            }, Unmanaged.passUnretained(callback).toOpaque())
        defer {
            sqlite3_progress_handler(handle, 0, nil, nil)
            withExtendedLifetime(callback) {}
        }
        let found: String? = try value("PRAGMA quick_check(1)")
        return found == "ok" ? nil : found ?? "nothing was found out"
    }

    private final class ProgressCallback {
        let goesOn: () -> Bool

        init(_ goesOn: @escaping () -> Bool) { self.goesOn = goesOn }
    }
}
