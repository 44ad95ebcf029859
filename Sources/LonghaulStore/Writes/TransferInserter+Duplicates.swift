internal import LonghaulCore

/// Equal requests that are live, at the moment of enqueueing. Who joins asks for nothing here: the
/// engine brings equal ones together when one of them runs.
extension TransferInserter {
    /// The transfers that the new one is to replace: older ones of its session. Those that came
    /// with it are not older, and those that asked for a fetch of their own have one.
    ///
    /// Throws `conflict` where it is not wanted beside an equal one.
    func duplicates(of new: NewTransfer, _ key: Int64) throws -> [TransferID] {
        switch new.request.options.onDuplicate {
        case .join, .separate: return []
        case .replace:
            return try equals(of: new.request, key).filter {
                $0.id.rawValue < firstID && $0.request.options.onDuplicate != .separate
                    && $0.request.session.isExactly(new.request.session)
            }.map(\.id)
        case .fail:
            guard let first = try equals(of: new.request, key).first else { return [] }
            // The id of one that came with this one is nobody's if nothing is recorded.
            let isInBatch = first.id.rawValue >= firstID
            throw LonghaulError(
                .conflict,
                Redaction.url(first.request.url)
                    + (isInBatch
                        ? " is asked for earlier in the same batch; leave one out, "
                        : " is already being fetched by transfer \(first.id), which has not ended;"
                            + " wait for it (`longhaul wait \(first.id)`), ")
                    + "or enqueue with --on-duplicate join, separate or replace",
                transferID: isInBatch ? nil : first.id)
        }
    }

    func cancel(_ replaced: [TransferID]) throws {
        for id in replaced {
            try connection.run("UPDATE transfer SET want = ?2 WHERE id = ?1", id, Want.cancel)
            try connection.callAttention(to: id)
        }
    }

    private func equals(
        of request: TransferRequest, _ key: Int64
    ) throws -> [(id: TransferID, request: TransferRequest)] {
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
        return try ids.compactMap { id in
            let work = try connection.first(WorkRecord.select, id, read: WorkRecord.read)
            guard let work, !work.isUnreadable, FetchIdentity(work.request) == identity
            else { return nil }
            return (id, work.request)
        }
    }
}
