package import LonghaulModel

/// Ended transfers that one transaction removes.
private let cleanedPerTransaction = 5_000

/// The outcome for one transfer that was to be removed.
package enum RemovalOutcome: Hashable, Sendable {
    /// Removed. Its part files, if it had any, are the caller's to delete.
    case removed([OrphanedPart])
    /// The transfer has not ended: cancel it first.
    case refused(LonghaulError)
}

extension WantWriter {
    /// Removes ended transfers, durably, in the order of the ids, with their acknowledged events.
    /// The engine does not use ended transfers any more, so a client may remove them. After a crash
    /// the next engine deletes the remaining part files: report deleted ones to ``forget(_:)``.
    package func remove(
        _ ids: [TransferID], now: Timestamp
    ) throws(LonghaulError) -> [RemovalOutcome] {
        try store.write(.durable) { connection in
            try ids.map { try EndedTransfers(connection).remove($0, now: now) }
        }
    }

    /// True if a cancel is wanted that no engine has applied yet; `nil` = for any transfer.
    package func isCancelPending(among ids: [TransferID]?) throws(LonghaulError) -> Bool {
        try store.snapshot { connection in
            guard let ids else {
                return try connection.value(
                    "SELECT 1 FROM tally WHERE phase = 0 AND want >= ?1 AND n > 0 LIMIT 1",
                    Want.cancel.rawValue) ?? false
            }
            return try ids.contains { id in
                try connection.value(
                    "SELECT 1 FROM transfer WHERE id = ?1 AND ended = 0 AND want >= ?2", id,
                    Want.cancel.rawValue) ?? false
            }
        }
    }

    /// Removes transfers that ended before a moment, the oldest first, in transactions of bounded
    /// size. After each the body receives the orphaned part files, and returns the deleted ones.
    /// Returns the number of removed transfers.
    package func clean(
        endedBefore moment: Timestamp, now: Timestamp, _ body: ([OrphanedPart]) -> [OrphanedPart]
    ) throws(LonghaulError) -> Int {
        var total = 0
        while true {
            let (count, parts) = try store.write(.durable) { connection in
                try EndedTransfers(connection).clean(
                    endedBefore: moment, limit: cleanedPerTransaction, now: now)
            }
            if !parts.isEmpty { try forget(body(parts)) }
            total += count
            if count < cleanedPerTransaction { return total }
        }
    }

    /// Removes the records of files that are known to be gone.
    package func forget(_ parts: [OrphanedPart]) throws(LonghaulError) {
        if parts.isEmpty { return }
        try store.write(.relaxed) { connection in
            for part in parts { try OrphanedPartRows(connection).forget(part) }
        }
    }
}

/// Removes transfers that have ended.
private struct EndedTransfers: ConnectionRows {
    let connection: Connection

    func remove(_ id: TransferID, now: Timestamp) throws -> RemovalOutcome {
        let found = try connection.first(
            "SELECT phase, want, rearm > rearmed FROM transfer WHERE id = ?1", id
        ) { (try $0.phase(0), try $0.want(1), $0[2] as Bool) }
        guard let (phase, want, pending) = found else { return .refused(.noSuchTransfer(id)) }
        guard phase.hasEnded, !pending else {
            let state = shownState(phase: phase, want: want, pending: pending)
            return .refused(
                LonghaulError(
                    .conflict,
                    state == .cancelled
                        ? "it is being cancelled; try again when it has ended"
                        : "it is \(state.rawValue) and has not ended; cancel it first",
                    transferID: id))
        }
        return .removed(try TransferRows(connection).forget(id, now: now))
    }

    func clean(
        endedBefore moment: Timestamp, limit: Int, now: Timestamp
    ) throws -> (count: Int, [OrphanedPart]) {
        let ids: [TransferID] = try connection.values(
            """
            SELECT id FROM transfer INDEXED BY transferFinished WHERE ended = 1 \
            AND finishedAt < ?1 AND rearm = rearmed ORDER BY finishedAt LIMIT ?2
            """, moment, limit)
        return (ids.count, try ids.flatMap { try TransferRows(connection).forget($0, now: now) })
    }
}
