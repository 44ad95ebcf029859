package import LonghaulModel

/// The status of transfers: every change of their phase, with its event.
package struct TransferStatus {
    let connection: Connection
    let ends: EndNotes
    let log: LogWriter

    fileprivate init(connection: Connection, ends: EndNotes, log: LogWriter) {
        self.connection = connection
        self.ends = ends
        self.log = log
    }

    /// Reads a transfer with all its fields; `nil` when it was removed.
    package func work(_ id: TransferID) throws -> TransferWork? {
        try WorkRecord.find(id, connection)
    }

    /// The transfers that an engine had claimed: its successor handles them first.
    package func liveUnqueued() throws -> [TransferID] {
        try connection.values(
            "SELECT id FROM transfer INDEXED BY transferRunning WHERE phase = 1 ORDER BY id")
    }

    /// Queues a transfer between attempts, ready at a moment (`nil` = at once), with these reasons;
    /// a later earliest begin takes precedence, unless it runs now by request. That request ends
    /// with an attempt that has to be repeated. The fetch row stays.
    package func setQueued(
        _ id: TransferID, readyAt: Timestamp? = nil, waitingFor: [WaitReason] = [],
        now: Timestamp
    ) throws {
        if readyAt != nil || !waitingFor.isEmpty {
            try TransferRows(connection).setRunsNow(false, id)
        }
        let isEarly = "earliest > max(?2, ?4) AND NOT \(TransferRows.runsNow)"
        try connection.run(
            """
            UPDATE transfer SET phase = 0, input = 0, \
            readyAt = CASE WHEN \(isEarly) THEN earliest ELSE ?2 END, \
            waitReason = CASE WHEN \(isEarly) THEN NULL ELSE ?3 END \
            WHERE id = ?1 AND ended = 0
            """, id, max(0, readyAt?.milliseconds ?? 0),
            waitingFor.isEmpty ? nil : StoredJSON.encode(waitingFor), now)
        try expectOneChange()
    }

    /// Why the last attempt of a live transfer gained nothing.
    package func setLastError(_ error: LonghaulError?, of id: TransferID) throws {
        try connection.run(
            "UPDATE transfer SET error = ?2 WHERE id = ?1 AND ended = 0", id,
            error.map { StoredJSON.encode($0) })
    }

    /// Ends a transfer whose file is durable under its name, or at its server, with its event, and
    /// drops the fetch row; one that shares an upload leaves the row to the leader. `skipped`: the
    /// file is another program's, and nothing is recorded about it.
    ///
    /// An upload whose URL has changed since restarts. Returns the snapshot to delete.
    @discardableResult
    package func complete(
        _ id: TransferID, finalPath: String, numbers: TransferTotals,
        skipped: LonghaulError? = nil, detail: String? = nil, now: Timestamp
    ) throws -> [OrphanedPart] {
        let standing = try standing(of: id)
        // The URL was changed while the upload ran to the old one: the upload restarts.
        if standing.upload == .elsewhere {
            try setQueued(id, now: now)
            return []
        }
        let statement = try connection.prepare(
            """
            UPDATE transfer SET phase = 3, ended = 1, finishedAt = ?2, error = ?9, \
            (response, contentCoding, fileValidator, fileDevice, fileInode, fileBirth) = \
            (SELECT f.response, f.contentCoding, f.validator, f.partDevice, f.partInode, f.partBirth FROM fetch f \
            WHERE f.id = transfer.fetchID AND ?9 IS NULL), \
            waitReason = NULL, finalPath = nullif(?8, coalesce(destination, source)), fetchID = NULL, \
            bytesTotal = ?3, bytesDone = ?4, bytesFetched = max(bytesFetched, ?5), attempts = ?6, restarts = ?7 \
            WHERE id = ?1 AND ended = 0
            """)
        statement.bind(8, finalPath)
        let error = skipped.map { StoredJSON.encode($0) }
        statement.bind(9, error)
        try end(id, as: .completed, statement, standing, numbers, now)
        if let fetch = standing.fetch, !standing.isFollowing {
            if standing.isFetchShared { try SharedFetchRows(connection).disband(fetch) }
            if skipped == nil {
                try OrphanedPartRows(connection).deleteRow(of: fetch)
            } else {
                _ = try OrphanedPartRows(connection).abandon(fetch, now: now)
            }
        }
        addEvent(.transferCompleted, of: id, standing, detail ?? error, now)
        if standing.upload == nil { return [] }
        if skipped == nil { try SentFileRows(connection).record(id, now: now) }
        try deleteCredentials(of: id)
        return try SnapshotRows(connection).abandon(of: id)
    }

    /// The credentials of a completed upload are not needed any more: an abandoned upload at its
    /// server has its own. A completed download keeps its credentials: equal requests are compared
    /// with them.
    private func deleteCredentials(of id: TransferID) throws {
        guard let stored = try options(of: id) else { return }
        let options = stored.withoutCredentials
        if options == stored { return }
        try connection.run("UPDATE transfer SET options = ?2 WHERE id = ?1", id, options.stored)
    }

    /// Ends a failed transfer, with its event. The fetch row stays, for `resume` and `retry`.
    package func fail(
        _ id: TransferID, error: LonghaulError, numbers: TransferTotals, detail: String? = nil,
        now: Timestamp
    ) throws {
        let statement = try connection.prepare(
            """
            UPDATE transfer SET phase = 4, ended = 1, finishedAt = ?2, error = ?8, \
            waitReason = NULL, bytesTotal = ?3, bytesDone = ?4, bytesFetched = max(bytesFetched, ?5), \
            attempts = ?6, restarts = ?7 WHERE id = ?1 AND ended = 0
            """)
        let standing = try standing(of: id)
        let error = StoredJSON.encode(error)
        statement.bind(8, error)
        try end(id, as: .failed, statement, standing, numbers, now)
        if standing.upload != nil { try SentFileRows(connection).forget(id) }
        addEvent(.transferFailed, of: id, standing, detail ?? error, now)
    }

    /// Ends a transfer that is not wanted any more, with the event. The fetch row stays until
    /// ``FetchRows/drop(of:now:)``.
    package func cancel(_ id: TransferID, numbers: TransferTotals, now: Timestamp) throws {
        let statement = try connection.prepare(
            """
            UPDATE transfer SET phase = 5, ended = 1, finishedAt = ?2, error = NULL, \
            waitReason = NULL, finalPath = NULL, bytesTotal = ?3, bytesDone = ?4, \
            bytesFetched = max(bytesFetched, ?5), attempts = ?6, restarts = ?7 WHERE id = ?1 AND ended = 0
            """)
        let standing = try standing(of: id)
        try end(id, as: .cancelled, statement, standing, numbers, now)
        if standing.upload != nil { try SentFileRows(connection).forget(id) }
        // The way out where its disk is away for good: `retry` takes the one that is there.
        try connection.run(
            """
            UPDATE transfer SET options = json_remove(options, '$.disk') \
            WHERE id = ?1 AND instr(options, '"disk":') AND json_valid(options)
            """, id)
        let canceller: Canceller?? = try connection.first(
            "SELECT cancelledBy, replacedBy > 0 FROM transfer WHERE id = ?1", id
        ) { $0[1] ? .replaced : $0.known(0) }
        let detail = canceller.flatMap { $0 }.map { StoredJSON.encode(CancelDetail(by: $0)) }
        addEvent(.transferCancelled, of: id, standing, detail, now)
    }

    /// Undoes a cancel that was withdrawn too late, as `retry` does. Returns whether the transfer
    /// is in the inbox for that.
    package func askAgain(for id: TransferID) throws -> Bool {
        try connection.run(
            "UPDATE transfer SET rearm = rearm + 1 WHERE id = ?1 AND phase = 5 AND want = 0", id)
        guard connection.changes > 0 else { return false }
        try IntentRows(connection).add(id)
        return true
    }

    /// Applies a `resume` or `retry` of a failed or cancelled transfer: it is queued again, its
    /// error and end are cleared, and a relative deadline restarts. `false` if none is pending.
    package func rearm(_ id: TransferID, now: Timestamp) throws -> Bool {
        guard let work = try work(id), work.isRearmPending else { return false }
        guard work.phase.hasEnded else {
            // Two clients requested it; the first request was enough.
            try connection.run("UPDATE transfer SET rearmed = rearm WHERE id = ?1", id)
            return false
        }
        let begin = max(now, work.request.earliestBegin ?? now)
        let deadline = work.request.deadline.resolved(mayBegin: begin)
        let schedule = StoredSchedule(
            work.request, usesNetwork: work.eligibility.usesNetwork, begin: begin,
            deadline: deadline, waitsForTransfers: work.eligibility.waitsForTransfers)
        let runsNow = work.eligibility.runsNow
        let eligibility = runsNow ? schedule.eligibility.now : schedule.eligibility
        let waiver = runsNow ? nil : schedule.waiver
        try connection.run(
            """
            UPDATE transfer SET phase = 0, ended = 0, rearmed = rearm, readyAt = ?2, \
            deadline = ?3, error = NULL, finishedAt = NULL, input = 0, eligibility = ?4, \
            waiveAt = ?5, waiveBy = ?6, readySince = ?7 WHERE id = ?1
            """, id, begin > now && !runsNow ? begin.milliseconds : 0, deadline,
            CalendarRows(connection).stored(eligibility), waiver?.checkAt, waiver?.by, begin)
        // If another want came since: a queued transfer is handled only when it is in the inbox.
        if work.want != .run { try IntentRows(connection).add(id) }
        return true
    }

    /// The other changes at the end of a transfer: its place in the tally, and its fetch.
    private struct Standing {
        var group: EndNotes.Group
        var fetch: FetchID?
        var isFetchShared: Bool
        /// Another transfer leads the fetch.
        var isFollowing: Bool
        /// `nil` = the fetch is no upload.
        var upload: Upload?

        enum Upload: Int {
            case asWanted
            /// The upload has gone to another URL than the transfer's current one.
            case elsewhere
        }
    }

    private enum StandingColumn: Int32, StoredColumn {
        case sessionID, want, isRearmPending, fetch, leader, upload

        var sql: String {
            switch self {
            case .sessionID, .want: "t.\(self)"
            case .isRearmPending: "t.rearm > t.rearmed"
            case .fetch: "f.id"
            case .leader: "f.leader"
            case .upload:
                """
                CASE WHEN f.upload IS NOT NULL \
                THEN f.askedURL IS NOT NULL AND f.askedURL <> t.url END
                """
            }
        }

        static let select = """
            SELECT \(list) FROM transfer t LEFT JOIN fetch f ON f.id = t.fetchID WHERE t.id = ?1
            """
    }

    private func standing(of id: TransferID) throws -> Standing {
        let standing = try connection.first(StandingColumn.select, id) {
            (row: StoredRow<StandingColumn>) in
            let leader: TransferID? = row[.leader]
            return Standing(
                group: EndNotes.Group(
                    sessionID: row[.sessionID], want: row[.want],
                    isRearmPending: row[.isRearmPending]),
                fetch: row[.fetch], isFetchShared: leader != nil,
                isFollowing: leader ?? id != id, upload: row.known(.upload))
        }
        guard let standing else { preconditionFailure("what ends is in the queue") }
        return standing
    }

    private func end(
        _ id: TransferID, as phase: Phase, _ statement: Prepared, _ standing: Standing,
        _ numbers: TransferTotals, _ now: Timestamp
    ) throws {
        statement.bind(1, id)
        statement.bind(2, now)
        statement.bind(3, numbers.bytesTotal)
        statement.bind(4, numbers.bytesDone)
        statement.bind(5, numbers.bytesFetched)
        statement.bind(6, numbers.attempts)
        statement.bind(7, numbers.restarts)
        try statement.runOnce()
        try expectOneChange()
        ends.add(phase, in: standing.group, at: now)
        let isAwaited = try TransferDependencies(connection).announceEnd(
            of: id, isCompleted: phase == .completed)
        if isAwaited { ends.areSomeAwaited = true }
    }

    private func addEvent(
        _ type: EventType, of id: TransferID, _ standing: Standing, _ detail: String?,
        _ now: Timestamp
    ) {
        log.buffer.add(
            EventRow(
                at: now, session: standing.group.sessionID, transfer: id, type: type,
                detail: detail))
    }

    /// The engine moves a transfer only out of its known phase: anything else is a bug that would
    /// lose or double an event.
    private func expectOneChange() throws {
        precondition(connection.changes == 1, "the transfer is not where the engine believes it")
    }

    /// The mirrors of a transfer's URL.
    package func mirrors(of id: TransferID) throws -> [String] {
        try options(of: id)?.mirrors ?? []
    }

    /// `nil` = they cannot be read, or there is no such transfer.
    private func options(of id: TransferID) throws -> TransferOptions? {
        let options = try connection.first("SELECT options FROM transfer WHERE id = ?1", id) {
            TransferOptions(stored: $0[0])
        }
        return options ?? nil
    }
}

extension EngineTransaction {
    /// The status of transfers.
    package var transfers: TransferStatus {
        TransferStatus(connection: connection, ends: ends, log: log)
    }
}
