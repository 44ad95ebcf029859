package import LonghaulModel

/// Transfers that wait for the end of others (``TransferOptions/after``). Each end puts the
/// transfers that wait for it into the inbox, in its own transaction.
package struct Dependencies {
    let connection: Connection

    /// A transfer that has ended without completing.
    package struct Missed: Hashable, Sendable {
        package var id: TransferID
        /// `nil` = the transfer was removed.
        package var state: TransferState?
    }

    /// Checks the dependencies of a queued transfer. If all have ended as required, it may begin
    /// from now on; its preferences and a relative deadline count from now, too. Returns the first
    /// missed dependency: the transfer can never begin.
    package func settle(_ id: TransferID, now: Timestamp) throws -> Missed? {
        guard let work = try WorkRecord.find(id, connection), work.phase == .queued,
            work.eligibility.waitsForTransfers
        else { return nil }
        let rows = TransferDependencies(connection)
        var isAnyOpen = false
        for other in try rows.awaited(by: id) {
            let state = try rows.state(of: other)
            if let state, !state.hasEnded {
                isAnyOpen = true
            } else if state == .completed || work.request.options.afterAny {
                try rows.crossOut(other, of: id)
            } else {
                return Missed(id: other, state: state)
            }
        }
        if !isAnyOpen { try release(work, now: now) }
        return nil
    }

    private func release(_ work: TransferWork, now: Timestamp) throws {
        let begin = max(now, work.request.earliestBegin ?? now)
        let deadline = work.request.deadline.resolved(mayBegin: begin)
        let schedule = StoredSchedule(
            work.request, usesNetwork: work.eligibility.usesNetwork, begin: begin,
            deadline: deadline, waitsForTransfers: false)
        let calendars = CalendarRows(connection)
        try connection.run(
            """
            UPDATE transfer SET schedule = ?2, eligibility = ?3, deadline = ?4, waiveAt = ?5, \
            waiveBy = ?6, readySince = ?7 WHERE id = ?1
            """, work.id, calendars.stored(schedule.requested),
            calendars.stored(schedule.eligibility),
            deadline, schedule.waiver?.checkAt, schedule.waiver?.by, begin)
    }
}

extension EngineTransaction {
    /// The transfers that wait for others.
    package var dependencies: Dependencies { Dependencies(connection: connection) }

    /// A transfer has ended in this transaction that another one waits for.
    package var hasAwaitedEnd: Bool { ends.areSomeAwaited }
}

extension LonghaulError {
    /// A transfer that it waits for did not complete.
    package static func missed(_ other: Dependencies.Missed) -> LonghaulError {
        let end =
            switch other.state {
            case .failed: "has failed"
            case .cancelled: "was cancelled"
            case .waiting, .running, .paused, .completed, nil: "was removed"
            }
        return LonghaulError(
            .cancelled,
            "transfer \(other.id), which it waits for, \(end); "
                + (other.state == nil
                    ? "`longhaul set --after` names others"
                    : "retry that one first (`longhaul retry \(other.id)`), then this one"))
    }
}
