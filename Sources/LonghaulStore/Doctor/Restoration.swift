package import LonghaulModel

/// The store that a repair has put in the place of a damaged one.
package struct Restored: Hashable, Sendable {
    /// When the copy was made.
    package var at: Timestamp
    package var transfers: Int
    /// The last numbers that it has given.
    package var last: StoreNumbers
}

/// The last numbers that were given to transfers and events.
package struct StoreNumbers: Hashable, Sendable {
    package var transfer: Int64
    package var event: Int64

    init(_ connection: Connection) throws {
        transfer = try connection.lastID(in: "transfer")
        event = try connection.lastID(in: "event")
    }
}

/// Makes a store from the newest copy that is sound, or an empty one.
enum Restoration {
    /// Makes the store in `directory`, durable when this returns. `nil`: there is no copy, and the
    /// store is empty.
    static func run(
        from location: StoreLocation, in directory: String
    ) throws(LonghaulError) -> Restored? {
        let work = StoreLocation(directory: directory)
        var restored: Restored?
        for generation in 1...Limits.copiesKept where restored == nil {
            restored = try use(location.copy(generation), for: work)
        }
        let store = try Store.open(directory: directory)
        try store.write(.durable) { connection in
            try voidParts(connection)
            try skipNumbers(connection)
        }
        // The log stays behind, so all data must be in the file itself.
        try store.access { try $0.run("PRAGMA wal_checkpoint(TRUNCATE)") }
        try store.close()
        return restored
    }

    /// Downloads start from zero: since the copy, another version of the remote file may have been
    /// written to a part file, or a whole one renamed.
    private static func voidParts(_ connection: Connection) throws {
        try connection.run(
            """
            UPDATE fetch SET generation = generation + ?1, durable = ?2, validator = NULL, \
            bytesTotal = NULL, publication = NULL WHERE partInode IS NOT NULL
            """, Limits.restoredNumbersSkipped, ByteRanges().description)
    }

    /// Raises ids, event numbers and the lease's epoch far above all given ones.
    private static func skipNumbers(_ connection: Connection) throws {
        for table in ["transfer", "fetch", "event", "session", "origin", "host", "launch"] {
            let last = try connection.lastID(in: table)
            try connection.run("DELETE FROM sqlite_sequence WHERE name = ?1", table)
            try connection.run(
                "INSERT INTO sqlite_sequence (name, seq) VALUES (?1, ?2)", table,
                last.addingClamped(Limits.restoredNumbersSkipped))
        }
        try connection.run("UPDATE lease SET epoch = epoch + ?1", Limits.restoredNumbersSkipped)
    }

    /// `nil`: there is no copy, or it cannot be used. The copy itself stays.
    private static func use(
        _ copy: String, for work: StoreLocation
    ) throws(LonghaulError) -> Restored? {
        guard let status = FileStatus.of(copy), status.isRegular, status.size > 0 else {
            return nil
        }
        do {
            try StoreDirectory.createFile(work.database)
            let source = try Connection(path: copy, readOnly: true, waits: Limits.busySeconds)
            let target = try Connection(path: work.database)
            try source.transaction(.deferred) {
                _ = try source.value("SELECT epoch FROM lease") as Int64?
                try source.copy(into: target, pages: -1) {}
            }
            try Store.startLogging(target, in: work)
            try target.close()
            let store = try Store.open(directory: work.directory)
            defer { try? store.close() }
            if let fault = try store.faults(limit: 1).first {
                throw StoreFailure.damaged(copy, fault)
            }
            return try store.access { connection in
                Restored(
                    at: status.modified,
                    transfers: try connection.value("SELECT count(*) FROM transfer") ?? 0,
                    last: try StoreNumbers(connection))
            }
        } catch {
            FileStatus.removeDatabase(work.database)
            let failure = StoreFailure.translate(error, path: copy)
            // The other copy may be sound, but it needs as much room.
            if StoreFailure.isFull(failure) { throw failure }
            return nil
        }
    }
}
