package import LonghaulModel

/// Leftovers of uploads at servers, until they are deleted there. Written with the commit that
/// drops a fetch, by an engine or a client.
package struct AbandonedUploads: ConnectionRows {
    let connection: Connection

    /// Before the rows of the fetch and of its transfer are deleted or changed. Nothing where the
    /// server has nothing of it.
    package func record(_ state: FetchState, of id: TransferID) throws {
        guard let upload = state.upload, upload.address != nil else { return }
        guard let work = try WorkRecord.find(id, connection), !work.isUnreadable else { return }
        let request = AbandonedUpload.request(work.request, askedURL: state.askedURL)
        try connection.run(
            """
            INSERT INTO abandonedUpload \
            (fetchID, transferID, url, source, options, upload) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
            """, state.id, id, request.url, work.path, request.options.stored,
            StoredJSON.encode(upload))
    }

    /// Begins the attempts that are due. They count before they are made, so that no crash repeats
    /// one without end.
    package func begin(limit: Int, now: Timestamp) throws -> [AbandonedUpload] {
        let due = try connection.all(Self.due, now, limit, read: Self.read)
        var begun: [AbandonedUpload] = []
        for (id, found) in due {
            guard var upload = found else {
                try forget(id)
                continue
            }
            upload.attempts += 1
            try connection.run(
                "UPDATE abandonedUpload SET attempts = ?2, dueAt = ?3 WHERE id = ?1", id,
                upload.attempts, now + AbandonedUpload.pause(after: upload.attempts))
            begun.append(upload)
        }
        return begun
    }

    /// When the next attempt is due; `nil` = nothing is left.
    package func nextDue() throws -> Timestamp? {
        try connection.value("SELECT min(dueAt) FROM abandonedUpload")
    }

    package func forget(_ id: Int64) throws {
        try connection.run("DELETE FROM abandonedUpload WHERE id = ?1", id)
    }

    private enum Column: Int32, StoredColumn {
        case id, fetchID, transferID, url, source, options, upload, attempts
    }

    private static let due = """
        SELECT \(Column.list) FROM abandonedUpload WHERE dueAt <= ?1 ORDER BY id LIMIT ?2
        """

    /// Without its options, or its state, there is no request to be made.
    private static func read(_ row: StoredRow<Column>) -> (Int64, AbandonedUpload?) {
        let id: Int64 = row[.id]
        guard let options = TransferOptions(stored: row[.options]),
            let state: UploadState = row.json(.upload)
        else { return (id, nil) }
        var request = TransferRequest(url: row[.url], destination: .file(row[.source]))
        request.options = options
        return (
            id,
            AbandonedUpload(
                id: id, fetch: row[.fetchID], transfer: row[.transferID], request: request,
                state: state, attempts: row.count(.attempts))
        )
    }
}
