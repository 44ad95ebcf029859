package import LonghaulCore

/// What only the lease holder may do, inside one transaction. Errors of its operations must be let
/// out: they end the transaction, which then has changed nothing.
package struct EngineTransaction: ~Copyable {
    let connection: Connection
    let ends = EndNotes()
    let late = LogBuffer()

    fileprivate init(_ connection: Connection) {
        self.connection = connection
    }
}

extension Store {
    /// Runs the body in one write transaction under the lease: all of it is committed, as sure as
    /// asked, or nothing.
    ///
    /// Throws ``LeaseLost``, before the body runs, when the epoch is not the current one;
    /// `LonghaulError` when the store fails; and what the body throws.
    package func withEngineTransaction<Value>(
        _ epoch: Epoch, _ durability: Durability,
        _ body: (borrowing EngineTransaction) throws -> Value
    ) throws -> Value {
        do {
            return try writeUntranslated(durability) { connection in
                let current = try connection.first("SELECT epoch FROM lease") { $0.int64(0) }
                guard current == epoch.rawValue else { throw LeaseLost() }
                let transaction = EngineTransaction(connection)
                let value = try body(transaction)
                try transaction.late.insert(connection)
                try transaction.finishSessions()
                return value
            }
        } catch let error as SQLiteError {
            throw StoreFailure.translate(error, path: location.database)
        }
    }
}

extension EngineTransaction {
    /// Transfers whose wants have changed since they were last taken, and takes them: what follows
    /// from it belongs into the same transaction.
    package func takeAttention(limit: Int) throws -> [TransferID] {
        let ids = try connection.all(
            "SELECT transferID FROM intentInbox ORDER BY transferID LIMIT ?1", limit
        ) { $0.transferID(0) }
        guard let last = ids.last else { return [] }
        try connection.run("DELETE FROM intentInbox WHERE transferID <= ?1", last)
        return ids
    }

    /// Puts a transfer into the inbox, for a look at what is wanted of it.
    package func addAttention(_ id: TransferID) throws {
        try connection.callAttention(to: id)
    }

    /// The same for one that goes back to the queue although it was to be cancelled. Returns
    /// whether it is in the inbox now.
    package func addAttention(unlessWanted id: TransferID) throws -> Bool {
        try connection.run(
            """
            INSERT OR IGNORE INTO intentInbox (transferID) \
            SELECT id FROM transfer WHERE id = ?1 AND want NOT IN (0, 1)
            """, id)
        return connection.changes > 0
    }

    /// Announces when the engine means to look again, for `status`.
    package func setNextWake(_ moment: Timestamp?) throws {
        try connection.run("UPDATE lease SET nextWake = ?1", moment)
    }

    /// What is known of an origin; nothing, in default values, for one never met.
    package func origin(_ name: String) throws -> OriginMemory {
        try connection.first(OriginRecord.select, name, read: OriginRecord.read)
            ?? OriginMemory(origin: name)
    }

    /// What a transfer may be fetched from besides its URL.
    package func mirrors(of id: TransferID) throws -> [String] {
        let options = try connection.first("SELECT options FROM transfer WHERE id = ?1", id) {
            TransferOptions(stored: $0.optionalText(0))
        }
        return options??.mirrors ?? []
    }

    package func save(_ memory: OriginMemory) throws {
        try connection.run(
            OriginRecord.save, memory.origin, memory.ignoresRanges, memory.mishandlesIfRange,
            memory.speaksHTTP2, memory.coolDownUntil, memory.failures, memory.bytesPerSecond,
            memory.coolDownSince, memory.pauseUntil)
    }

    /// Adds to the event log.
    package func appendEvent(
        _ type: EventType, of id: TransferID, detail: String? = nil, now: Timestamp
    ) throws {
        let session = try connection.first("SELECT sessionID FROM transfer WHERE id = ?1", id) {
            $0.int64(0)
        }
        guard let session else { preconditionFailure("an event tells of a transfer in the queue") }
        late.add(EventRow(at: now, session: session, transfer: id, type: type, detail: detail))
    }

    /// Records one use of the wire, or its end; of the transfer's earlier ones the last twenty are
    /// kept.
    package func record(_ attempt: AttemptRecord, of id: TransferID) {
        late.add(AttemptRow(transfer: id, record: attempt))
    }
}
