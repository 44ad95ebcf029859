internal import LonghaulModel

/// Equal live requests at the moment of enqueueing. Joining needs no work here: the engine combines
/// equal transfers when one of them runs.
extension TransferInserter {
    /// The transfers that the new one is to replace: older ones of its session, except those in the
    /// same batch or with a separate fetch.
    ///
    /// Throws `conflict` if the new transfer may not duplicate an equal one.
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
            // If nothing is recorded, the id of an item of the same batch names no transfer.
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

    func conflict(_ new: NewTransfer, withVersion other: TransferID) -> LonghaulError {
        // If nothing is recorded, the id of an item of the same batch names no transfer.
        if other.rawValue >= firstID {
            return LonghaulError(
                .conflict,
                "another version of \(new.path) goes to the same URL earlier in the same"
                    + " batch; leave one out")
        }
        return LonghaulError(
            .conflict,
            "another version of \(new.path) goes to the same URL with transfer \(other),"
                + " which has not ended; wait for it, cancel it, or give --on-duplicate replace",
            transferID: other)
    }

    func cancel(_ replaced: [TransferID], for new: Int64) throws {
        for id in replaced {
            try connection.run(
                "UPDATE transfer SET want = ?2, replacedBy = ?3 WHERE id = ?1", id,
                Want.cancel.rawValue,
                new)
            try IntentRows(connection).add(id)
        }
    }

    func equals(
        of request: TransferRequest, _ key: Int64
    ) throws -> [(id: TransferID, request: TransferRequest)] {
        // Earlier items of the batch count too.
        if buffer.holds(identity: key) { try buffer.flush(connection) }
        let ids: [TransferID] = try connection.values(
            """
            SELECT id FROM transfer INDEXED BY transferByIdentity WHERE identityKey = ?1 \
            AND ended = 0 AND want IN (0, 1) ORDER BY id
            """, key)
        if ids.isEmpty { return [] }
        let identity = FetchIdentity(request)
        return try ids.compactMap { id in
            let work = try WorkRecord.find(id, connection)
            guard let work, !work.isUnreadable, FetchIdentity(work.request) == identity
            else { return nil }
            return (id, work.request)
        }
    }
}
