internal import LonghaulModel

#if canImport(Glibc)
internal import Glibc
#else
internal import Musl
#endif

extension Store {
    /// Makes the file under another name, and renames it when it is whole and durable. So an empty
    /// file with the store's name has always lost its content. The caller holds the open lock.
    static func make(
        _ location: StoreLocation, _ schema: Migration
    ) throws(LonghaulError) {
        let fresh = location.unfinished
        FileStatus.removeDatabase(fresh)
        do {
            try StoreDirectory.createFile(fresh)
            let connection = try Connection(path: fresh)
            // A crash leaves a file that the next opener deletes.
            try connection.execute("PRAGMA synchronous=OFF; PRAGMA journal_mode=MEMORY")
            try connection.transaction(.immediate) {
                try connection.execute("PRAGMA application_id=\(Migration.applicationID)")
                for statements in schema.versions {
                    for statement in statements { try connection.execute(statement) }
                }
                try connection.execute("PRAGMA user_version=\(schema.latest)")
            }
            try startLogging(connection, in: location)
            try connection.close()
            try FileSwap.sync(fresh)
            guard rename(fresh, location.database) == 0 else {
                throw StoreFailure.system("put in place", fresh, errno: errno)
            }
            try FileSwap.syncDirectory(location.directory)
        } catch {
            FileStatus.removeDatabase(fresh)
            throw StoreFailure.translate(error, path: location.database)
        }
    }

    /// Write-ahead logging is recorded in the file and stays with it.
    static func startLogging(
        _ connection: Connection, in location: StoreLocation
    ) throws {
        guard try connection.value("PRAGMA journal_mode=WAL") == "wal" else {
            throw StoreFailure.unavailable(
                "the file system of \(location.directory) does not support the queue's write-ahead"
                    + " log; set LONGHAUL_HOME to a local directory")
        }
    }

    /// Brings the store to the latest version: first a copy, then all statements in one
    /// transaction. A process that is killed at any point leaves a store of the version before or
    /// of the latest one. A process of an older version that has the store open writes nothing
    /// afterwards (``write(_:_:)``). The caller holds the open lock.
    func migrate(to schema: Migration) throws(LonghaulError) {
        let found = try version()
        guard found <= schema.latest else {
            throw StoreFailure.newer(location.database, version: found, known: schema.latest)
        }
        if found < schema.latest {
            guard found > 0 else {
                throw StoreFailure.damaged(location.database, "its version is \(found)")
            }
            try StoreCopy.makeBeforeMigration(of: self)
            schema.afterStep?("copy")
            try write(.durable) { connection in
                for statements in schema.versions[found...] {
                    for statement in statements {
                        try connection.execute(statement)
                        schema.afterStep?("statement")
                    }
                }
                try connection.run("PRAGMA user_version=\(schema.latest)")
                schema.afterStep?("version")
            }
            schema.afterStep?("commit")
        }
        // The version must stand in the file itself, where openers of any version look first. A
        // migration that was killed before this leaves it to the next opener.
        try access { try $0.run("PRAGMA wal_checkpoint(TRUNCATE)") }
        schema.afterStep?("checkpoint")
    }
}
