package import LonghaulModel

/// The rows of `fetch`, and the part files that no fetch has any more.
package struct FetchRows {
    let connection: Connection
    private var sharing: SharedFetches { SharedFetches(connection: connection) }

    package func state(of id: FetchID) throws -> FetchState? {
        try FetchRecord.find(id, connection)
    }

    /// Saves a fetch whole. Progress is saved after the sync that made it durable.
    package func save(_ state: FetchState) throws {
        try FetchRecord.save(state, connection)
    }

    /// Drops the fetch of a transfer that is not running. Its counts stay with the transfer.
    ///
    /// Returns the part files to delete; none while another transfer has the fetch.
    @discardableResult
    package func drop(of id: TransferID, now: Timestamp) throws -> [OrphanedPart] {
        guard let work = try WorkRecord.find(id, connection), let fetchID = work.fetchID else {
            return []
        }
        precondition(work.phase != .running, "its fetch is in use")
        guard try sharing.isLast(id, of: fetchID) else {
            try sharing.leave(id)
            return []
        }
        guard let state = try state(of: fetchID) else {
            try connection.run("UPDATE transfer SET fetchID = NULL WHERE id = ?1", id)
            return []
        }
        try AbandonedUploads(connection).record(state, of: id)
        try connection.run(
            """
            UPDATE transfer SET fetchID = NULL, bytesDone = 0, \
            bytesFetched = max(bytesFetched, ?2), attempts = max(attempts, ?3), \
            restarts = max(restarts, ?4) WHERE id = ?1
            """, id, state.bytesFetched, state.attempts, state.restarts)
        return try OrphanedPartRows(connection).abandon(state, now: now)
    }

    /// A fetch made for a transfer that had one before continues its counts.
    func insert(continuing numbers: TransferTotals) throws -> FetchState {
        var state = FetchState(id: FetchID(rawValue: 0))
        state.bytesFetched = numbers.bytesFetched
        state.attempts = numbers.attempts
        state.restarts = numbers.restarts
        state.id = try FetchRecord.insert(state, connection)
        return state
    }

    /// Says of a fetch that is about to start whether it only waits for others' connections.
    package func mark(_ state: inout FetchState, prefetched: Bool) throws {
        if state.isPrefetched == prefetched { return }
        state.isPrefetched = prefetched
        try connection.run(
            "UPDATE fetch SET prefetched = ?2 WHERE id = ?1", state.id, prefetched)
    }

    func fetchID(of id: TransferID) throws -> FetchID? {
        try connection.value("SELECT fetchID FROM transfer WHERE id = ?1", id)
    }

    /// Records a part file for deletion; the fetch stays, and makes another one.
    package func orphan(_ part: OrphanedPart, now: Timestamp) throws {
        try OrphanedPartRows(connection).add(part, now: now)
    }

    /// Removes the record of a file that is known to be gone.
    package func forget(_ part: OrphanedPart) throws {
        try OrphanedPartRows(connection).forget(part)
    }

    /// The files that were still to be deleted when the last engine ended. A file that could not be
    /// deleted for long, on a disk that is never mounted again, is given up.
    package func orphanedParts(now: Timestamp) throws -> [OrphanedPart] {
        try connection.run(
            "DELETE FROM orphanedPart WHERE since < ?1", now + -Limits.leftPartsKeptSeconds)
        return try connection.all("SELECT path, device, inode, birth FROM orphanedPart") {
            OrphanedPart(
                path: $0[0],
                identity: $0.fileIdentity(device: 1, inode: 2, birth: 3))
        }
    }
}

extension EngineTransaction {
    /// The fetches and their part files.
    package var fetches: FetchRows { FetchRows(connection: connection) }

    /// The snapshots that uploads send.
    package var snapshots: SnapshotRows { SnapshotRows(connection) }

    /// The leftovers of uploads at servers.
    package var abandonedUploads: AbandonedUploads { AbandonedUploads(connection) }
}
