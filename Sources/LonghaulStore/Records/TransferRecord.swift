package import LonghaulModel

/// The row of a transfer, read for display (``Transfer``), with the numbers of its fetch while it
/// has one.
enum TransferRecord {
    /// `t` is the transfer, `s` its session, `f` its fetch.
    private enum Column: Int32, StoredColumn {
        case id, phase, want, isRearmPending, url, destination, session, priority, schedule
        case created, earliest, deadline, expectedBytes, startedAt, finishedAt, error, waitReason
        case readyAt, options, finalPath, bytesTotal, bytesDone, bytesFetched, attempts, restarts
        case fetch, durable, fetchBytesTotal, fetchBytesFetched, fetchAttempts, fetchRestarts
        case generation, eligibility, waiveAt, waiveBy, readySince, response, host, sharedFetch
        case leader, partPath, contentCoding, prefetched, isUnresumable, source, hasVersion, windows

        var sql: String {
            switch self {
            case .isRearmPending: "t.rearm > t.rearmed"
            case .session: "s.name"
            case .host: "s.host"
            case .finalPath: "coalesce(t.finalPath, CASE t.phase WHEN 1 THEN f.publication END)"
            case .readySince: "coalesce(t.readySince, t.created)"
            case .response, .contentCoding: "coalesce(t.\(self), f.\(self))"
            case .fetch: "f.id"
            case .fetchBytesTotal: "f.bytesTotal"
            case .fetchBytesFetched: "f.bytesFetched"
            case .fetchAttempts: "f.attempts"
            case .fetchRestarts: "f.restarts"
            case .durable, .generation, .leader, .partPath, .prefetched: "f.\(self)"
            case .isUnresumable: FetchRecord.isUnresumable
            case .hasVersion: "f.validator IS NOT NULL"
            case .windows: CalendarRows.windows("t.schedule")
            default: "t.\(self)"
            }
        }
    }

    private static let select = """
        SELECT \(Column.list) FROM transfer t JOIN session s ON s.id = t.sessionID \
        LEFT JOIN fetch f ON f.id = t.fetchID WHERE t.id = ?1
        """

    static func find(
        _ id: TransferID, _ connection: Connection, now: Timestamp
    ) throws -> Transfer? {
        try connection.first(select, id) { try read($0, now: now) }
    }

    private static func read(_ row: StoredRow<Column>, now: Timestamp) throws -> Transfer {
        let phase = try row.phase(.phase)
        let isRearmPending: Bool = row[.isRearmPending]
        let state = shownState(phase: phase, want: try row.want(.want), pending: isRearmPending)
        let schedule = CalendarRows.key(row, .schedule, windows: .windows)
        var transfer = Transfer(
            id: row[.id], state: state, url: row[.url], file: file(row), session: row[.session],
            priority: Priority(rawValue: row[.priority]) ?? .normal,
            isDiscretionary: schedule.isDiscretionary, createdAt: row[.created])
        transfer.host = row[.host]
        transfer.schedule = schedule.schedule
        transfer.eligibility = CalendarRows.key(row, .eligibility, windows: .windows)
        transfer.runsNow = transfer.eligibility.runsNow
        transfer.arePreferencesWaived =
            !transfer.runsNow && transfer.eligibility != schedule.eligibility
        if !state.hasEnded {
            transfer.waiverCheck = row[.waiveAt]
            transfer.waivesBy = row[.waiveBy]
        }
        transfer.readySince = row[.readySince]
        transfer.earliestBegin = row[.earliest]
        transfer.deadline = row[.deadline]
        transfer.expectedBytes = row.optionalLength(.expectedBytes)
        transfer.startedAt = row[.startedAt]
        // The recorded end is void while a `resume` or `retry` is pending.
        if !isRearmPending {
            if state.hasEnded { transfer.finishedAt = row[.finishedAt] }
            if state != .cancelled { transfer.error = row.json(.error) }
        }
        if state == .waiting { transfer.waitingFor = try reasons(row, now: now) }
        if let text: String = row[.options], let options = TransferOptions(stored: text) {
            transfer.options = options
            transfer.url = options.s3?.askedURL ?? transfer.url
        }
        transfer.response = row.json(.response)
        transfer.contentCoding = row[.contentCoding]
        transfer.isUnresumable = row[.isUnresumable] && !state.hasEnded
        transfer.sharedFetch = row[.sharedFetch]
        readNumbers(row, into: &transfer)
        return transfer
    }

    private static func file(_ row: StoredRow<Column>) -> Transfer.LocalFile {
        if let source: String = row[.source] { return .source(source) }
        return .destination(row[.finalPath] ?? row[.destination])
    }

    /// The numbers of the fetch are newer than the transfer's, which are written when it ends.
    private static func readNumbers(_ row: StoredRow<Column>, into transfer: inout Transfer) {
        transfer.bytesTotal = row.optionalLength(.bytesTotal)
        transfer.bytesDone = row.count64(.bytesDone)
        transfer.bytesFetched = row.count64(.bytesFetched)
        transfer.attempts = row.count(.attempts)
        transfer.restarts = row.count(.restarts)
        guard let fetch: FetchID = row[.fetch] else { return }
        transfer.bytesTotal = row.optionalLength(.fetchBytesTotal) ?? transfer.bytesTotal
        let durable = ByteRanges(stored: row[.durable]) ?? ByteRanges()
        let follows = row[.leader] ?? transfer.id != transfer.id
        transfer.held = HeldBytes(
            fetch: fetch, generation: row.count64(.generation), durable: durable,
            isAnothers: follows, partPath: row[.partPath])
        transfer.held?.isPrefetched = row[.prefetched]
        transfer.held?.hasVersion = row[.hasVersion]
        transfer.bytesDone = durable.count
        // Received bytes are counted once, for the leader.
        if !follows {
            transfer.bytesFetched = max(row.count64(.fetchBytesFetched), transfer.bytesFetched)
        }
        transfer.attempts = max(row.count(.fetchAttempts), transfer.attempts)
        transfer.restarts = max(row.count(.fetchRestarts), transfer.restarts)
    }

    private static func reasons(_ row: StoredRow<Column>, now: Timestamp) throws -> [WaitReason] {
        var reasons: [WaitReason] = row.json(.waitReason) ?? []
        // A transfer that has begun is not held by it, even if the clock was set back since.
        let hasBegun = try row.phase(.phase) == .queued && row[.readyAt] == 0
        if let earliest: Timestamp = row[.earliest], earliest > now, !hasBegun,
            !reasons.contains(where: { $0.reason == .earliestBegin })
        {
            reasons.append(
                WaitReason(
                    .earliestBegin, required: RFC3339.format(earliest),
                    current: RFC3339.format(now),
                    since: row[.created], nextCheck: earliest))
        }
        return reasons
    }
}

/// The displayed state, derived from the wants and from the engine's records; derived only here.
///
/// - `pending`: a `resume` or `retry` of an ended transfer that the engine has not applied yet.
package func shownState(phase: Phase, want: Want, pending: Bool) -> TransferState {
    switch phase {
    case .completed:
        return .completed
    case .failed where !pending:
        return .failed
    case .cancelled where !pending:
        return .cancelled
    case .queued, .failed, .cancelled:
        return stateByWant(want, moving: false)
    case .running:
        return stateByWant(want, moving: true)
    }
}

private func stateByWant(_ want: Want, moving: Bool) -> TransferState {
    switch want {
    case .run: moving ? .running : .waiting
    case .pause: .paused
    case .cancel, .cancelKeepingBytes: .cancelled
    }
}
