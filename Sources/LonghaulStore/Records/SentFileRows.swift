internal import LonghaulModel

/// The file that the last completed upload has left at a place, as its request describes it.
/// Neither `remove` nor the retention of transfers deletes the record: the next upload of the same
/// directory sends only new and changed files.
package struct SentFile {
    /// Number of the place. Two places that share one cost an upload that could be spared.
    let key: Int64
    /// Version of the file, and a number of its path, its URL and its request.
    let version: String

    /// - Parameter version: Of the user's file, even where a snapshot of it was sent.
    init(_ request: TransferRequest, path: String, version: String) {
        key = SentFile.keys(request, path: path)[0]
        var hash = FNV1a()
        let url = CanonicalURL.of(request.url) ?? request.url
        for text in [path, url] + (FetchIdentity(request)?.marks ?? []) { hash.mix("\(text)\n") }
        self.version = "\(version) \(hash.value)"
    }

    /// The places where an upload may leave another file than the one before; its own is the first.
    /// The next upload to the URL of a file replaces the file. If each file creates a resource, its
    /// path is a part of the place.
    static func keys(_ request: TransferRequest, path: String) -> [Int64] {
        let url = UploadPlace.url(of: request.sourceName, at: request.url)
        let place = CanonicalURL.of(url) ?? url
        let isPlace = request.options.upload?.namesItsPlace == true
        return (isPlace ? [place] : ["\(place)\n\(path)", place]).map {
            var hash = FNV1a()
            hash.mix($0)
            return Int64(bitPattern: hash.value)
        }
    }
}

/// The files that uploads have sent.
struct SentFileRows: ConnectionRows {
    private enum Column: Int32, StoredColumn {
        case source, url, uploadVersion, options

        static let select = "SELECT \(list) FROM transfer WHERE id = ?1 AND source IS NOT NULL"
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
        guard let sent = try sent(by: id) else { return }
        let upload = sent.request.options.upload
        let pinned = upload?.snapshotPath == nil ? upload?.source?.text : nil
        guard let version = sent.version ?? pinned else { return try forget(sent.request) }
        let file = SentFile(sent.request, path: sent.path, version: version)
        try forget(sent.request)
        try connection.run(
            "INSERT OR REPLACE INTO sentFile (key, version, at) VALUES (?1, ?2, ?3)", file.key,
            file.version, now)
    }

    /// An upload is about to replace the file at its place, or may have left a part of it there.
    func forget(_ request: TransferRequest) throws {
        guard request.options.upload != nil, case .file(let path) = request.destination else {
            return
        }
        let keys = SentFile.keys(request, path: path)
        try connection.run(
            "DELETE FROM sentFile WHERE key IN (?1, ?2)", keys[0], keys[keys.count - 1])
    }

    /// The same of a transfer, which may be a download.
    func forget(_ id: TransferID) throws {
        if let sent = try sent(by: id) { try forget(sent.request) }
    }

    /// `nil` for a download.
    private func sent(
        by id: TransferID
    ) throws -> (request: TransferRequest, path: String, version: String?)? {
        try connection.first(Column.select, id) { (row: StoredRow<Column>) in
            let path: String = row[.source]
            var request = TransferRequest(url: row[.url], destination: .file(path))
            request.options = TransferOptions(stored: row[.options]) ?? TransferOptions()
            return (request, path, row[.uploadVersion])
        }
    }

    /// Deletes rows that are too old, and the oldest ones beyond `most`.
    func forget(before: Timestamp, keeping most: Int) throws {
        try connection.run(
            """
            WITH newest (seq) AS (SELECT max(seq) FROM sentFile)
            DELETE FROM sentFile WHERE seq < (SELECT max(newest.seq + 1 - ?2, coalesce( \
            (SELECT seq FROM sentFile WHERE at >= ?1 ORDER BY seq LIMIT 1), newest.seq + 1)) FROM newest)
            """, before, most)
    }
}
