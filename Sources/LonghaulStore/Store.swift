internal import CSQLite
package import LonghaulModel
internal import Synchronization

/// The queue on disk, opened: one connection to one SQLite file.
///
/// Every method may be called from any thread; calls on one store run one after the other. Several
/// stores, in one process or in many, may be open on one directory: writers wait for each other for
/// at most ``busySeconds``. A method that throws has changed nothing, unless its comment says
/// otherwise.
package final class Store: Sendable {
    /// How long a call waits for another process's transaction.
    package static let busySeconds = Limits.busySeconds

    package let location: StoreLocation
    package let mode: OpenMode
    private let lock = Mutex(())
    /// Used only under the lock.
    private nonisolated(unsafe) let connection: Connection
    /// The file that was opened: after a repair the path may lead to another one.
    let openedFile: FileIdentity
    /// Released after the connection, because it is declared after it.
    private let place: OpenPlace
    /// Released after the connection, too.
    private let spare: ReserveFile
    /// The version of the schema that the statements were written for.
    private let knownVersion: Int
    /// The connection's present `synchronous`. Used only under the lock.
    private nonisolated(unsafe) var durability: Durability?
    /// A probe of the simulation: called around every write transaction. Set before the first call.
    package nonisolated(unsafe) var probe: (any CommitProbe)?

    init(
        location: StoreLocation, mode: OpenMode, connection: Connection,
        openedFile: FileIdentity, spare: ReserveFile, knownVersion: Int
    ) {
        self.location = location
        self.mode = mode
        self.connection = connection
        self.openedFile = openedFile
        self.spare = spare
        self.knownVersion = knownVersion
        place = OpenPlace(openedFile)
    }

    /// Closes the connection. Any later call throws.
    package func close() throws(LonghaulError) {
        do {
            try locked { try connection.close() }
            place.giveBack()
            spare.takeBack()
        } catch {
            throw StoreFailure.translate(error, path: location.database)
        }
    }

    /// A number that changes when another connection has committed since the last call: the
    /// fallback for a lost wake-up.
    package func dataVersion() throws(LonghaulError) -> Int64 {
        try access { try $0.dataVersion() }
    }

    /// True if the path leads to another file than the open one (after a repair, a removal or a
    /// replacement): open it again.
    package func hasBeenSuperseded() -> Bool {
        FileStatus.isAnother(location.database, than: openedFile)
    }

    private func checkPlace() throws(LonghaulError) {
        if hasBeenSuperseded() { throw StoreFailure.superseded(location.database) }
    }

    /// The version of the store where a newer program has made or migrated it; `nil` = this
    /// version's, or unknown.
    package func newerVersion() -> Int? {
        let found = try? locked { try connection.userVersion() }
        return found.flatMap { $0 > knownVersion ? $0 : nil }
    }

    private func checkVersion() throws {
        let found = try connection.userVersion()
        guard found <= knownVersion else {
            throw StoreFailure.newer(location.database, version: found, known: knownVersion)
        }
    }

    /// Serves long-lived writers: SQLite's temporary files need a descriptor and disk space, and a
    /// commit must be possible without either.
    package func keepTemporariesInMemory() throws(LonghaulError) {
        try access { try $0.run("PRAGMA temp_store=MEMORY") }
    }

    /// Runs single statements, each its own transaction.
    func access<Value>(
        _ body: (Connection) throws -> Value
    ) throws(LonghaulError) -> Value {
        do {
            return try locked {
                // A file that was set aside never changes any more.
                try checkPlace()
                return try body(connection)
            }
        } catch {
            // A newer version may have taken a column away.
            if let error = error as? SQLiteError, error.code == SQLITE_ERROR,
                let version = newerVersion()
            {
                throw StoreFailure.newer(
                    location.database, version: version, known: knownVersion)
            }
            throw StoreFailure.translate(error, path: location.database)
        }
    }

    /// Runs several reads in one consistent snapshot.
    func snapshot<Value>(
        _ body: (Connection) throws -> Value
    ) throws(LonghaulError) -> Value {
        try access { connection in
            try connection.transaction(.deferred) { try body(connection) }
        }
    }

    /// Runs one write transaction: all of it, with the given durability, or nothing. Throws when a
    /// program of a newer version has migrated the store since it was opened.
    func write<Value>(
        _ durability: Durability, _ body: (Connection) throws -> Value
    ) throws(LonghaulError) -> Value {
        do {
            return try writeUntranslated(durability, body)
        } catch {
            throw StoreFailure.translate(error, path: location.database)
        }
    }

    /// The same; errors of the body are thrown unchanged.
    func writeUntranslated<Value>(
        _ durability: Durability, _ body: (Connection) throws -> Value
    ) throws -> Value {
        try locked {
            try setDurability(durability)
            let value = try connection.transaction(.immediate) {
                // A repair holds this lock while it replaces a file that SQLite can open, so
                // changes made now are written to the current store.
                try checkPlace()
                try checkVersion()
                let value = try body(connection)
                try probe?.willCommit()
                return value
            }
            probe?.didCommit(durability)
            return value
        }
    }

    private func locked<Value>(_ body: () throws -> Value) throws -> Value {
        // The lock's own result must not be shared with other threads; a value of the store may.
        var value: Value?
        try lock.withLock { _ in value = try body() }
        guard let value else { preconditionFailure("a body that has returned has a value") }
        return value
    }

    /// The pragma has no effect inside a transaction, so it comes before.
    private func setDurability(_ wanted: Durability) throws {
        if durability == wanted { return }
        switch wanted {
        case .durable: try connection.run("PRAGMA synchronous=FULL")
        case .relaxed: try connection.run("PRAGMA synchronous=NORMAL")
        }
        durability = wanted
    }
}

/// Points between two steps of a commit where a crash can be simulated.
package protocol CommitProbe: Sendable {
    /// Throwing rolls the transaction back.
    func willCommit() throws
    func didCommit(_ durability: Durability)
}

extension Connection {
    /// See ``Store/dataVersion()``.
    func dataVersion() throws -> Int64 {
        try value("PRAGMA data_version") ?? 0
    }

    /// The version of the schema.
    func userVersion() throws -> Int {
        try value("PRAGMA user_version") ?? 0
    }
}
