package import LonghaulModel

/// Completed transfers with an equal request whose files are considered for reuse.
private let finishedLookedAt = 4

extension KeptFile {
    private enum Column: Int32, StoredColumn {
        case path, fileDevice, fileInode, fileBirth, bytesTotal, finishedAt, fileValidator

        var sql: String { self == .path ? "coalesce(finalPath, destination)" : "\(self)" }
    }

    private static let select = "SELECT \(Column.list) FROM transfer WHERE id = ?1"

    fileprivate static func find(_ id: TransferID, _ connection: Connection) throws -> KeptFile? {
        try connection.first(select, id, read: read) ?? nil
    }

    private static func read(_ row: StoredRow<Column>) -> KeptFile? {
        guard let length = row.optionalLength(.bytesTotal),
            let validator: Validator = row.json(.fileValidator)
        else { return nil }
        return KeptFile(
            path: row[.path],
            identity: row.fileIdentity(device: .fileDevice, inode: .fileInode, birth: .fileBirth),
            length: length, finishedAt: row[.finishedAt], validator: validator)
    }
}

/// A fetch for several transfers. Its subscribers have its id in `fetchID`; `leader` in its row
/// names the leading one. `sharedFetch` outlives `fetchID`: it shows which transfers were served
/// together.
package struct SharedFetches {
    let connection: Connection
    private var fetches: FetchRows { FetchRows(connection: connection) }

    /// Queued transfers whose request may equal that with this key, the newest first, with the
    /// fetches that they hold: those that are wanted to run or, at `mostWanted` pause, also the
    /// paused ones.
    package func queued(
        _ key: Int64, _ mostWanted: Want, limit: Int
    ) throws -> [(id: TransferID, fetch: FetchID?)] {
        try connection.all(
            """
            SELECT id, fetchID FROM transfer INDEXED BY transferByIdentity WHERE identityKey = ?1 \
            AND ended = 0 AND phase = 0 AND want <= ?2 ORDER BY id DESC LIMIT ?3
            """, key, mostWanted.rawValue, limit
        ) { ($0[0], $0[1]) }
    }

    /// All transfers that have this fetch, its leader included.
    package func members(of fetch: FetchID) throws -> [TransferID] {
        try SharedFetchRows(connection).members(of: fetch)
    }

    /// Makes a queued transfer run, in this fetch or, with `nil`, in a new one. The planned name of
    /// another's file is dropped: it was chosen for that transfer.
    @discardableResult
    package func start(
        _ work: TransferWork, into fetch: FetchState?, now: Timestamp
    ) throws -> (work: TransferWork, fetch: FetchState) {
        precondition(work.phase == .queued, "a running transfer has its fetch")
        var (work, state) = (work, try fetch ?? fetches.insert(continuing: work.numbers))
        if fetch != nil, state.id != work.fetchID {
            try connection.run("UPDATE fetch SET publication = NULL WHERE id = ?1", state.id)
            state.publication = nil
        }
        try connection.run(
            """
            UPDATE transfer SET phase = 1, readyAt = 0, waitReason = NULL, fetchID = ?2, \
            startedAt = coalesce(startedAt, ?3) WHERE id = ?1
            """, work.id, state.id, now)
        try SentFileRows(connection).forget(work.request)
        work.phase = .running
        work.readyAt = nil
        work.waitingFor = []
        work.fetchID = state.id
        work.startedAt = work.startedAt ?? now
        return (work, state)
    }

    /// Makes a fetch serve these transfers from now on, the first of them leading. Its file has no
    /// name but that of the part file.
    package func share(_ fetch: FetchID, among ids: [TransferID]) throws {
        guard let leader = ids.first else { return }
        try setLeader(of: fetch, to: leader)
        for id in ids {
            try connection.run("UPDATE transfer SET sharedFetch = ?2 WHERE id = ?1", id, fetch)
        }
    }

    /// The leader before keeps its count of received bytes.
    package func setLeader(of fetch: FetchID, to id: TransferID) throws {
        let old: TransferID? = try connection.value("SELECT leader FROM fetch WHERE id = ?1", fetch)
        if old == id { return }
        if let old { try keepCount(of: old, in: fetch) }
        try SharedFetchRows(connection).lead(fetch, by: id)
    }

    /// Keeps the count of a former leader: the number of received bytes never goes down.
    package func keepCount(of id: TransferID, in fetch: FetchID, atLeast bytes: Int64 = 0) throws {
        try connection.run(
            """
            UPDATE transfer SET bytesFetched = max(bytesFetched, ?3, \
            coalesce((SELECT bytesFetched FROM fetch WHERE id = ?2), 0)) WHERE id = ?1
            """, id, fetch, bytes)
    }

    /// Detaches a transfer that is not running from its fetch, and keeps the bytes counted so far.
    /// `sharedFetch` still names the fetch.
    package func leave(_ id: TransferID) throws {
        let fetch = try fetches.fetchID(of: id)
        if let fetch, try fetches.state(of: fetch)?.leader ?? id == id {
            try keepCount(of: id, in: fetch)
        }
        try connection.run(
            "UPDATE transfer SET fetchID = NULL, partSuffix = partSuffix + ?2 WHERE id = ?1", id,
            fetch == nil ? 0 : 1)
        if let fetch { _ = try SharedFetchRows(connection).handOver(fetch, without: id) }
    }

    /// True if no other transfer has the fetch of this one.
    package func isLast(_ id: TransferID, of fetch: FetchID) throws -> Bool {
        try members(of: fetch).allSatisfy { $0 == id }
    }

    /// Lets the heir continue the fetch and bytes of a transfer that does not want them any more.
    package func bequeath(_ fetch: FetchID, from id: TransferID, to heir: TransferID) throws {
        try keepCount(of: id, in: fetch)
        try connection.run(
            """
            UPDATE transfer SET fetchID = NULL, sharedFetch = NULL, partSuffix = partSuffix + 1 \
            WHERE id = ?1
            """, id)
        try connection.run("UPDATE transfer SET fetchID = ?2 WHERE id = ?1", heir, fetch)
        try SharedFetchRows(connection).lead(fetch, by: nil)
    }

    /// Gives this transfer a copy of the shared file: it continues alone, with a separate fetch for
    /// the copy. It keeps running if that is wanted and possible, and is queued otherwise.
    package func adopt(
        _ copy: FetchState, for id: TransferID
    ) throws -> (work: TransferWork, fetch: FetchState)? {
        guard var work = try WorkRecord.find(id, connection), !work.phase.hasEnded else {
            return nil
        }
        var state = copy
        state.id = try FetchRecord.insert(copy, connection)
        state.leader = nil
        let runs = work.want == .run && !work.isUnreadable
        try connection.run(
            """
            UPDATE transfer SET phase = ?2, readyAt = 0, fetchID = ?3, partSuffix = partSuffix + 1 \
            WHERE id = ?1
            """, id, runs ? Phase.running.rawValue : Phase.queued.rawValue, state.id)
        work.phase = runs ? .running : .queued
        work.fetchID = state.id
        return (work, state)
    }

    /// The newest completed transfer with an equal request, if the version of its file is known.
    /// Only the disk shows whether the file is unchanged.
    package func finished(like work: TransferWork, now: Timestamp) throws -> KeptFile? {
        let ids: [TransferID] = try connection.values(
            """
            SELECT id FROM transfer INDEXED BY transferKept WHERE identityKey = ?1 \
            AND phase = 3 AND fileValidator IS NOT NULL AND fileInode IS NOT NULL \
            ORDER BY id DESC LIMIT ?2
            """, work.identityKey, finishedLookedAt)
        if ids.isEmpty { return nil }
        let identity = FetchIdentity(work.request)
        for id in ids {
            guard let other = try WorkRecord.find(id, connection), !other.isUnreadable,
                FetchIdentity(other.request) == identity,
                let file = try KeptFile.find(id, connection)
            else { continue }
            // Finished by a clock that was ahead: later changes of the file would seem earlier.
            if file.finishedAt <= now { return file }
        }
        return nil
    }

    /// Drops a fetch that serves no transfer any more.
    package func discard(_ fetch: FetchID, now: Timestamp) throws {
        try SharedFetchRows(connection).disband(fetch)
        _ = try OrphanedPartRows(connection).abandon(fetch, now: now)
    }
}

extension EngineTransaction {
    /// The fetches that serve several transfers.
    package var sharing: SharedFetches { SharedFetches(connection: connection) }
}
