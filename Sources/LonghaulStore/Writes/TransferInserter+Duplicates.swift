internal import LonghaulCore

/// Equal requests that are live, at the moment of enqueueing. Who joins asks for nothing here: the
/// engine brings equal ones together when one of them runs.
extension TransferInserter {
    /// The transfers that the new one is to replace.
    ///
    /// Throws `conflict` where it is not wanted beside an equal one.
    func duplicates(of new: NewTransfer, _ key: Int64) throws -> [TransferID] {
        switch new.request.options.onDuplicate {
        case .join, .separate: return []
        case .replace: return try equals(of: new.request, key)
        case .fail:
            guard let first = try equals(of: new.request, key).first else { return [] }
            throw LonghaulError(
                .conflict,
                "transfer \(first) asks for the same already. Wait for it, or enqueue with "
                    + "--on-duplicate join, separate or replace.", transferID: first)
        }
    }

    func cancel(_ replaced: [TransferID]) throws {
        for id in replaced {
            try connection.run("UPDATE transfer SET want = ?2 WHERE id = ?1", id, Want.cancel)
            try connection.callAttention(to: id)
        }
    }

    private func equals(of request: TransferRequest, _ key: Int64) throws -> [TransferID] {
        // Earlier items of the batch count too.
        if buffer.holds(identity: key) { try buffer.flush(connection) }
        let ids = try connection.all(
            """
            SELECT id FROM transfer INDEXED BY transferByIdentity WHERE identityKey = ?1 \
            AND ended = 0 AND want IN (0, 1) ORDER BY id
            """, key
        ) { $0.transferID(0) }
        if ids.isEmpty { return [] }
        let identity = FetchIdentity(request)
        return try ids.filter { id in
            let work = try connection.first(WorkRecord.select, id, read: WorkRecord.read)
            guard let work, !work.isUnreadable else { return false }
            return FetchIdentity(work.request) == identity
        }
    }
}
