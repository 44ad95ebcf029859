internal import LonghaulCore
internal import LonghaulStore

/// A round is one transaction. It loads its input and writes its decisions; memory changes and
/// effects are performed only after it.
extension Engine {
    /// The tasks of a round besides writing pending changes.
    private struct CommitScope {
        var appliesIntents: Bool
        var plans: Bool
    }

    /// Commits pending changes, applies intents, and starts transfers. Returns whether another
    /// round may be needed.
    func commit(now: Moment) throws(LonghaulError) -> Bool {
        let pending = pending
        // Changes by clients may let something start: both are in one transaction.
        if intents.isDue { schedule.needsPlan = true }
        let scope = CommitScope(
            appliesIntents: intents.isDue,
            plans: mustPlan(now: now) && !schedule.scope.startsNothing)
        if pending.writes.isEmpty, !scope.appliesIntents, !scope.plans, !schedule.mustPublish {
            self.pending = PendingCommit()
            effects.perform(pending, fetches)
            return false
        }
        let facts = intentFacts(now: now)
        if scope.appliesIntents { endCoolDowns(facts) }
        if scope.plans { origins.evictUnused { fetches.originNames } }
        var changes = TurnChanges()
        var plan: TurnPlan?
        var due = schedule.due
        let durability: Durability =
            pending.durable || scope.appliesIntents ? .durable : .relaxed
        let moved = counters.moved(withActive: fetches.bytesReceived, sent: fetches.bytesSent)
        let isCommitted = try writer.commit(durability, journal, now: now) { tx in
            let applier = WriteApplier(now: now)
            for write in pending.writes { try applier.apply(write, tx, &changes) }
            if scope.appliesIntents { try applyIntents(facts, tx, &changes, now: now) }
            if schedule.mustPublish { try tx.publish(schedule.view(machine, now: now)) }
            if scope.plans { plan = try planAndStart(tx, &changes, now: now) }
            if tx.hasAwaitedEnd { changes.hasNewIntents = true }
            due = try due.load(tx, after: plan, schedule.triggers, now: now.wall)
            try tx.add(TurnTotals(pending.writes, changes, moved.since(counters.recorded)).amounts)
        }
        guard isCommitted else { return false }
        counters.recorded.raise(to: moved)
        assert(plan.map { $0.starts.count >= changes.starts.started.count } ?? true)
        self.pending = PendingCommit()
        schedule.mustPublish = false
        schedule.committed(plan, due)
        if let cooling = plan?.cooling { origins.setCooling(cooling) }
        record(pending, changes, scope, now: now)
        effects.perform(pending, fetches)
        follow(changes, stopping: plan?.stops ?? [], now: now)
        return true
    }

    // MARK: - In the transaction

    private func applyIntents(
        _ facts: IntentApplier.Facts, _ tx: borrowing EngineTransaction,
        _ changes: inout TurnChanges, now: Moment
    ) throws {
        let applier = IntentApplier(sharing: sharing(now: now), origins: origins, facts: facts)
        try applier.apply(tx, &changes)
    }

    /// Plans, and writes the starts. What stops leaves the wire after the commit.
    private func planAndStart(
        _ tx: borrowing EngineTransaction, _ changes: inout TurnChanges, now: Moment
    ) throws -> TurnPlan {
        let loader = QueueLoader(
            schedule: schedule, fetches: fetches, origins: origins, prefetch: prefetch,
            machine: machine, now: now)
        let plan = TurnPlan.decide(
            try loader.load(tx), schedule.policy, in: machine.snapshot(now: now),
            box: schedule.timeBox(now: now), partFiles: loader.partFiles, now: now.wall)
        let starter = FetchStarter(sharing: sharing(now: now), origins: origins)
        for start in plan.starts {
            guard let started = try starter.start(start.id, session: start.session, tx, &changes)
            else { continue }
            started.isOverdue = start.isOverdue
            try tx.fetches.mark(&started.state, prefetched: start.isPrefetched)
            try origins.load(started.work.request.options.mirrors) { try tx.origins.memory(of: $0) }
            changes.starts.started.append(started)
        }
        return plan
    }

    private func sharing(now: Moment) -> FetchSharing {
        FetchSharing(fetches: fetches, index: index, files: effects.files, now: now)
    }

    private func intentFacts(now: Moment) -> IntentApplier.Facts {
        var facts = IntentApplier.Facts()
        facts.clockMark = clock.mark(now)
        facts.clockWentBack = clock.wentBack
        facts.isFirst = intents.rounds == 0 && !schedule.scope.startsNothing
        if schedule.triggers.isNetworkNew {
            facts.networkBackAt = machine.snapshot(now: now).networkSettlesAt ?? now.wall
        }
        facts.admitsNewcomers = !schedule.isLeaving && !schedule.scope.startsNothing
        return facts
    }

    /// Repeats the transaction's changes in memory. Done again if the commit fails.
    private func endCoolDowns(_ facts: IntentApplier.Facts) {
        if facts.clockWentBack || facts.isFirst { origins.forgetCooling() }
        if let moment = facts.networkBackAt { origins.endCoolDowns(at: moment) }
    }

    // MARK: - After the commit

    private func record(
        _ pending: PendingCommit, _ changes: TurnChanges, _ scope: CommitScope, now: Moment
    ) {
        let writes = pending.writes.settled(unanswerable: changes.unanswerable)
        counters.count(writes)
        let refused = changes.failed + changes.starts.refused
        counters.count(failed: refused.count)
        if writes.findDiskFull { fetches.foundDiskFull(at: now.monotonic) }
        journal?.record(writes)
        #if Tracing
        AttemptSpans.record(writes)
        #endif
        for (id, error) in changes.starts.refused { journal?.refused(id, error) }
        if let onFailure {
            for case .failed(let id, let error, _) in writes { onFailure(.transfer(id, error)) }
            for (id, error) in refused { onFailure(.transfer(id, error)) }
        }
        if pending.durable || scope.appliesIntents { launches.markStale() }
        if scope.appliesIntents || writes.abandonUploads { effects.aborts.markStale() }
        if scope.appliesIntents {
            intents.applied(changes)
            clock.committed()
            schedule.triggers.isNetworkNew = false
        }
        intents.isDue = changes.isIncomplete || changes.hasNewIntents
        if scope.plans {
            schedule.needsPlan = changes.starts.arePlacesLeft
            origins.clearFreed()
        }
    }

    /// Applies the changes in memory, in the order of their decisions.
    ///
    /// - Parameter stops: Transfers whose conditions no longer hold, or whose turn is over. Fetches
    ///   that they lead leave the wire, and their bytes are kept.
    private func follow(
        _ changes: TurnChanges, stopping stops: Set<TransferID>, now: Moment
    ) {
        let stopped = fetches.all.filter { stops.contains($0.subscribers.leader.id) }
        if origins.hasten(changes.hastened, now: now) { schedule.needsPlan = true }
        effects.delete(changes.deletions)
        for started in changes.starts.started + changes.starts.given {
            install(started, now: now)
        }
        replaceSubscribers(changes.subscriberLists, now: now)
        // A transfer that has joined in this commit goes back to the queue with the others.
        for fetch in stopped.map(\.id).sorted() { feed(.leave(.requeue), to: fetch, now: now) }
        for (fetch, earliest) in changes.earliest { fetches[fetch]?.setEarliestBegin(earliest) }
        for (fetch, departure) in changes.departures {
            feed(.leave(departure), to: fetch, now: now)
        }
    }

    private func install(_ started: StartedFetch, now: Moment) {
        let work = started.work
        var target = FetchTarget(started)
        target.leftSince = fetches.unrecordedSince.removeValue(forKey: work.id)
        let machine = FetchMachine(target, started.state, firstSerial: fetches.takeSerials())
        machine.frame.serve(started.subscribers)
        let sources = origins.sources(of: work)
        journal?.starts(
            work.id, url: work.request.url, holding: started.state.durable.count,
            of: started.state.bytesTotal)
        let step = machine.begin(
            elsewhereThan: sources.resting(at: now.wall),
            spaceIsShort: fetches.isSpaceShort(at: now.monotonic))
        let entry = ActiveFetch(
            machine: machine, status: step.status, sources: sources,
            subscribers: started.subscribers,
            start: ActiveFetch.Start(
                session: started.session, identityKey: work.identityKey, at: now.monotonic,
                overdueSince: started.isOverdue ? now.wall : nil,
                receivedBefore: started.state.bytesFetched,
                credentials: Credentials(of: work.request)))
        fetches.insert(entry)
        recount(entry, after: step)
        index.add(entry.id, work.identityKey)
        let gate = started.subscribers.gate(in: self.machine.snapshot(now: now), now: now.wall)
        schedule.triggers.addRunning(gate)
        pending.append(step, of: entry.id)
    }

    private func replaceSubscribers(_ lists: [FetchID: Subscribers], now: Moment) {
        for fetch in lists.keys.sorted() {
            guard let subscribers = lists[fetch], let entry = fetches[fetch] else { continue }
            let before = entry.machine.frame.target.request
            entry.subscribers = subscribers
            entry.machine.frame.serve(subscribers)
            // The conditions that let it run from now on are not watched yet.
            if !subscribers.interest.isWithin(machine.watching) { schedule.needsPlan = true }
            let gate = subscribers.gate(
                in: machine.snapshot(now: now), now: now.wall, isRunning: true)
            schedule.triggers.addRunning(gate)
            if !gate.isOpen { schedule.needsPlan = true }
            effects.divideRate(of: entry)
            let isOther =
                !before.isOnWireLike(entry.machine.frame.target.request)
                && entry.goesOnWhenAskedAgain
            if entry.stage == .sharing {
                perform(entry.orderCopies(), of: entry, now: now)
            } else if isOther || !subscribers.isTimely(now: now.wall) {
                // The fetch leaves the wire, and starts again at its time. If that might cost
                // bytes, the next request is made in the new way.
                feed(.leave(.requeue), to: fetch, now: now)
            } else if entry.machine.frame.target.readFrom != nil {
                // A reader that has come now waits for other bytes.
                feed(.tick, to: fetch, now: now)
            }
        }
    }
}

extension TransferRequest {
    /// Tells whether requests that are out would be made in the same way. Their rate follows by
    /// itself.
    fileprivate func isOnWireLike(_ other: TransferRequest) -> Bool {
        isDiscretionary == other.isDiscretionary && yields == other.yields
            && options.stallTimeout == other.options.stallTimeout
            && options.keepsResponse == other.options.keepsResponse
    }

    private var yields: Bool { options.yields ?? isDiscretionary }
}

/// Additions of a turn to the totals of the store.
private struct TurnTotals {
    private(set) var amounts: [LifetimeTotal: Int64] = [:]

    init(_ writes: [StoreWrite], _ changes: TurnChanges, _ moved: MovedBytes) {
        amounts[.received] = moved.received
        amounts[.sent] = moved.sent
        for write in writes.settled(unanswerable: changes.unanswerable) {
            switch write {
            case .attempt: amounts[.attempts, default: 0] += 1
            case .restarted: amounts[.restarts, default: 0] += 1
            case .failed(_, let error, _): amounts[.failures(error.code), default: 0] += 1
            case .queued(_, _, let reasons):
                for reason in Set(reasons.map(\.reason)) {
                    amounts[.waits(reason), default: 0] += 1
                }
            case .completed, .skipped, .lastError, .save, .needsInput, .cancelled, .abandonUpload,
                .dropFetch, .give, .leave, .discard, .orphan, .forget, .learn, .originFailed,
                .originWorked, .saveOrigin:
                break
            }
        }
        for (_, error) in changes.failed + changes.starts.refused {
            amounts[.failures(error.code), default: 0] += 1
        }
    }
}
