package import LonghaulCore

/// The row of a transfer, read for display (``Transfer``), with the numbers of its fetch while it
/// has one.
enum TransferRecord {
    private static let columns = """
        t.id, t.phase, t.want, t.rearm > t.rearmed, t.url, t.destination, s.name, t.priority, \
        t.schedule, t.created, t.earliest, t.deadline, t.expectedBytes, t.startedAt, \
        t.finishedAt, t.error, t.waitReason, t.readyAt, t.options, \
        coalesce(t.finalPath, CASE t.phase WHEN 1 THEN f.publication END), \
        t.bytesTotal, t.bytesDone, t.bytesFetched, t.attempts, t.restarts, \
        f.id, f.durable, f.bytesTotal, f.bytesFetched, f.attempts, f.restarts, f.generation, \
        t.eligibility, t.waiveAt, t.waiveBy, coalesce(t.readySince, t.created), \
        coalesce(t.response, f.response), s.host, t.sharedFetch, f.leader, f.partPath, \
        coalesce(t.contentCoding, f.contentCoding), f.prefetched, \(FetchRecord.isUnresumable), \
        t.source, f.validator IS NOT NULL, \(CalendarRows.windows("t.schedule"))
        """

    static let select = """
        SELECT \(columns) FROM transfer t JOIN session s ON s.id = t.sessionID \
        LEFT JOIN fetch f ON f.id = t.fetchID WHERE t.id = ?1
        """

    static func read(_ row: StoredRow, now: Timestamp) throws -> Transfer {
        let phase = try row.phase(1)
        let state = shownState(phase: phase, want: try row.want(2), pending: row.bool(3))
        let schedule = CalendarRows.key(row, 8, windows: 46)
        var transfer = Transfer(
            id: row.transferID(0), state: state, url: row.text(4),
            file: file(row), session: row.text(6),
            priority: Priority(rawValue: row.int(7)) ?? .normal,
            isDiscretionary: schedule.isDiscretionary,
            createdAt: row.timestamp(9))
        transfer.host = row.optionalText(37)
        transfer.schedule = schedule.schedule
        transfer.eligibility = CalendarRows.key(row, 32, windows: 46)
        transfer.runsNow = transfer.eligibility.runsNow
        transfer.arePreferencesWaived =
            !transfer.runsNow && transfer.eligibility != schedule.eligibility
        if !state.hasEnded {
            transfer.waiverCheck = row.optionalTimestamp(33)
            transfer.waivesBy = row.optionalTimestamp(34)
        }
        transfer.readySince = row.timestamp(35)
        transfer.earliestBegin = row.optionalTimestamp(10)
        transfer.deadline = row.timestamp(11)
        transfer.expectedBytes = row.optionalLength(12)
        transfer.startedAt = row.optionalTimestamp(13)
        // The recorded end is void while a `resume` or `retry` is pending.
        if !row.bool(3) {
            if state.hasEnded { transfer.finishedAt = row.optionalTimestamp(14) }
            if state != .cancelled {
                transfer.error = row.optionalText(15).flatMap {
                    StoredJSON.decode(LonghaulError.self, $0)
                }
            }
        }
        if state == .waiting { transfer.waitingFor = try reasons(row, now: now) }
        if let text = row.optionalText(18), let options = TransferOptions(stored: text) {
            transfer.options = options
            if let upload = options.upload {
                transfer.url = upload.askedURL ?? transfer.url
            }
        }
        transfer.response = row.optionalText(36).flatMap {
            StoredJSON.decode(TransferResponse.self, $0)
        }
        transfer.contentCoding = row.optionalText(41)
        transfer.isUnresumable = row.bool(43) && !state.hasEnded
        transfer.sharedFetch = row.optionalInt64(38).map(FetchID.init(rawValue:))
        readNumbers(row, into: &transfer)
        return transfer
    }

    private static func file(_ row: StoredRow) -> Transfer.LocalFile {
        if let source = row.optionalText(44) { return .source(source) }
        return .destination(row.optionalText(19) ?? row.text(5))
    }

    /// The numbers of the fetch are newer than the transfer's, which are written when it ends.
    private static func readNumbers(_ row: StoredRow, into transfer: inout Transfer) {
        transfer.bytesTotal = row.optionalLength(20)
        transfer.bytesDone = row.count64(21)
        transfer.bytesFetched = row.count64(22)
        transfer.attempts = row.count(23)
        transfer.restarts = row.count(24)
        if row.isNull(25) { return }
        transfer.bytesTotal = row.optionalLength(27) ?? transfer.bytesTotal
        let durable = ByteRanges(stored: row.text(26)) ?? ByteRanges()
        let follows = !row.isNull(39) && row.transferID(39) != transfer.id
        transfer.held = HeldBytes(
            fetch: FetchID(rawValue: row.int64(25)), generation: row.count64(31), durable: durable,
            isAnothers: follows, partPath: row.text(40))
        transfer.held?.isPrefetched = row.bool(42)
        transfer.held?.hasVersion = row.bool(45)
        transfer.bytesDone = durable.count
        // Received bytes are counted once, for the leader.
        if !follows { transfer.bytesFetched = max(row.count64(28), transfer.bytesFetched) }
        transfer.attempts = max(row.count(29), transfer.attempts)
        transfer.restarts = max(row.count(30), transfer.restarts)
    }

    private static func reasons(_ row: StoredRow, now: Timestamp) throws -> [WaitReason] {
        var reasons =
            row.optionalText(16).flatMap { StoredJSON.decode([WaitReason].self, $0) } ?? []
        let earliest = row.optionalTimestamp(10)
        // A transfer that has begun is not held by it, even if the clock was set back since.
        let hasBegun = try row.phase(1) == .queued && row.optionalInt64(17) == 0
        if let earliest, earliest > now, !hasBegun,
            !reasons.contains(where: { $0.reason == .earliestBegin })
        {
            reasons.append(
                WaitReason(
                    .earliestBegin, required: RFC3339.format(earliest),
                    current: RFC3339.format(now),
                    since: row.timestamp(9), nextCheck: earliest))
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
