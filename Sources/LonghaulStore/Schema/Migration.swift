internal import LonghaulCore

/// The versions of the schema. Each is a list of statements that migrates a store of the version
/// before. A released list is never edited: a change is a new version.
enum Migration {
    /// In the file's header (PRAGMA application_id): "LH", and the fingerprint of version 1, which
    /// changed until it was released. A store of a build from before is told apart by it.
    static let applicationID = family << 16 | 0x3CB9
    static let family = 0x4C48

    /// A fingerprint of 16 bits (FNV-1a, folded).
    static func fingerprint(of statements: [String]) -> Int {
        var hash: UInt32 = 0x811C_9DC5
        for byte in statements.joined(separator: ";").utf8 {
            hash = (hash ^ UInt32(byte)) &* 0x0100_0193
        }
        return Int(hash >> 16 ^ hash & 0xFFFF)
    }

    /// `versions[n]` leads from version n to n + 1.
    static let versions: [[String]] = [version1]

    static var latest: Int { versions.count }
}

extension Store {
    /// Brings the store to the latest version. The caller holds the open lock.
    func migrate() throws(LonghaulError) {
        let found = try version()
        guard found <= Migration.latest else {
            throw StoreFailure.newer(
                location.database, version: found, known: Migration.latest)
        }
        if found == Migration.latest { return }
        guard found >= 0 else {
            throw StoreFailure.damaged(location.database, "its version is \(found)")
        }
        if found == 0 {
            try checkEmptiness()
            try startLogging()
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

    /// Version 0 has no tables: they are created in one transaction with the version. A file with
    /// tables has lost its version, or belongs to another program.
    func checkEmptiness() throws(LonghaulError) {
        let tables = try access {
            try $0.first("SELECT count(*) FROM sqlite_master") { $0.int(0) }
        }
        if tables == 0 { return }
        let owner = try access { try $0.first("PRAGMA application_id") { $0.int(0) } }
        guard owner == Migration.applicationID else {
            throw StoreFailure.anothers(location.database)
        }
        throw StoreFailure.damaged(location.database, "its version is gone")
    }

    /// WAL mode is persistent, and cannot be set inside a transaction.
    private func startLogging() throws(LonghaulError) {
        let mode = try access { try $0.first("PRAGMA journal_mode=WAL") { $0.text(0) } }
        guard mode == "wal" else {
            throw StoreFailure.unavailable(
                "the file system of \(location.directory) does not support the queue's write-ahead"
                    + " log; set LONGHAUL_HOME to a local directory")
        }
        try access { try $0.run("PRAGMA application_id=\(Migration.applicationID)") }
    }
}
