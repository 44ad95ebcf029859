internal import GRDB
internal import LonghaulCore

/// How sure a commit must be before it counts.
package enum Durability: Sendable {
    /// On the disk when the call returns (`synchronous=FULL`): wants, terminal states, events,
    /// restarts, checkpoints.
    case durable
    /// Survives the death of the process; a power cut may take the last ones back, in order
    /// (`synchronous=NORMAL`, WAL): claims and back-offs.
    case relaxed
}

/// The database as the operations of this module see it: short calls around cached statements. Used
/// only inside ``Store``'s `access`, which serialises.
struct Connection {
    let database: Database
    let statements: PreparedStatements

    func prepare(_ sql: String) throws -> Prepared {
        try statements.statement(sql, in: database)
    }

    func run<each Value: Bindable>(_ sql: String, _ values: repeat each Value) throws {
        let statement = try bound(sql, repeat each values)
        defer { statement.reset() }
        while try statement.step() {}
    }

    /// The first row's value, `nil` when there is no row.
    func first<Value, each Argument: Bindable>(
        _ sql: String, _ values: repeat each Argument, read: (StoredRow) throws -> Value
    ) throws -> Value? {
        let statement = try bound(sql, repeat each values)
        defer { statement.reset() }
        guard try statement.step() else { return nil }
        return try read(StoredRow(handle: statement.handle))
    }

    func all<Value, each Argument: Bindable>(
        _ sql: String, _ values: repeat each Argument, read: (StoredRow) throws -> Value
    ) throws -> [Value] {
        let statement = try bound(sql, repeat each values)
        defer { statement.reset() }
        var result: [Value] = []
        while try statement.step() {
            result.append(try read(StoredRow(handle: statement.handle)))
        }
        return result
    }

    /// All of the body or nothing. Like GRDB's own, with statements that are prepared once.
    func transaction<Value>(_ kind: TransactionKind, _ body: () throws -> Value) throws -> Value {
        try run(kind.rawValue)
        do {
            let value = try body()
            try run("COMMIT TRANSACTION")
            return value
        } catch {
            // A full disk, among others, has undone it already.
            if database.isInsideTransaction { try? run("ROLLBACK TRANSACTION") }
            throw error
        }
    }

    enum TransactionKind: String {
        case deferred = "BEGIN DEFERRED TRANSACTION"
        case immediate = "BEGIN IMMEDIATE TRANSACTION"
    }

    /// Rows changed by the last statement.
    var changes: Int { database.changesCount }

    var lastInsertedRowID: Int64 { database.lastInsertedRowID }

    @inline(__always)
    private func bound<each Value: Bindable>(
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
