internal import CSQLite

/// What SQLite says went wrong.
struct SQLiteError: Error, CustomStringConvertible {
    /// As SQLite gave it: the kind in the low byte, what it was in detail above
    /// (sqlite.org/rescode.html).
    var extendedCode: Int32
    var message: String
    /// The text of the statement.
    var sql: String?

    /// SQLITE_IOERR_SHMSIZE: the log's index cannot be made. A macro that Swift cannot read.
    static let noRoomForIndex = SQLITE_IOERR | 19 << 8

    /// The kind of failure: `SQLITE_BUSY`, `SQLITE_FULL` and the like.
    var code: Int32 { extendedCode & 0xFF }

    var description: String {
        let place = sql.map { ", in `\($0)`" } ?? ""
        return "SQLite error \(extendedCode): \(message)\(place)"
    }

    init(_ extendedCode: Int32, message: String, sql: String? = nil) {
        self.extendedCode = extendedCode
        self.message = message
        self.sql = sql
    }

    /// The last failure of a connection. Where there is no connection, the code's own words.
    init(_ code: Int32, on database: OpaquePointer?, sql: String? = nil) {
        let words = database.flatMap { sqlite3_errmsg($0) } ?? sqlite3_errstr(code)
        self.init(code, message: words.map { String(cString: $0) } ?? "unknown", sql: sql)
    }
}
