package import LonghaulModel

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
    /// Runs the body in one write transaction under the lease: all its changes are committed, with
    /// the given durability, or none.
    ///
    /// Throws ``LeaseLost``, before the body runs, when the epoch is not the current one;
    /// `LonghaulError` when the store fails; and errors of the body.
    package func withEngineTransaction<Value>(
        _ epoch: Epoch, _ durability: Durability,
        _ body: (borrowing EngineTransaction) throws -> Value
    ) throws -> Value {
        do {
            return try writeUntranslated(durability) { connection in
                let current: Int64? = try connection.value("SELECT epoch FROM lease")
                guard current == epoch.rawValue else { throw LeaseLost() }
                let transaction = EngineTransaction(connection)
                let value = try body(transaction)
                try transaction.late.insert(connection)
                try SessionEnds(connection: connection, ends: transaction.ends).finishSessions()
                return value
            }
        } catch let error as SQLiteError {
            throw StoreFailure.translate(error, path: location.database)
        }
    }
}

extension EngineTransaction {
    /// Tells whether no other connection has committed since ``Store/dataVersion()`` gave this
    /// number.
    package func isUnchanged(since version: Int64) throws -> Bool {
        try connection.dataVersion() == version
    }

    /// Publishes when the engine will next wake, for `status`.
    package func setNextWake(_ moment: Timestamp?) throws {
        try connection.run("UPDATE lease SET nextWake = ?1", moment)
    }

    /// Publishes the conditions and limits of this engine.
    package func publish(_ view: EngineView) throws {
        try SettingRows(connection).set(ConditionsRecord.key, to: ConditionsRecord.text(view))
    }

    /// Adds to the totals.
    package func add(_ amounts: [LifetimeTotal: Int64]) throws {
        for (total, amount) in amounts where amount > 0 {
            try connection.run(
                """
                INSERT INTO setting (key, value) VALUES ('total.' || ?1, CAST(?2 AS TEXT)) \
                ON CONFLICT DO UPDATE SET value = CAST(CAST(value AS INTEGER) + ?2 AS TEXT)
                """, total.name, amount)
        }
    }

    /// See ``StoreSettings/follow(_:now:)``.
    package func follow(_ clock: ClockMark, now: Timestamp) throws {
        try StoredClock(connection).follow(clock, now: now)
    }

    /// The transfers whose wants have changed.
    package var inbox: IntentRows { IntentRows(connection) }
}

/// Additions to the logs for users and hosts.
package struct LogWriter {
    let connection: Connection
    let buffer: LogBuffer

    /// Adds to the event log.
    package func append(
        _ type: EventType, of id: TransferID, detail: String? = nil, now: Timestamp
    ) throws {
        let session: Int64? = try connection.value(
            "SELECT sessionID FROM transfer WHERE id = ?1", id)
        guard let session else { preconditionFailure("an event tells of a transfer in the queue") }
        buffer.add(EventRow(at: now, session: session, transfer: id, type: type, detail: detail))
    }

    /// Records an attempt, or its end; the last twenty of a transfer are kept.
    package func record(_ attempt: AttemptRecord, of id: TransferID) {
        buffer.add(AttemptRow(transfer: id, outcome: attempt))
    }
}

extension EngineTransaction {
    /// The logs of events and attempts.
    package var log: LogWriter { LogWriter(connection: connection, buffer: late) }
}

/// Memories of servers.
package struct OriginMemories {
    let connection: Connection

    /// The memory of an origin; default values for an unknown one.
    package func memory(of name: String) throws -> OriginMemory {
        try OriginRecord.find(name, connection)
    }

    package func save(_ memory: OriginMemory) throws {
        try OriginRecord.save(memory, connection)
    }

    /// Lets failed origins be asked again at `moment`; pauses that they have asked for stay.
    package func endCoolDowns(at moment: Timestamp) throws {
        try connection.run(
            """
            UPDATE origin SET coolDownUntil = max(coalesce(pauseUntil, 0), ?1) \
            WHERE coolDownUntil > ?1
            """, moment)
    }
}

extension EngineTransaction {
    /// Memories of servers.
    package var origins: OriginMemories { OriginMemories(connection: connection) }
}
