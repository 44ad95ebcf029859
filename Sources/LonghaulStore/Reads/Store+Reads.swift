package import LonghaulCore

extension Store {
    /// How many transfers one snapshot of ``forEachTransfer(states:session:now:_:)`` holds.
    private static let page = 500
    /// With more streams (for a great number of sessions) all rows are read instead.
    private static let mergedMax = 64

    /// One transfer for display, `nil` if there is none.
    package func transfer(
        _ id: TransferID, now: Timestamp
    ) throws(LonghaulError) -> Transfer? {
        try access { try $0.transfer(id, now: now) }
    }

    /// Several transfers in the order of the ids, in one snapshot; unknown ids are left out.
    package func transfers(
        _ ids: [TransferID], now: Timestamp
    ) throws(LonghaulError) -> [Transfer] {
        try snapshot { connection in
            try ids.compactMap { try connection.transfer($0, now: now) }
        }
    }

    /// The transfers of a filter, newest first. The cost grows with the limit, not with the queue.
    package func list(
        _ filter: TransferFilter = TransferFilter(), now: Timestamp
    ) throws(LonghaulError) -> [Transfer] {
        try snapshot { connection in
            let ids = try connection.ids(of: filter, now: now)
            return try ids.compactMap { try connection.transfer($0, now: now) }
        }
    }

    /// Every transfer in these states, newest first, a page at a time: the whole is no snapshot,
    /// but each transfer is, and none comes twice. The body runs outside any transaction and may
    /// end the iteration by throwing.
    package func forEachTransfer(
        states: Set<TransferState> = Set(TransferState.allCases), session: String? = nil,
        now: Timestamp, _ body: (Transfer) throws -> Void
    ) throws {
        var bound = Int64.max
        while true {
            let (last, page) = try snapshot { connection in
                let streams = try connection.streams(session: session, states: states)
                let ids =
                    streams.count > Self.mergedMax
                    ? try connection.newest(below: bound, limit: Self.page)
                    : try connection.newest(of: streams, below: bound, limit: Self.page)
                return (ids.last, try ids.compactMap { try connection.transfer($0, now: now) })
            }
            guard let last else { return }
            for transfer in page where states.contains(transfer.state) { try body(transfer) }
            bound = last.rawValue
        }
    }

    /// How many transfers are in each state; a state without any is missing.
    package func counts(
        session: String? = nil
    ) throws(LonghaulError) -> [TransferState: Int] {
        try access { try $0.counts(session: session) }
    }
}

extension Connection {
    func transfer(_ id: TransferID, now: Timestamp) throws -> Transfer? {
        var found = try first(TransferRecord.select, id) {
            try TransferRecord.read($0, now: now)
        }
        if let shared = found?.sharedFetch {
            found?.sharedWith = try subscribers(of: shared).filter { $0 != id }
        }
        return found
    }

    func counts(session: String?) throws -> [TransferState: Int] {
        var counts: [TransferState: Int] = [:]
        for group in try tally(session: session) { counts[group.state, default: 0] += group.count }
        return counts
    }

    fileprivate func ids(of filter: TransferFilter, now: Timestamp) throws -> [TransferID] {
        if let states = filter.states {
            let streams = try streams(session: filter.session, states: states)
            return try newest(of: streams, below: .max, limit: filter.limit)
        }
        // A transfer with a pending cancel is shown as cancelled, and is live until an engine
        // applies the cancel.
        let live = try streams(session: filter.session, states: Set(TransferState.allCases))
            .filter(\.isLive)
        var ids = try newest(of: live, below: .max, limit: filter.limit)
        let room = filter.limit - ids.count
        if room > 0 {
            let since = now + -TransferFilter.recentSeconds
            ids += try recent(session: filter.session, since: since, limit: room)
            ids.sort(by: >)
        }
        return ids
    }

    /// The index contains the session: rows of other sessions are skipped without being read.
    private func recent(session: String?, since: Timestamp, limit: Int) throws -> [TransferID] {
        let sessionID = try session.flatMap { try self.sessionID($0) }
        if session != nil, sessionID == nil { return [] }
        return try all(
            """
            SELECT id FROM transfer INDEXED BY transferFinished WHERE ended = 1 \
            AND finishedAt >= ?1 AND (?3 IS NULL OR sessionID = ?3) AND rearm = rearmed \
            ORDER BY finishedAt DESC, id DESC LIMIT ?2
            """, since, limit, sessionID, read: { $0.transferID(0) })
    }
}
