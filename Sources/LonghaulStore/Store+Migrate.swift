internal import LonghaulCore

#if canImport(Glibc)
internal import Glibc
#else
internal import Musl
#endif

extension Store {
    /// Makes the file under another name, and renames it when it is whole and durable. So an empty
    /// file with the store's name has always lost its content. The caller holds the open lock.
    static func make(_ location: StoreLocation) throws(LonghaulError) {
        let fresh = location.unfinished
        FileStatus.removeDatabase(fresh)
        do {
            try StoreDirectory.createFile(fresh)
            let connection = try Connection(path: fresh)
            // A crash leaves a file that the next opener deletes.
            try connection.execute("PRAGMA synchronous=OFF; PRAGMA journal_mode=MEMORY")
            try connection.transaction(.immediate) {
                try connection.execute("PRAGMA application_id=\(Migration.applicationID)")
                for statements in Migration.versions {
                    for statement in statements { try connection.execute(statement) }
                }
                try connection.execute("PRAGMA user_version=\(Migration.latest)")
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
        guard try connection.first("PRAGMA journal_mode=WAL", read: { $0.text(0) }) == "wal" else {
            throw StoreFailure.unavailable(
                "the file system of \(location.directory) does not support the queue's write-ahead"
                    + " log; set LONGHAUL_HOME to a local directory")
        }
    }

    /// Brings the store to the latest version. The caller holds the open lock.
    func migrate() throws(LonghaulError) {
        let found = try version()
        guard found <= Migration.latest else {
            throw StoreFailure.newer(
                location.database, version: found, known: Migration.latest)
        }
        if found == Migration.latest { return }
        guard found > 0 else {
            throw StoreFailure.damaged(location.database, "its version is \(found)")
        }
        try write(.durable) { connection in
            for statements in Migration.versions[found...] {
                for statement in statements { try connection.execute(statement) }
            }
            try connection.run("PRAGMA user_version=\(Migration.latest)")
        }
        // The version must stand in the file itself, where openers of any version look first.
        try access { try $0.run("PRAGMA wal_checkpoint(TRUNCATE)") }
    }
}
