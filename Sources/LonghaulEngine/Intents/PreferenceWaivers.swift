internal import LonghaulCore
internal import LonghaulStore

/// The facts that decide whether the preferences of one waiting transfer still count.
struct WaiverSnapshot {
    var id: TransferID
    var eligibility: EligibilityKey
    /// `nil` = it has no preferences that count.
    var waiver: PreferenceExpiry?
    var deadline: Timestamp
    /// Seconds from the moment it may begin to its deadline.
    var span: Double
    /// Bytes that remain; `nil` = unknown.
    var bytesLeft: Int64?
    /// Bytes per second of its origin.
    var rate: Double?

    func verdict(at moment: Timestamp) -> PreferenceExpiry.Verdict {
        guard let waiver else { return .waive }
        let needs = PreferenceExpiry.seconds(bytes: bytesLeft, rate: rate, span: span)
        return PreferenceExpiry.decide(
            waiveBy: waiver.by, deadline: deadline, needs: needs, now: moment)
    }
}

/// Finds out whether the preferences of waiting transfers still count. ``PreferenceExpiry``
/// decides.
struct PreferenceWaivers {
    let origins: Origins
    let now: Timestamp

    /// Waives due preferences. If some are waived, those due soon are waived, too: work at an
    /// unfavourable moment is done together, instead of keeping the machine awake all day.
    ///
    /// `true` = more may be due.
    func apply(_ tx: borrowing EngineTransaction, limit: Int) throws -> Bool {
        let due = try tx.timers.dueWaivers(now, limit: limit)
        var isAnyWaived = false
        for transfer in try load(due, tx) {
            switch transfer.verdict(at: now) {
            case .waive:
                try tx.timers.waivePreferences(of: transfer.id, in: transfer.eligibility)
                isAnyWaived = true
            case .look(let next): try tx.timers.setWaiverCheck(of: transfer.id, at: next)
            }
        }
        if isAnyWaived {
            let soon = now + PreferenceExpiry.batchSeconds
            for transfer in try load(tx.timers.dueWaivers(soon, limit: limit), tx)
            where transfer.verdict(at: soon) == .waive {
                try tx.timers.waivePreferences(of: transfer.id, in: transfer.eligibility)
            }
        }
        return due.count == limit
    }

    private func load(
        _ ids: [TransferID], _ tx: borrowing EngineTransaction
    ) throws -> [WaiverSnapshot] {
        var loaded: [WaiverSnapshot] = []
        for id in ids {
            guard let work = try tx.transfers.work(id) else { continue }
            var bytes = work.request.expectedBytes
            if let id = work.fetchID, let state = try tx.fetches.state(of: id) {
                bytes = (state.bytesTotal ?? bytes).map { $0 - state.durable.count }
            }
            let memory = try origins.memory(of: work.origin) ?? tx.origins.memory(of: work.origin)
            loaded.append(
                WaiverSnapshot(
                    id: id, eligibility: work.eligibility, waiver: work.waiver,
                    deadline: work.deadline, span: work.deadline - work.waitingSince,
                    bytesLeft: bytes, rate: memory.bytesPerSecond))
        }
        return loaded
    }
}
