internal import LonghaulCore

/// A file as an upload sent it to a URL. Neither `remove` nor the retention of transfers makes the
/// store forget it: the next upload of the same directory sends only what is new or changed.
package struct SentFile {
    let key: Int64
    let version: String

    /// - Parameter version: Of the user's file, even where a snapshot of it was sent.
    init(path: String, url: String, version: String) {
        // A key that two pairs share is harmless: no two files have the same times.
        var hash = FNV1a()
        for byte in "\(url)\n\(path)".utf8 { hash.mix(byte) }
        key = Int64(bitPattern: hash.value)
        self.version = version
    }
}

/// The files that uploads have sent.
struct SentFileRows: ConnectionRows {
    private enum Column: Int32, StoredColumn {
        case source, url, uploadVersion, options

        static let select = "SELECT \(list) FROM transfer WHERE id = ?1"
    }

    let connection: Connection

    func contains(_ file: SentFile) throws -> Bool {
        try connection.value(
            "SELECT 1 FROM sentFile WHERE key = ?1 AND version = ?2", file.key, file.version)
            ?? false
    }

    /// Records the file of an upload that completes. Of a snapshot only the version of its copy may
    /// be known: such a file counts as not sent.
    func record(_ id: TransferID, now: Timestamp) throws {
        let file = try connection.first(
            Column.select, id
        ) { (row: StoredRow<Column>) -> SentFile? in
            let upload = TransferOptions(stored: row[.options])?.upload
            let sent = upload?.snapshotPath == nil ? upload?.source?.text : nil
            guard let path: String = row[.source], let version = row[.uploadVersion] ?? sent
            else { return nil }
            return SentFile(path: path, url: row[.url], version: version)
        }
        guard let file, let file else { return }
        try connection.run(
            "INSERT OR REPLACE INTO sentFile (key, version, at) VALUES (?1, ?2, ?3)", file.key,
            file.version, now)
    }

    /// Forgets what is too old, or too much.
    func forget(before: Timestamp, keeping most: Int) throws {
        try connection.run(
            """
            WITH newest (seq) AS (SELECT max(seq) FROM sentFile)
            DELETE FROM sentFile WHERE seq < (SELECT max(newest.seq + 1 - ?2, coalesce( \
            (SELECT seq FROM sentFile WHERE at >= ?1 ORDER BY seq LIMIT 1), newest.seq + 1)) FROM newest)
            """, before, most)
    }
}
