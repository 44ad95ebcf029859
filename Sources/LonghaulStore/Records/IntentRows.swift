package import LonghaulModel

/// The transfers whose wants have changed, until the engine has applied them.
package struct IntentRows: ConnectionRows {
    let connection: Connection

    /// Removes transfers whose wants have changed since the last call, and returns them. The
    /// resulting changes belong into the same transaction.
    package func removeFirst(limit: Int) throws -> [TransferID] {
        let ids: [TransferID] = try connection.values(
            "SELECT transferID FROM intentInbox ORDER BY transferID LIMIT ?1", limit)
        guard let last = ids.last else { return [] }
        try connection.run("DELETE FROM intentInbox WHERE transferID <= ?1", last)
        return ids
    }

    /// Puts a transfer into the inbox, so that its wants are checked.
    package func add(_ id: TransferID) throws {
        try connection.run("INSERT OR IGNORE INTO intentInbox (transferID) VALUES (?1)", id)
    }

    /// The same for a transfer that returns to the queue although it was to be cancelled. Returns
    /// whether it is in the inbox now.
    package func add(unlessWanted id: TransferID) throws -> Bool {
        try connection.run(
            """
            INSERT OR IGNORE INTO intentInbox (transferID) \
            SELECT id FROM transfer WHERE id = ?1 AND want NOT IN (0, 1)
            """, id)
        return connection.changes > 0
    }
}
