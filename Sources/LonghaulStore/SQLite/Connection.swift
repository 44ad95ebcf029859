internal import CSQLite
internal import LonghaulModel

#if canImport(Glibc)
internal import Glibc
#else
internal import Musl
#endif

/// The first pauses are short: most transactions end within milliseconds.
private let busyShortPauses = 10
private let busyShortPauseMicroseconds: UInt32 = 1_000
/// Less than the gap that a long writer leaves for others: see `WriterYield`.
private let busyPauseMicroseconds: UInt32 = 4_000

/// How durable a commit must be before its call returns.
package enum Durability: Sendable {
    /// On the disk when the call returns (`synchronous=FULL`): wants, terminal states, events,
    /// restarts, checkpoints.
    case durable
    /// Survives the death of the process; a power cut may take the last ones back, in order
    /// (`synchronous=NORMAL`, WAL): claims and back-offs.
    case relaxed
}

/// A connection to an SQLite file: short calls around cached statements. Used by one thread at a
/// time.
final class Connection {
    let handle: OpaquePointer
    private let statements = PreparedStatements()
    /// SQLite has its address.
    private let busy: BusyHandler
    private var isClosed = false

    /// Opens the file, and makes it unless the connection is to read only.
    ///
    /// - Parameter waits: How long a statement waits for another connection's lock, in seconds.
    init(path: String, readOnly: Bool = false, waits: Double = 0) throws {
        let mode = readOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
        // Without SQLite's own mutex: one thread at a time uses a connection.
        let flags = mode | SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_NOMUTEX
        var opened: OpaquePointer?
        let code = sqlite3_open_v2(path, &opened, flags, nil)
        guard code == SQLITE_OK, let opened else {
            sqlite3_close(opened)
            throw SQLiteError(code, on: nil)
        }
        handle = opened
        busy = BusyHandler(seconds: waits)
        sqlite3_busy_handler(
            opened,
            { context, tries in
                guard let context else { return 0 }
                let busy = Unmanaged<BusyHandler>.fromOpaque(context).takeUnretainedValue()
                return busy.goesOn(after: Int(tries)) ? 1 : 0
            }, Unmanaged.passUnretained(busy).toOpaque())
        longhaul_sqlite3_strict_quotes(opened)
    }

    deinit {
        statements.clear()
        // A statement that is still in use is finalized with its last reference.
        if !isClosed { sqlite3_close_v2(handle) }
    }

    /// Throws if a statement is still in use. No other call may follow.
    func close() throws {
        if isClosed { return }
        statements.clear()
        let code = sqlite3_close(handle)
        guard code == SQLITE_OK else { throw SQLiteError(code, on: handle) }
        isClosed = true
    }

    func prepare(_ sql: String) throws -> Prepared {
        if isClosed { throw SQLiteError(SQLITE_MISUSE, message: "connection is closed", sql: sql) }
        return try statements.statement(sql, on: handle)
    }

    /// Runs any number of statements once, without parameters and rows.
    func execute(_ sql: String) throws {
        if isClosed { throw SQLiteError(SQLITE_MISUSE, message: "connection is closed", sql: sql) }
        let code = sqlite3_exec(handle, sql, nil, nil, nil)
        guard code == SQLITE_OK else { throw SQLiteError(code, on: handle, sql: sql) }
    }

    func run<each Value: StoredValue>(_ sql: String, _ values: repeat each Value) throws {
        let statement = try bound(sql, repeat each values)
        defer { statement.reset() }
        while try statement.step() {}
    }

    /// The first row's value, `nil` when there is no row.
    func first<Column, Value, each Argument: StoredValue>(
        _ sql: String, _ values: repeat each Argument, read: (StoredRow<Column>) throws -> Value
    ) throws -> Value? {
        let statement = try bound(sql, repeat each values)
        defer { statement.reset() }
        guard try statement.step() else { return nil }
        return try read(StoredRow(handle: statement.handle))
    }

    func all<Column, Value, each Argument: StoredValue>(
        _ sql: String, _ values: repeat each Argument, read: (StoredRow<Column>) throws -> Value
    ) throws -> [Value] {
        let statement = try bound(sql, repeat each values)
        defer { statement.reset() }
        var result: [Value] = []
        while try statement.step() {
            result.append(try read(StoredRow(handle: statement.handle)))
        }
        return result
    }

    /// The first row's only value; `nil` for NULL, and when there is no row.
    func value<Value: StoredValue, each Argument: StoredValue>(
        _ sql: String, _ values: repeat each Argument
    ) throws -> Value? {
        let found: Value?? = try first(sql, repeat each values) { $0[0] }
        return found ?? nil
    }

    /// The only value of each row.
    func values<Value: StoredValue, each Argument: StoredValue>(
        _ sql: String, _ values: repeat each Argument
    ) throws -> [Value] {
        try all(sql, repeat each values) { $0[0] }
    }

    /// Runs the body in a transaction: all of its changes are kept, or none.
    func transaction<Value>(_ kind: TransactionKind, _ body: () throws -> Value) throws -> Value {
        try run(kind.rawValue)
        do {
            let value = try body()
            try run("COMMIT TRANSACTION")
            return value
        } catch {
            // SQLite has already undone the transaction after some errors, for instance on a full
            // disk.
            if isInsideTransaction { try? run("ROLLBACK TRANSACTION") }
            throw error
        }
    }

    enum TransactionKind: String {
        case deferred = "BEGIN DEFERRED TRANSACTION"
        case immediate = "BEGIN IMMEDIATE TRANSACTION"
    }

    var isInsideTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

    /// Rows changed by the last statement.
    var changes: Int { Int(sqlite3_changes(handle)) }

    /// The largest id that a table has given, with AUTOINCREMENT; 0 = it has given none.
    func lastID(in table: String) throws -> Int64 {
        try value("SELECT seq FROM sqlite_sequence WHERE name = ?1", table) ?? 0
    }

    var lastInsertedRowID: Int64 { sqlite3_last_insert_rowid(handle) }

    @inline(__always)
    private func bound<each Value: StoredValue>(
        _ sql: String, _ values: repeat each Value
    ) throws -> Prepared {
        let statement = try prepare(sql)
        var index: Int32 = 1
        for value in repeat each values {
            statement.bind(index, value)
            index += 1
        }
        return statement
    }
}

/// The rows of some tables.
protocol ConnectionRows {
    var connection: Connection { get }

    init(connection: Connection)
}

extension ConnectionRows {
    init(_ connection: Connection) { self.init(connection: connection) }
}

/// An error of SQLite.
struct SQLiteError: Error, CustomStringConvertible {
    /// The extended result code: the kind in the low byte, the detail above
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

    /// The last failure of a connection; without a connection, the text that belongs to the code.
    init(_ code: Int32, on database: OpaquePointer?, sql: String? = nil) {
        let words = database.flatMap { sqlite3_errmsg($0) } ?? sqlite3_errstr(code)
        self.init(code, message: words.map { String(cString: $0) } ?? "unknown", sql: sql)
    }
}

/// Waits while another connection writes. SQLite's own handler soon asks only ten times a second,
/// and misses the gaps that a busy engine leaves.
final class BusyHandler: Sendable {
    private let seconds: Double
    /// Used by the thread that uses the connection.
    private nonisolated(unsafe) var since: Double = 0

    init(seconds: Double) {
        self.seconds = seconds
    }

    func goesOn(after tries: Int) -> Bool {
        let now = BusyHandler.now()
        if tries == 0 { since = now }
        if now - since >= seconds { return false }
        usleep(
            tries < busyShortPauses
                ? busyShortPauseMicroseconds : busyPauseMicroseconds)
        return true
    }

    private static func now() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
