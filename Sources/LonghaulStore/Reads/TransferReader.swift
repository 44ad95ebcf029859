package import LonghaulModel

/// How long an ended transfer counts as recent.
private let recentlyEndedSeconds: Double = 86_400
/// Transfers that a list shows by default.
package let listedTransfers = 50
/// Transfers that one snapshot of an iteration over all of them holds.
private let transfersPerSnapshot = 500
/// Scans that are merged into a list; with more of them all rows are read.
private let mergedScans = 64

/// The transfers as clients see them.
package struct TransferReader {
    let store: Store

    /// Finds a transfer for display, `nil` if it does not exist.
    package func find(
        _ id: TransferID, now: Timestamp
    ) throws(LonghaulError) -> Transfer? {
        try store.access { try TransferRows($0).transfer(id, now: now) }
    }

    /// Several transfers in the order of the ids, in one snapshot; unknown ids are left out.
    package func find(
        _ ids: [TransferID], now: Timestamp
    ) throws(LonghaulError) -> [Transfer] {
        try store.snapshot { connection in
            try ids.compactMap { try TransferRows(connection).transfer($0, now: now) }
        }
    }

    /// The transfers of a filter, newest first. The cost grows with the limit, not with the queue.
    package func list(
        _ filter: ListQuery = ListQuery(), now: Timestamp
    ) throws(LonghaulError) -> [Transfer] {
        try store.snapshot { connection in
            let ids = try TransferLists(connection).ids(of: filter, now: now)
            return try ids.compactMap { try TransferRows(connection).transfer($0, now: now) }
        }
    }

    /// Every transfer in these states, newest first, a page at a time: the whole is no snapshot,
    /// but each transfer is, and none comes twice. The body runs outside any transaction and may
    /// end the iteration by throwing.
    package func forEach(
        states: Set<TransferState> = Set(TransferState.allCases), session: String? = nil,
        now: Timestamp, _ body: (Transfer) throws -> Void
    ) throws {
        var bound = Int64.max
        while true {
            let (last, page) = try store.snapshot { connection in
                let streams = try TransferScans(connection).streams(
                    session: session, states: states)
                let ids =
                    streams.count > mergedScans
                    ? try TransferScans(connection).newest(
                        below: bound, limit: transfersPerSnapshot)
                    : try TransferScans(connection).newest(
                        of: streams, below: bound, limit: transfersPerSnapshot)
                return (
                    ids.last,
                    try ids.compactMap { try TransferRows(connection).transfer($0, now: now) }
                )
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
        try store.access { try Tally($0).counts(session: session) }
    }

    /// The last attempts of a transfer, oldest first.
    package func attempts(of id: TransferID) throws(LonghaulError) -> [AttemptRecord] {
        try store.access { try AttemptRow.all(of: id, $0) }
    }

    /// The version of the file whose bytes are held: its entity tag, or else its Last-Modified
    /// time; `nil` = the server named none, or nothing is held.
    package func validator(of id: TransferID) throws(LonghaulError) -> String? {
        let text: String? = try store.access {
            try $0.value(
                """
                SELECT f.validator FROM transfer t JOIN fetch f ON f.id = t.fetchID \
                WHERE t.id = ?1
                """, id)
        }
        let validator = text.flatMap { StoredJSON.decode(Validator.self, $0) }
        return validator.flatMap { $0.etag ?? $0.lastModified }
    }

    /// The transfers that one still waits for, and their states; `nil` = one was removed.
    package func awaited(
        by id: TransferID, now: Timestamp
    ) throws(LonghaulError) -> [(id: TransferID, transfer: Transfer?)] {
        try store.snapshot { connection in
            try TransferDependencies(connection).awaited(by: id).map {
                ($0, try TransferRows(connection).transfer($0, now: now))
            }
        }
    }

    /// The newest download of this URL to this path that has completed, and the file that it has
    /// left there.
    ///
    /// - Parameter origin: Of the URL.
    package func completed(
        url: String, origin: String, at path: String, now: Timestamp
    ) throws(LonghaulError) -> (transfer: Transfer, file: FileIdentity)? {
        try store.snapshot { connection in
            let number: Int64? = try connection.value(
                "SELECT id FROM origin WHERE name = ?1", origin)
            guard let number else { return nil }
            let found = try connection.first(
                """
                SELECT id, fileDevice, fileInode, coalesce(fileBirth, 0) \
                FROM transfer INDEXED BY transferKept WHERE identityKey = ?1 \
                AND phase = 3 AND fileInode IS NOT NULL AND url = ?2 \
                AND coalesce(finalPath, destination) = ?3 ORDER BY id DESC LIMIT 1
                """, IdentityKey.of(url, origin: number), url, path
            ) { ($0[0] as TransferID, $0.fileIdentity(device: 1, inode: 2, birth: 3)) }
            guard let (id, file) = found,
                let transfer = try TransferRows(connection).transfer(id, now: now)
            else { return nil }
            return (transfer, file)
        }
    }

    /// Finds the transfer to which a client has given a gid.
    package func find(gid: String) throws(LonghaulError) -> TransferID? {
        try store.access { try GIDRows($0).transfer(of: gid) }
    }

    /// Finds the transfers to which clients have given gids that begin so.
    package func find(gidPrefix: String, limit: Int) throws(LonghaulError) -> [TransferID] {
        try store.access { try GIDRows($0).transfers(of: gidPrefix, limit: limit) }
    }

    /// A transfer may still send the snapshot of this path.
    package func hasSnapshot(at path: String) throws(LonghaulError) -> Bool {
        try store.snapshot { try SnapshotRows($0).isInUse(path) }
    }

    /// A transfer, live or ended, has or had this destination. Reads all transfers: for rare calls
    /// only.
    package func hasTransfer(to destination: String) throws(LonghaulError) -> Bool {
        try store.snapshot { connection in
            try connection.value("SELECT 1 FROM transfer WHERE destination = ?1", destination)
                ?? false
        }
    }
}

extension Store {
    /// The transfers, for display.
    package var transfers: TransferReader { TransferReader(store: self) }
}

/// Reads the transfers that a list shows.
private struct TransferLists: ConnectionRows {
    let connection: Connection

    private var scans: TransferScans { TransferScans(connection) }

    func ids(of filter: ListQuery, now: Timestamp) throws -> [TransferID] {
        if case .states(let states, let below) = filter.selection {
            let streams = try scans.streams(session: filter.session, states: states)
            return try scans.newest(
                of: streams, below: below?.rawValue ?? .max, limit: filter.limit)
        }
        // A transfer with a pending cancel is shown as cancelled, and is live until an engine
        // applies the cancel.
        let live = try scans.streams(session: filter.session, states: Set(TransferState.allCases))
            .filter(\.isLive)
        var ids = try scans.newest(of: live, below: .max, limit: filter.limit)
        let room = filter.limit - ids.count
        if room > 0 {
            let since = now + -recentlyEndedSeconds
            ids += try recent(session: filter.session, since: since, limit: room)
            ids.sort(by: >)
        }
        return ids
    }

    /// The index contains the session: rows of other sessions are skipped without being read.
    private func recent(session: String?, since: Timestamp, limit: Int) throws -> [TransferID] {
        let sessionID = try session.flatMap { try SessionRows(connection).id(of: $0) }
        if session != nil, sessionID == nil { return [] }
        return try connection.values(
            """
            SELECT id FROM transfer INDEXED BY transferFinished WHERE ended = 1 \
            AND finishedAt >= ?1 AND (?3 IS NULL OR sessionID = ?3) AND rearm = rearmed \
            ORDER BY finishedAt DESC, id DESC LIMIT ?2
            """, since, limit, sessionID)
    }
}

/// Selects the transfers of a list: a filter of the user with its defaults filled in, so that a
/// list is always bounded.
package struct ListQuery: Hashable, Sendable {
    package enum Selection: Hashable, Sendable {
        /// Older transfers than `below`, for the next page; `nil` = from the newest on.
        case states(Set<TransferState>, below: TransferID?)
        /// Live transfers, and if room is left, transfers that ended within a day.
        case recent
    }

    package var selection: Selection
    package var session: String?
    /// The most transfers, the newest first.
    package var limit: Int

    /// - Parameter states: `nil` = the recent ones.
    package init(
        states: Set<TransferState>? = nil, session: String? = nil,
        limit: Int = listedTransfers, below: TransferID? = nil
    ) {
        selection = states.map { .states($0, below: below) } ?? .recent
        self.session = session
        self.limit = limit
    }
}

extension TransferReader {
    /// The same file was sent to the same URL.
    package func hasSent(_ file: SentFile) throws(LonghaulError) -> Bool {
        try store.access { try SentFileRows($0).contains(file) }
    }
}
