internal import LonghaulCore
internal import LonghaulStore

/// Rows of each kind that one transaction reads to apply intents.
private let intentsPerTransaction = Limits.newcomersPerTransaction
/// Waiting transfers whose pauses may end early at once; transfers that are due come first.
private let pausesEndedAtOnce = 10_000

/// Applies clients' intents to the rows of transfers. Writes through the transaction; consequences
/// in memory are in ``TurnChanges``.
struct IntentApplier {
    let sharing: FetchSharing
    let origins: Origins
    let facts: Facts

    /// Facts about the time since intents were last applied.
    struct Facts {
        /// The clock was set.
        var clockMark: ClockMark?
        /// The clock was set back: pauses that it has made longer are resumed.
        var clockWentBack = false
        /// The engine's first transaction: since the last engine ended the clock may have been set
        /// back, room may have been made, or a disk mounted.
        var isFirst = false
        /// Another network ends back-offs at this moment.
        var networkBackAt: Timestamp?
        /// Transfers may join fetches.
        var admitsNewcomers = true
    }

    private var fetches: ActiveFetches { sharing.fetches }
    private var now: Moment { sharing.now }

    func apply(_ tx: borrowing EngineTransaction, _ changes: inout TurnChanges) throws {
        // Before any deadline is read.
        if let mark = facts.clockMark { try tx.follow(mark, now: now.wall) }
        // Before any origin is read.
        try endPauses(tx)
        // Admitted before any transfer leaves: a newcomer may continue with the bytes of one that
        // leaves.
        if facts.admitsNewcomers { try sharing.admitNewcomers(tx, &changes) }
        let ids = try tx.inbox.removeFirst(limit: intentsPerTransaction)
        if ids.count == intentsPerTransaction { changes.isIncomplete = true }
        for id in ids {
            guard try !postpone(id, tx, &changes), let work = try tx.transfers.work(id)
            else { continue }
            let entry = activeFetch(of: work)
            let decision = IntentDecision.decide(
                work, in: entry.map { sharing.sharedFetch($0, changes) })
            try write(decision, work, entry, tx, &changes)
        }
        let questions = try tx.questions.askHosts(now.wall, limit: intentsPerTransaction)
        // No further than hosts were asked: a later transfer may have to be asked about first.
        let promoted = try tx.timers.promoteDue(
            now.wall, limit: intentsPerTransaction - questions)
        let isMoreExpired = try expire(tx, &changes)
        let waivers = PreferenceWaivers(origins: origins, now: now.wall)
        let areMoreWaived = try waivers.apply(tx, limit: intentsPerTransaction)
        if areMoreWaived || questions + promoted == intentsPerTransaction || isMoreExpired {
            changes.isIncomplete = true
        }
        changes.departing = Set(changes.departures.filter { !$0.1.goesBack }.map(\.0))
    }

    /// Pauses whose reason has gone, or whose clock.
    private func endPauses(_ tx: borrowing EngineTransaction) throws {
        if facts.clockWentBack || facts.isFirst {
            let limit = facts.clockWentBack ? nil : pausesEndedAtOnce
            try tx.timers.resumePauses(now: now.wall, limit: limit)
        }
        if facts.isFirst {
            try tx.timers.endWaits(for: .storage, at: now.wall, limit: pausesEndedAtOnce)
        }
        if let moment = facts.networkBackAt {
            try tx.timers.endWaits(for: .backoff, at: moment, limit: pausesEndedAtOnce)
            try tx.origins.endCoolDowns(at: moment)
        }
    }

    /// Transfers whose deadline has passed. `true` = there may be more.
    private func expire(
        _ tx: borrowing EngineTransaction, _ changes: inout TurnChanges
    ) throws -> Bool {
        // Active ones that are still leaving are found again, and must not hide others.
        let limit = intentsPerTransaction + fetches.count
        let expired = try tx.timers.expired(now.wall, limit: limit)
        for id in expired {
            guard try !postpone(id, tx, &changes), let work = try tx.transfers.work(id)
            else { continue }
            let entry = activeFetch(of: work)
            let decision = IntentDecision.decideExpired(
                work, in: entry.map { sharing.sharedFetch($0, changes) })
            try write(decision, work, entry, tx, &changes)
        }
        return expired.count == limit
    }

    /// The intent of a transfer whose copy is recorded in this commit waits until the copy is a
    /// separate fetch. `false` = there is no such copy.
    private func postpone(
        _ id: TransferID, _ tx: borrowing EngineTransaction, _ changes: inout TurnChanges
    ) throws -> Bool {
        guard changes.starts.given.contains(where: { $0.work.id == id }) else { return false }
        try tx.inbox.add(id)
        changes.isIncomplete = true
        return true
    }

    private func activeFetch(of work: TransferWork) -> ActiveFetch? {
        work.fetchID.flatMap { fetches[$0] }
    }

    private func write(
        _ decision: IntentDecision, _ work: TransferWork, _ entry: ActiveFetch?,
        _ tx: borrowing EngineTransaction, _ changes: inout TurnChanges
    ) throws {
        switch decision {
        case .nothing: break
        case .queue(let hastens):
            try queue(work, tx)
            try settleDependencies(of: work, tx, &changes)
            if hastens { try hasten(work, tx, &changes) }
        case .cancel(let dropsBytes):
            try tx.transfers.cancel(work.id, numbers: work.currentNumbers(tx), now: now.wall)
            if dropsBytes { try releaseFetch(of: work, tx, &changes) }
        case .fail:
            let numbers = try work.currentNumbers(tx)
            let error = LonghaulError.deadlinePassed(
                work.id, after: work.error, bytesKept: numbers.bytesDone)
            try tx.transfers.fail(work.id, error: error, numbers: numbers, now: now.wall)
            changes.failed.append((work.id, error))
        case .rearm(let isSuperseded):
            _ = try tx.transfers.rearm(work.id, now: now.wall)
            try settleDependencies(of: work, tx, &changes)
            if isSuperseded {
                changes.isIncomplete = true
            } else if !work.eligibility.waitsForTransfers {
                try hasten(work, tx, &changes)
            }
        case .dropBytes: try releaseFetch(of: work, tx, &changes)
        case .adopt:
            guard let entry else { break }
            changes.subscriberLists[entry.id] = Subscribers(leader: Subscriber(work))
        case .leave(let departure):
            guard let entry else { break }
            if departure != .expire { changes.earliest[entry.id] = work.request.earliestBegin }
            changes.departures.append((entry.id, departure))
        case .share(let change):
            guard let entry else { break }
            try sharing.write(change, work, entry, tx, &changes)
        }
    }

    private func queue(_ work: TransferWork, _ tx: borrowing EngineTransaction) throws {
        guard let question = work.waitingFor.first(where: { $0.reason == .input }),
            let pause = try tx.questions.pause(after: work.id, now: now.wall)
        else { return try tx.transfers.setQueued(work.id, now: now.wall) }
        let next = now.wall + pause
        let wait = WaitReason(
            .backoff, required: RFC3339.format(next), current: question.current, since: now.wall,
            nextCheck: next)
        try tx.transfers.setQueued(work.id, readyAt: next, waitingFor: [wait], now: now.wall)
    }

    /// Lets a queued transfer begin whose transfers have ended, or fails it with one of them.
    private func settleDependencies(
        of work: TransferWork, _ tx: borrowing EngineTransaction, _ changes: inout TurnChanges
    ) throws {
        guard work.eligibility.waitsForTransfers,
            let missed = try tx.dependencies.settle(work.id, now: now.wall)
        else { return }
        let numbers = try work.currentNumbers(tx)
        var error = LonghaulError.missed(missed).about(work.id)
        error.bytesKept = numbers.bytesDone
        try tx.transfers.fail(work.id, error: error, numbers: numbers, now: now.wall)
        changes.failed.append((work.id, error))
    }

    /// The bytes go to an equal transfer, or are deleted.
    private func releaseFetch(
        of work: TransferWork, _ tx: borrowing EngineTransaction, _ changes: inout TurnChanges
    ) throws {
        changes.deletions += try tx.snapshots.abandon(of: work.id)
        guard let id = work.fetchID else { return }
        if try sharing.passOn(id, of: work, tx) { return }
        changes.deletions += try tx.fetches.drop(of: work.id, now: now.wall)
    }

    /// A client wants this transfer to resume now: its server is asked despite earlier failures and
    /// requested pauses. Credentials that it has refused may be valid again.
    private func hasten(
        _ work: TransferWork, _ tx: borrowing EngineTransaction, _ changes: inout TurnChanges
    ) throws {
        if changes.hastened.contains(work.origin) { return }
        let site = origins.site(work.origin)
        site.memory = try site.memory ?? tx.origins.memory(of: work.origin)
        let isAnyReady = try tx.timers.endWaitsForCredentials(
            at: work.origin, now: now.wall)
        if case .cooling = site.known.health(at: now.wall) {
            var memory = site.known
            memory.endPause(at: now.wall)
            try tx.origins.save(memory)
        } else if site.refused.isEmpty, !isAnyReady {
            return
        }
        changes.hastened.insert(work.origin)
    }
}
