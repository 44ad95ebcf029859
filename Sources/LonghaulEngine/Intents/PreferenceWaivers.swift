internal import LonghaulCore
internal import LonghaulStore

/// Whether the preferences of waiting transfers still count. ``PreferenceExpiry`` decides.
struct PreferenceWaivers {
    let origins: Origins
    let now: Timestamp

    /// Waives those whose time has come. Where some are waived, those that would follow soon are,
    /// too: work at a bad moment runs together, instead of keeping the machine awake all day.
    ///
    /// `true` = there may be more that are due.
    func apply(_ tx: borrowing EngineTransaction, limit: Int) throws -> Bool {
        let due = try tx.timers.dueWaivers(now, limit: limit)
        var isAnyWaived = false
        for id in due {
            guard let work = try tx.transfers.work(id) else { continue }
            switch try verdict(on: work, tx, at: now) {
            case .waive:
                try tx.timers.waivePreferences(of: id, in: work.eligibility)
                isAnyWaived = true
            case .look(let next): try tx.timers.setWaiverCheck(of: id, at: next)
            }
        }
        if isAnyWaived { try waiveSoon(tx, limit: limit) }
        return due.count == limit
    }

    private func waiveSoon(_ tx: borrowing EngineTransaction, limit: Int) throws {
        let soon = now + PreferenceExpiry.batchSeconds
        for id in try tx.timers.dueWaivers(soon, limit: limit) {
            guard let work = try tx.transfers.work(id),
                try verdict(on: work, tx, at: soon) == .waive
            else { continue }
            try tx.timers.waivePreferences(of: id, in: work.eligibility)
        }
    }

    private func verdict(
        on work: TransferWork, _ tx: borrowing EngineTransaction, at moment: Timestamp
    ) throws -> PreferenceExpiry.Verdict {
        guard let waiver = work.waiver else { return .waive }
        var bytes = work.request.expectedBytes
        if let id = work.fetchID, let state = try tx.fetches.state(of: id) {
            bytes = (state.bytesTotal ?? bytes).map { $0 - state.durable.count }
        }
        let rate = try origins.memory(of: work.origin) ?? tx.origins.memory(of: work.origin)
        let needs = PreferenceExpiry.seconds(
            bytes: bytes, rate: rate.bytesPerSecond, span: work.deadline - work.waitingSince)
        return PreferenceExpiry.decide(
            waiveBy: waiver.by, deadline: work.deadline, needs: needs, now: moment)
    }
}
