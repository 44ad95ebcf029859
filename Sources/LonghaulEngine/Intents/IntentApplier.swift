internal import LonghaulCore
internal import LonghaulStore

/// Applies what clients want to the rows of transfers. Writes through the transaction; what follows
/// in memory is in ``TurnChanges``.
struct IntentApplier {
    let sharing: FetchSharing
    let origins: Origins
    let facts: Facts

    /// What has happened since intents were last applied.
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

    /// Rows of each kind that one transaction reads.
    static let batch = FetchSharing.newcomersMax
    /// Waiting transfers, those that are due first, whose pauses may end early at once.
    static let pausesMax = 10_000

    private var fetches: ActiveFetches { sharing.fetches }
    private var now: Moment { sharing.now }

    func apply(_ tx: borrowing EngineTransaction, _ changes: inout TurnChanges) throws {
        // Before any deadline is read.
        if let mark = facts.clockMark { try tx.follow(mark, now: now.wall) }
        // Before any origin is read.
        try endPauses(tx)
        // Before any transfer leaves: a newcomer may go on with what another gives up.
        if facts.admitsNewcomers { try sharing.admitNewcomers(tx, &changes) }
        let ids = try tx.inbox.removeFirst(limit: IntentApplier.batch)
        if ids.count == IntentApplier.batch { changes.isIncomplete = true }
        for id in ids {
            guard try !changes.postpone(id, ifGivenIn: tx), let work = try tx.transfers.work(id)
            else { continue }
            try applyIntent(of: work, tx, &changes)
        }
        let asked = try tx.questions.askHosts(now.wall, limit: IntentApplier.batch)
        // No further than hosts were asked: a later transfer may have to be asked about first.
        let promoted = try tx.timers.promoteDue(now.wall, limit: IntentApplier.batch - asked)
        let isMoreExpired = try expire(tx, &changes)
        let waivers = PreferenceWaivers(origins: origins, now: now.wall)
        let areMoreWaived = try waivers.apply(tx, limit: IntentApplier.batch)
        if areMoreWaived || asked + promoted == IntentApplier.batch || isMoreExpired {
            changes.isIncomplete = true
        }
        changes.departing = Set(changes.departures.filter { !$0.1.goesBack }.map(\.0))
    }

    /// Pauses whose reason has gone, or whose clock.
    private func endPauses(_ tx: borrowing EngineTransaction) throws {
        if facts.clockWentBack || facts.isFirst {
            let limit = facts.clockWentBack ? nil : IntentApplier.pausesMax
            try tx.timers.resumePauses(now: now.wall, limit: limit)
        }
        if facts.isFirst {
            try tx.timers.endWaits(for: .storage, at: now.wall, limit: IntentApplier.pausesMax)
        }
        if let moment = facts.networkBackAt {
            try tx.timers.endWaits(for: .backoff, at: moment, limit: IntentApplier.pausesMax)
            try tx.origins.endCoolDowns(at: moment)
        }
    }

    /// Transfers whose deadline has passed. `true` = there may be more.
    private func expire(
        _ tx: borrowing EngineTransaction, _ changes: inout TurnChanges
    ) throws -> Bool {
        // Active ones that are still leaving are found again, and must not hide others.
        let limit = IntentApplier.batch + fetches.count
        let expired = try tx.timers.expired(now.wall, limit: limit)
        for id in expired {
            guard try !changes.postpone(id, ifGivenIn: tx), let work = try tx.transfers.work(id)
            else { continue }
            if let fetch = work.fetchID, let entry = fetches[fetch] {
                if try !sharing.remove(work, from: entry, .expire, tx, &changes) {
                    changes.departures.append((fetch, .expire))
                }
            } else {
                let totals = try work.currentNumbers(tx)
                var error = FetchMachine.expired
                error.transferID = id
                error.bytesKept = totals.bytesDone
                try tx.transfers.fail(id, error: error, numbers: totals, now: now.wall)
                changes.failed += 1
            }
        }
        return expired.count == limit
    }

    private func applyIntent(
        of work: TransferWork, _ tx: borrowing EngineTransaction, _ changes: inout TurnChanges
    ) throws {
        if let fetch = work.fetchID, let entry = fetches[fetch] {
            return try applyIntent(of: work, to: entry, tx, &changes)
        }
        switch work.phase {
        case .queued, .running:
            switch work.want {
            case .run, .pause:
                // An intent ends a back-off; an earliest moment holds.
                try tx.transfers.setQueued(work.id, now: now.wall)
                if work.want == .run { try hasten(work, tx, &changes) }
            case .cancel, .cancelKeepingBytes:
                let numbers = try work.currentNumbers(tx)
                try tx.transfers.cancel(work.id, numbers: numbers, now: now.wall)
                if work.want == .cancel { try releaseFetch(of: work, tx, &changes) }
            }
        case .failed, .cancelled:
            if work.isRearmPending {
                _ = try tx.transfers.rearm(work.id, now: now.wall)
                // Something else is wanted since: it is queued, and its intent is applied next.
                if work.want != .run { changes.isIncomplete = true }
            } else if work.want == .cancel, work.fetchID != nil {
                try releaseFetch(of: work, tx, &changes)
            }
        case .completed: break
        }
    }

    private func applyIntent(
        of work: TransferWork, to entry: ActiveFetch, _ tx: borrowing EngineTransaction,
        _ changes: inout TurnChanges
    ) throws {
        if try sharing.applyIntent(of: work, sharing: entry, tx, &changes) { return }
        let leader = entry.subscribers.leader
        // The same request with another eligibility: changed and changed back, it has its
        // preferences again.
        let isOther =
            !work.request.isExactly(leader.request) || work.eligibility != leader.eligibility
        if work.want == .run, isOther, work.request.canContinue(as: leader.request, entry.machine) {
            changes.subscriberLists[entry.id] = Subscribers(leader: Subscriber(work))
        } else if let departure = departure(for: work, entry) {
            changes.earliest[entry.id] = work.request.earliestBegin
            changes.departures.append((entry.id, departure))
        }
    }

    private func departure(for work: TransferWork, _ entry: ActiveFetch) -> FetchDeparture? {
        switch work.want {
        case .cancel: return .cancel(keepingBytes: false)
        case .cancelKeepingBytes: return .cancel(keepingBytes: true)
        // Its cancel was withdrawn in time.
        case .run where entry.machine.isBeingCancelled,
            .pause where entry.machine.isBeingCancelled:
            return .renew
        case .pause: return .requeue
        // Other settings than those it runs with: it leaves the wire and starts again.
        case .run: return work.request.isExactly(entry.subscribers.leader.request) ? nil : .renew
        }
    }

    /// Its bytes go to an equal transfer, or are deleted.
    private func releaseFetch(
        of work: TransferWork, _ tx: borrowing EngineTransaction, _ changes: inout TurnChanges
    ) throws {
        guard let id = work.fetchID else { return }
        if try sharing.passOn(id, of: work, tx) { return }
        changes.deletions += try tx.fetches.drop(of: work.id, now: now.wall)
    }

    /// A client wants this one to go on now: its server is asked, whatever failed there before.
    private func hasten(
        _ work: TransferWork, _ tx: borrowing EngineTransaction, _ changes: inout TurnChanges
    ) throws {
        let site = origins.site(work.origin)
        site.memory = try site.memory ?? tx.origins.memory(of: work.origin)
        guard case .cooling = site.known.health(at: now.wall) else { return }
        changes.hastened.append((site, site.memory))
        try tx.origins.save(origins.update(work.origin, now: now) { $0.endCoolDown(at: now.wall) })
        origins.markFreed(site)
    }
}

extension TransferRequest {
    /// Whether a fetch may adopt these settings as it goes on: they differ from `other` in nothing
    /// that decides what is asked for. Its new eligibility decides whether it may run now.
    fileprivate func canContinue(as other: TransferRequest, _ machine: FetchMachine) -> Bool {
        var old = other
        old.priority = priority
        old.deadline = deadline
        old.expectedBytes = expectedBytes
        old.isDiscretionary = isDiscretionary
        old.schedule = schedule
        old.options.retries = options.retries
        old.options.metadata = options.metadata
        old.options.limitRate = options.limitRate
        old.options.stallTimeout = options.stallTimeout
        old.options.yields = options.yields
        old.options.connections = options.connections
        old.options.ifExists = options.ifExists
        old.options.waiveAfter = options.waiveAfter
        // Requests that are out were made under the old bound, which decides where the length is
        // not known.
        if let total = machine.state.bytesTotal, total <= options.maxSize ?? .max {
            old.options.maxSize = options.maxSize
        }
        if machine.url == url { old.options.mirrors = options.mirrors }
        return isExactly(old)
    }
}
