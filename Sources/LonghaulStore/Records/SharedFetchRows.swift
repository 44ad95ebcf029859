internal import LonghaulModel

/// The transfers that share one fetch, and the one that leads it.
struct SharedFetchRows: ConnectionRows {
    let connection: Connection

    func members(of fetch: FetchID) throws -> [TransferID] {
        try connection.values(
            """
            SELECT id FROM transfer INDEXED BY transferShared WHERE sharedFetch = ?1 \
            AND sharedFetch IS NOT NULL AND fetchID = ?1 ORDER BY id
            """, fetch)
    }

    /// The transfers that a fetch serves, or has served to its end.
    func subscribers(of fetch: FetchID) throws -> [TransferID] {
        try connection.values(
            """
            SELECT id FROM transfer INDEXED BY transferShared WHERE sharedFetch = ?1 \
            AND sharedFetch IS NOT NULL AND (fetchID IS NOT NULL OR phase = 3) ORDER BY id LIMIT ?2
            """, fetch, Limits.sharersPerFetch)
    }

    /// The planned name of its file was chosen for the leader before, so it is dropped.
    func lead(_ fetch: FetchID, by id: TransferID?) throws {
        try connection.run(
            "UPDATE fetch SET leader = ?2, publication = NULL WHERE id = ?1", fetch, id)
    }

    /// Lets another transfer lead when this one has left the fetch, if possible a live one. Returns
    /// whether there is another.
    func handOver(_ fetch: FetchID, without id: TransferID) throws -> Bool {
        let next: TransferID? = try connection.value(
            """
            SELECT id FROM transfer INDEXED BY transferShared WHERE sharedFetch = ?1 \
            AND sharedFetch IS NOT NULL AND fetchID = ?1 AND id <> ?2 ORDER BY ended, id LIMIT 1
            """, fetch, id)
        guard let next else { return false }
        try connection.run(
            "UPDATE fetch SET leader = ?2, publication = NULL WHERE id = ?1 AND leader = ?3",
            fetch, next, id)
        return true
    }

    /// Detaches all transfers from the fetch.
    func disband(_ fetch: FetchID) throws {
        try connection.run(
            """
            UPDATE transfer SET fetchID = NULL, phase = CASE phase WHEN 1 THEN 0 ELSE phase END \
            WHERE id IN (SELECT id FROM transfer \
            INDEXED BY transferShared WHERE sharedFetch = ?1 AND sharedFetch IS NOT NULL \
            AND fetchID = ?1)
            """, fetch)
    }
}
