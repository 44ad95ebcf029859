internal import LonghaulCore
internal import LonghaulStore

/// Seconds from one pass of the retention to the next.
private let retentionCheckSeconds: Double = 600
/// Events that one transaction deletes.
private let eventsForgottenAtOnce = 2_000
/// Transfers that one transaction deletes, or whose bytes it drops.
private let transfersForgottenAtOnce = 500

/// Deletes events, bytes and transfers whose time is over, every few minutes, in a turn that takes
/// place anyway.
struct RetentionPass {
    var lengths = Retention()
    /// `nil` = at the next turn.
    private var dueAt: Instant?

    /// Returns the part files to delete. If the store cannot be written, the next pass tries again.
    mutating func run(_ writer: StoreWriter, now: Moment) throws(LonghaulError) -> [OrphanedPart] {
        if writer.retryAt != nil || dueAt.map({ $0 > now.monotonic }) ?? false { return [] }
        dueAt = now.monotonic + retentionCheckSeconds
        var parts: [OrphanedPart] = []
        var isMore = false
        do throws(LonghaulError) {
            // An event that a program may have seen is there after a power cut, too.
            try writer.transaction(.durable) { tx in
                isMore = try forget(tx, &parts, now: now.wall)
            }
        } catch {
            if error == StoreWriter.leaseLost { throw error }
            return []
        }
        if isMore { dueAt = now.monotonic + 1 }
        return parts
    }

    private func forget(
        _ tx: borrowing EngineTransaction, _ parts: inout [OrphanedPart], now: Timestamp
    ) throws -> Bool {
        let events = eventsForgottenAtOnce
        let transfers = transfersForgottenAtOnce
        let rows = tx.retention
        try rows.forgetSentFiles(now: now)
        let acknowledged = try rows.forgetEvents(
            acknowledgedBefore: now + -lengths.events, limit: events)
        let unread = try rows.forgetUnreadEvents(before: now + -lengths.ended, limit: events)
        try rows.announceEndOfBytes(
            lengths.parts - Limits.partNoticeSeconds, tx.log, limit: transfers, now: now)
        let dropped = try rows.bytesToDrop(
            lengths.parts, announcedFor: Limits.partNoticeSeconds, limit: transfers, now: now)
        for id in dropped { parts += try tx.fetches.drop(of: id, now: now) }
        let ended = try rows.endedTransfers(before: now + -lengths.ended, limit: transfers)
        for id in ended { parts += try rows.forget(id, now: now) }
        return acknowledged == events || unread == events || dropped.count == transfers
            || ended.count == transfers
    }
}
