package import LonghaulCore

/// What became of one transfer that was to be forgotten.
package enum RemovalOutcome: Hashable, Sendable {
    /// Forgotten. Its part files, if it had any, are the caller's to delete.
    case removed([OrphanedPart])
    /// It has not ended: cancel it first.
    case refused(LonghaulError)
}

extension Store {
    /// Transfers that one transaction of ``clean(endedBefore:now:_:)`` forgets.
    private static let cleanedPerTransaction = 5_000

    /// Forgets ended transfers, durably, in the order of the ids; with them go those of their
    /// events that were acknowledged. An ended transfer is the engine's no more, so that a client
    /// may. What is left of a crash before the part files are deleted, the next engine deletes:
    /// tell ``forget(_:)`` what is gone.
    package func remove(
        _ ids: [TransferID], now: Timestamp
    ) throws(LonghaulError) -> [RemovalOutcome] {
        try write(.durable) { connection in
            try ids.map { try connection.remove($0, now: now) }
        }
    }

    /// Whether a cancel is wanted that no engine has carried out yet; `nil` = of any.
    package func isCancelPending(among ids: [TransferID]?) throws(LonghaulError) -> Bool {
        try snapshot { connection in
            guard let ids else {
                return try connection.first(
                    "SELECT 1 FROM tally WHERE phase = 0 AND want >= ?1 AND n > 0 LIMIT 1",
                    Want.cancel, read: { _ in true }) ?? false
            }
            return try ids.contains { id in
                try connection.first(
                    "SELECT 1 FROM transfer WHERE id = ?1 AND ended = 0 AND want >= ?2", id,
                    Want.cancel, read: { _ in true }) ?? false
            }
        }
    }

    /// Forgets transfers that ended before a moment, the oldest first, in transactions of bounded
    /// size. After each the body is given the part files that are now nobody's, and returns which
    /// of them are gone. Returns how many were forgotten.
    package func clean(
        endedBefore moment: Timestamp, now: Timestamp, _ body: ([OrphanedPart]) -> [OrphanedPart]
    ) throws(LonghaulError) -> Int {
        var total = 0
        while true {
            let (count, parts) = try write(.durable) { connection in
                try connection.clean(
                    endedBefore: moment, limit: Self.cleanedPerTransaction, now: now)
            }
            if !parts.isEmpty { try forget(body(parts)) }
            total += count
            if count < Self.cleanedPerTransaction { return total }
        }
    }
}

extension Connection {
    fileprivate func remove(_ id: TransferID, now: Timestamp) throws -> RemovalOutcome {
        let found = try first(
            "SELECT phase, want, rearm > rearmed FROM transfer WHERE id = ?1", id
        ) { (try $0.phase(0), try $0.want(1), $0.bool(2)) }
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
        return .removed(try forget(id, now: now))
    }

    fileprivate func clean(
        endedBefore moment: Timestamp, limit: Int, now: Timestamp
    ) throws -> (count: Int, [OrphanedPart]) {
        let ids = try all(
            """
            SELECT id FROM transfer INDEXED BY transferFinished WHERE ended = 1 \
            AND finishedAt < ?1 AND rearm = rearmed ORDER BY finishedAt LIMIT ?2
            """, moment, limit
        ) { $0.transferID(0) }
        return (ids.count, try ids.flatMap { try forget($0, now: now) })
    }

    /// Deletes the row and what hangs on it. Returns the part files that nobody needs any more.
    func forget(_ id: TransferID, now: Timestamp) throws -> [OrphanedPart] {
        let fetch = try first("SELECT fetchID FROM transfer WHERE id = ?1", id) {
            $0.optionalInt64(0).map(FetchID.init(rawValue:))
        }
        let goesOn = try (fetch ?? nil).map { try handOver($0, without: id) } ?? false
        try run("DELETE FROM transfer WHERE id = ?1", id)
        try run("DELETE FROM attempt WHERE transferID = ?1", id)
        try run("DELETE FROM intentInbox WHERE transferID = ?1", id)
        try forgetAcknowledged(of: id)
        guard let fetchID = fetch ?? nil, !goesOn else { return [] }
        return try abandonFetch(fetchID, sparingPublished: true, now: now)
    }
}
