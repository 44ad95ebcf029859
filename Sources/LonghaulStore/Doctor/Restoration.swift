package import LonghaulCore

#if canImport(Glibc)
internal import Glibc
#else
internal import Musl
#endif

/// A file found on the disk.
package struct FoundFile: Sendable {
    package var identity: FileIdentity
    package var size: Int64
    /// The later one of the last changes of the content and of the inode.
    package var touched: Timestamp

    package init(identity: FileIdentity, size: Int64, touched: Timestamp) {
        self.identity = identity
        self.size = size
        self.touched = touched
    }
}

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
        from location: StoreLocation, in directory: String, files: (String) -> FoundFile?
    ) throws(LonghaulError) -> Restored? {
        let work = StoreLocation(directory: directory)
        var restored: Restored?
        for generation in 1...Limits.copiesKept where restored == nil {
            restored = try use(location.copy(generation), for: work)
        }
        let store = try Store.open(directory: directory)
        try store.write(.durable) { connection in
            let rows = RestoredRows(connection)
            if let restored {
                for (state, destination) in try rows.begun() {
                    try rows.compare(
                        state, at: destination, with: files,
                        since: restored.at + -Limits.fileDatingSeconds)
                }
            }
            try rows.skipNumbers(Limits.restoredNumbersSkipped)
        }
        // The log stays behind, so all data must be in the file itself.
        try store.access { try $0.run("PRAGMA wal_checkpoint(TRUNCATE)") }
        try store.close()
        return restored
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

/// Fits the rows of a copy to what the disk has now.
private struct RestoredRows: ConnectionRows {
    let connection: Connection

    /// The fetches that have a part file, with the destination of their leading transfer.
    func begun() throws -> [(state: FetchState, destination: String)] {
        try connection.all(
            """
            SELECT f.id, destination FROM transfer t JOIN fetch f ON f.id = t.fetchID \
            WHERE partInode IS NOT NULL AND coalesce(leader, t.id) = t.id
            """
        ) { (fetch: $0[0] as FetchID, destination: $0[1] as String) }
        .compactMap { row in
            try FetchRecord.find(row.fetch, connection).map { ($0, row.destination) }
        }
    }

    /// Compares a fetch of the copy with the disk. Bytes count only if the part file was not
    /// changed since the copy: otherwise it may hold another version.
    func compare(
        _ found: FetchState, at destination: String, with files: (String) -> FoundFile?,
        since: Timestamp
    ) throws {
        var state = found
        let part = files(state.partPath)
        if let part, part.identity == state.partIdentity, part.touched < since { return }
        // A part file gets the name of the destination only when it is complete and verified.
        let path = state.publication ?? destination
        if part == nil, let file = files(path), file.identity == state.partIdentity {
            state.publication = path
            state.bytesTotal = file.size
            state.durable = file.size > 0 ? ByteRanges(0..<file.size) : ByteRanges()
        } else {
            state.generation = state.generation.addingClamped(Limits.restoredNumbersSkipped)
            state.durable = ByteRanges()
            state.validator = nil
            state.bytesTotal = nil
            state.publication = nil
        }
        try FetchRecord.save(state, connection)
    }

    /// Raises ids, event numbers and the lease's epoch far above all that were given.
    func skipNumbers(_ count: Int64) throws {
        for table in ["transfer", "fetch", "event", "session", "origin", "host", "launch"] {
            let last = try connection.lastID(in: table)
            try connection.run("DELETE FROM sqlite_sequence WHERE name = ?1", table)
            try connection.run(
                "INSERT INTO sqlite_sequence (name, seq) VALUES (?1, ?2)", table,
                last.addingClamped(count))
        }
        try connection.run("UPDATE lease SET epoch = epoch + ?1", count)
    }
}
