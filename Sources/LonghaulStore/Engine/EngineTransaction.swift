package import LonghaulCore

/// The operations of the lease holder, inside one transaction. Their errors must be passed on: they
/// end the transaction, which then has changed nothing.
package struct EngineTransaction: ~Copyable {
    let connection: Connection
    let ends = EndNotes()
    let late = LogBuffer()

    fileprivate init(_ connection: Connection) {
        self.connection = connection
    }
}

extension Store {
    /// Runs the body in one write transaction under the lease: all of it is committed, with the
    /// given durability, or nothing.
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
    /// Takes transfers whose wants have changed since the last call. The resulting changes belong
    /// into the same transaction.
    package func takeAttention(limit: Int) throws -> [TransferID] {
        let ids = try connection.all(
            "SELECT transferID FROM intentInbox ORDER BY transferID LIMIT ?1", limit
        ) { $0.transferID(0) }
        guard let last = ids.last else { return [] }
        try connection.run("DELETE FROM intentInbox WHERE transferID <= ?1", last)
        return ids
    }

    /// Puts a transfer into the inbox, so that its wants are checked.
    package func addAttention(_ id: TransferID) throws {
        try connection.callAttention(to: id)
    }

    /// The same for a transfer that returns to the queue although it was to be cancelled. Returns
    /// whether it is in the inbox now.
    package func addAttention(unlessWanted id: TransferID) throws -> Bool {
        try connection.run(
            """
            INSERT OR IGNORE INTO intentInbox (transferID) \
            SELECT id FROM transfer WHERE id = ?1 AND want NOT IN (0, 1)
            """, id)
        return connection.changes > 0
    }

    /// Publishes when the engine will next wake, for `status`.
    package func setNextWake(_ moment: Timestamp?) throws {
        try connection.run("UPDATE lease SET nextWake = ?1", moment)
    }

    /// The memory of an origin; default values for an unknown one.
    package func origin(_ name: String) throws -> OriginMemory {
        try connection.first(OriginRecord.select, name, read: OriginRecord.read)
            ?? OriginMemory(origin: name)
    }

    /// The mirrors of a transfer's URL.
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

    /// Records an attempt, or its end; the last twenty of a transfer are kept.
    package func record(_ attempt: AttemptRecord, of id: TransferID) {
        late.add(AttemptRow(transfer: id, record: attempt))
    }
}

extension EngineTransaction {
    /// Deletes events that were acknowledged before a moment. Waiting events stay, however old.
    /// Returns the number of deleted ones; at the limit there may be more.
    package func forgetEvents(acknowledgedBefore moment: Timestamp, limit: Int) throws -> Int {
        try connection.run(
            """
            DELETE FROM event WHERE seq IN (SELECT seq FROM event INDEXED BY eventDone \
            WHERE acknowledgedAt IS NOT NULL AND acknowledgedAt < ?1 \
            ORDER BY acknowledgedAt LIMIT ?2)
            """, moment, limit)
        return connection.changes
    }
}

extension EngineTransaction {
    /// Publishes the conditions and limits of this engine.
    package func publish(_ view: EngineView) throws {
        try connection.set(ConditionsRecord.key, to: ConditionsRecord.text(view))
    }
}
