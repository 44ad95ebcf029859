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

    private var fetches: ActiveFetches { sharing.fetches }
    private var now: Moment { sharing.now }

    func apply(_ tx: borrowing EngineTransaction, _ changes: inout TurnChanges) throws {
        // Before any deadline is read.
        if let mark = facts.clockMark { try tx.follow(mark, now: now.wall) }
        // Before any origin is read.
        try endPauses(tx)
        // Before any transfer leaves: a newcomer may go on with what another gives up.
        if facts.admitsNewcomers { try sharing.admitNewcomers(tx, &changes) }
<<<<<<< HEAD
        let ids = try tx.takeAttention(limit: Limits.intentsPerTransaction)
        if ids.count == Limits.intentsPerTransaction { changes.isIncomplete = true }
        for id in ids {
            guard try !postpone(id, tx, &changes), let work = try tx.work(id)
=======
        let ids = try tx.inbox.removeFirst(limit: IntentApplier.batch)
        if ids.count == IntentApplier.batch { changes.isIncomplete = true }
        for id in ids {
            guard try !changes.postpone(id, ifGivenIn: tx), let work = try tx.transfers.work(id)
>>>>>>> 80a519c080adf62fec69d8a650134c61a505b22c
            else { continue }
            let entry = activeFetch(of: work)
            let decision = IntentDecision.decide(
                work, in: entry.map { sharing.served($0, changes) })
            try write(decision, work, entry, tx, &changes)
        }
<<<<<<< HEAD
        let asked = try tx.askHosts(now.wall, limit: Limits.intentsPerTransaction)
        // No further than hosts were asked: a later transfer may have to be asked about first.
        let promoted = try tx.promoteDue(now.wall, limit: Limits.intentsPerTransaction - asked)
=======
        let asked = try tx.questions.askHosts(now.wall, limit: IntentApplier.batch)
        // No further than hosts were asked: a later transfer may have to be asked about first.
        let promoted = try tx.timers.promoteDue(now.wall, limit: IntentApplier.batch - asked)
>>>>>>> 80a519c080adf62fec69d8a650134c61a505b22c
        let isMoreExpired = try expire(tx, &changes)
        let waivers = PreferenceWaivers(origins: origins, now: now.wall)
        let areMoreWaived = try waivers.apply(tx, limit: Limits.intentsPerTransaction)
        if areMoreWaived || asked + promoted == Limits.intentsPerTransaction || isMoreExpired {
            changes.isIncomplete = true
        }
        changes.departing = Set(changes.departures.filter { !$0.1.goesBack }.map(\.0))
    }

    /// Pauses whose reason has gone, or whose clock.
    private func endPauses(_ tx: borrowing EngineTransaction) throws {
        if facts.clockWentBack || facts.isFirst {
<<<<<<< HEAD
            let limit = facts.clockWentBack ? nil : Limits.pausesEndedAtOnce
            try tx.resumePauses(now: now.wall, limit: limit)
        }
        if facts.isFirst {
            try tx.endWaits(for: .storage, at: now.wall, limit: Limits.pausesEndedAtOnce)
        }
        if let moment = facts.networkBackAt {
            try tx.endWaits(for: .backoff, at: moment, limit: Limits.pausesEndedAtOnce)
            try tx.endCoolDowns(at: moment)
=======
            let limit = facts.clockWentBack ? nil : IntentApplier.pausesMax
            try tx.timers.resumePauses(now: now.wall, limit: limit)
        }
        if facts.isFirst {
            try tx.timers.endWaits(for: .storage, at: now.wall, limit: IntentApplier.pausesMax)
        }
        if let moment = facts.networkBackAt {
            try tx.timers.endWaits(for: .backoff, at: moment, limit: IntentApplier.pausesMax)
            try tx.origins.endCoolDowns(at: moment)
>>>>>>> 80a519c080adf62fec69d8a650134c61a505b22c
        }
    }

    /// Transfers whose deadline has passed. `true` = there may be more.
    private func expire(
        _ tx: borrowing EngineTransaction, _ changes: inout TurnChanges
    ) throws -> Bool {
        // Active ones that are still leaving are found again, and must not hide others.
<<<<<<< HEAD
        let limit = Limits.intentsPerTransaction + fetches.count
        let expired = try tx.expired(now.wall, limit: limit)
        for id in expired {
            guard try !postpone(id, tx, &changes), let work = try tx.work(id)
            else { continue }
            let entry = activeFetch(of: work)
            let decision = IntentDecision.decideExpired(
                work, in: entry.map { sharing.served($0, changes) })
            try write(decision, work, entry, tx, &changes)
=======
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
>>>>>>> 80a519c080adf62fec69d8a650134c61a505b22c
        }
        return expired.count == limit
    }

<<<<<<< HEAD
    /// A transfer whose copy is recorded in this commit: its intent is applied once the copy is a
    /// fetch of its own. `false` = it is none.
    private func postpone(
        _ id: TransferID, _ tx: borrowing EngineTransaction, _ changes: inout TurnChanges
    ) throws -> Bool {
        guard changes.starts.given.contains(where: { $0.work.id == id }) else { return false }
        try tx.addAttention(id)
        changes.isIncomplete = true
        return true
=======
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
>>>>>>> 80a519c080adf62fec69d8a650134c61a505b22c
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
            try tx.setQueued(work.id, now: now.wall)
            if hastens { try hasten(work, tx, &changes) }
        case .cancel(let dropsBytes):
            try tx.cancel(work.id, numbers: work.currentNumbers(tx), now: now.wall)
            if dropsBytes { try releaseFetch(of: work, tx, &changes) }
        case .fail:
            let numbers = try work.currentNumbers(tx)
            let error = FetchMachine.expired(work.id, bytesKept: numbers.bytesDone)
            try tx.fail(work.id, error: error, numbers: numbers, now: now.wall)
            changes.failed += 1
        case .rearm(let isSuperseded):
            _ = try tx.rearm(work.id, now: now.wall)
            if isSuperseded { changes.isIncomplete = true }
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
<<<<<<< HEAD
        var memory = site.known
        memory.endCoolDown(at: now.wall)
        try tx.save(memory)
        changes.hastened.insert(work.origin)
=======
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
>>>>>>> 80a519c080adf62fec69d8a650134c61a505b22c
    }
}
