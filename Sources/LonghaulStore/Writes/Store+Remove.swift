internal import GRDB
package import LonghaulCore

/// What became of one transfer that was to be forgotten.
package enum RemovalOutcome: Hashable, Sendable {
    /// Forgotten. Its part file, if it had one, is the caller's to delete.
    case removed(LeftPart?)
    /// It has not ended: cancel it first.
    case refused(LonghaulError)
}

extension Store {
    /// Transfers that one transaction of ``clean(endedBefore:session:_:)`` forgets.
    private static let cleanedPerTransaction = 5_000

    /// Forgets ended transfers, durably, in the order of the ids; with them go those of their
    /// events that were acknowledged. An ended transfer is the engine's no more, so that a client
    /// may. A crash before the part files are deleted leaves them where they are.
    package func remove(_ ids: [TransferID]) throws(LonghaulError) -> [RemovalOutcome] {
        try write(.durable) { connection in
            try ids.map { try connection.remove($0) }
        }
    }

    /// Forgets transfers that ended before a moment, the oldest first, in transactions of bounded
    /// size. After each the body is given the part files that are now nobody's. Returns how many
    /// were forgotten.
    package func clean(
        endedBefore moment: Timestamp, session: String? = nil,
        _ body: ([LeftPart]) throws -> Void
    ) throws -> Int {
        var total = 0
        while true {
            let (count, parts) = try write(.durable) { connection in
                try connection.clean(
                    endedBefore: moment, session: session, limit: Self.cleanedPerTransaction)
            }
            if !parts.isEmpty { try body(parts) }
            total += count
            if count < Self.cleanedPerTransaction { return total }
        }
    }
}

extension Connection {
    fileprivate func remove(_ id: TransferID) throws -> RemovalOutcome {
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
        return .removed(try forget(id))
    }

    fileprivate func clean(
        endedBefore moment: Timestamp, session: String?, limit: Int
    ) throws -> (count: Int, [LeftPart]) {
        let ids = try all(
            """
            SELECT id FROM transfer INDEXED BY transferFinished WHERE ended = 1 \
            AND finishedAt < ?1 AND rearm = rearmed AND (?2 IS NULL \
            OR sessionID = (SELECT id FROM session WHERE name = ?2)) ORDER BY finishedAt LIMIT ?3
            """, moment, session, limit
        ) { $0.transferID(0) }
        return (ids.count, try ids.compactMap { try forget($0) })
    }

    /// Deletes the row and what hangs on it. Returns the part file that nobody needs any more.
    func forget(_ id: TransferID) throws -> LeftPart? {
        let fetch = try first("SELECT fetchID FROM transfer WHERE id = ?1", id) {
            $0.optionalInt64(0).map(FetchID.init(rawValue:))
        }
        let goesOn = try (fetch ?? nil).map { try handOver($0, without: id) } ?? false
        try run("DELETE FROM transfer WHERE id = ?1", id)
        try run("DELETE FROM attempt WHERE transferID = ?1", id)
        try run("DELETE FROM attention WHERE transferID = ?1", id)
        try forgetAcknowledged(of: id)
        guard let fetchID = fetch ?? nil, !goesOn else { return nil }
        let state = try first(FetchRecord.select, fetchID) { FetchRecord.read($0) }
        try deleteFetch(fetchID)
        guard changes == 1, let state, let identity = state.partIdentity else { return nil }
        return LeftPart(path: state.partPath, identity: identity)
    }
}
