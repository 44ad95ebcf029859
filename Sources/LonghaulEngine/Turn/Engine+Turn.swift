package import LonghaulCore

/// Transactions of one turn. Each round needs a cause; the bound is for a cause that would feed
/// itself.
private let roundsPerTurn = 8

extension Engine {
    /// Runs a turn: fold the inputs into the machines, commit, perform. Throws only when the engine
    /// must end: the lease is lost, or the store is gone.
    package func turn(_ inputs: [EngineInput], now: Moment) throws(LonghaulError) -> TurnOutcome {
        followClock(now: now)
        for input in inputs { fold(input, now: now) }
        tickMachines(now: now)
        checkTriggers(now: now)
        let surplus = prefetch.surplus(of: fetches, origins, schedule.limits, now: now)
        if !surplus.isEmpty { effects.wire.withdraw(surplus) }
        if let due = schedule.due.wake, due <= now.wall { intents.isDue = true }
        // Decisions of a commit feed machines again, whose writes are committed next. Each round
        // needs a cause; the bound is for a cause that would feed itself.
        for _ in 0..<roundsPerTurn {
            effects.sendBatches()
            let mustCommit = !pending.isEmpty || intents.isDue || mustPlan(now: now)
            guard mustCommit, writer.isReady(at: now.monotonic) else { break }
            guard try commit(now: now) else { break }
        }
        if !schedule.scope.startsNothing {
            effects.abortUploads(
                writer, isLeaving: schedule.isLeaving, now: now, takeSerials: fetches.takeSerials)
            try effects.forgetOld(writer, now: now)
        }
        try runLaunches(now: now)
        return outcome(now: now)
    }

    private func fold(_ input: EngineInput, now: Moment) {
        switch input {
        case .wake:
            intents.isDue = true
            launches.markStale()
        case .host(let report): launches.add(report)
        case .machine(let facts): launches.replace(facts)
        case .conditions(let new): setConditions(new, now: now)
        case .fetch(let fetch, let event): feed(event, to: fetch, now: now)
        case .gone(let part): pending.writes.append(.forget(part))
        case .wire(.head(let key, let head, _)):
            if effects.aborts.recordHead(head, of: key) { return }
            feed(.head(key, head), to: key.fetch, now: now)
        case .wire(.interim(let key, let head)):
            feed(.interim(key, head), to: key.fetch, now: now)
        case .wire(.progress(let key)): feed(.progress, to: key.fetch, now: now)
        case .wire(.ended(let key, let end)):
            if effects.aborts.recordEnd(end, of: key) { return }
            feed(.ended(key, end), to: key.fetch, now: now)
        }
    }

    /// Feeds one machine; its writes and effects wait for the turn's commit.
    func feed(_ event: FetchEvent, to fetch: FetchID, now: Moment) {
        index.settle(event, of: fetch)
        effects.batches.settle(event, of: fetch)
        guard let entry = fetches[fetch] else {
            if let order = ActiveFetch.orderForLateCopy(event) { pending.orders.append(order) }
            return
        }
        perform(entry.settleCopy(event, now: now.wall), of: entry, now: now)
        entry.readBoard(effects.files, now: now)
        let before = (
            holdsPlace: entry.holdsPlace, isLetFinish: entry.isLetFinish,
            connections: entry.connections
        )
        var step = entry.machine.handle(event, in: context(entry, now: now))
        let isRefused = entry.judge(step, event, in: origins)
        if entry.isShared { FanOut.extend(&step, to: entry.subscribers) }
        origins.fold(&step, using: &random, now: now)
        if case .head(_, let head) = event { origins.pace(entry.site, by: head, &step, now: now) }
        recount(entry, after: step)
        // The fetch has freed its place on the wire.
        if before.holdsPlace, !entry.holdsPlace {
            origins.markFreed(entry.site)
            if step.status.isWhole { entry.site.pace.noteEnd(at: now.monotonic) }
        }
        // The conditions may have gone while they did not matter.
        if before.isLetFinish, !entry.isLetFinish { schedule.needsPlan = true }
        // Transfers that wait for the origin's limit need not wait for the fetch's last connection.
        if entry.connections < before.connections { origins.markFreed(entry.site) }
        pending.append(step, of: fetch)
        // Another attempt may open it before it would be deleted.
        if case .prepareFailed = event, entry.status.isBeingCancelled {
            deleteUnopened(step, entry)
        }
        if entry.stage == .left { remove(fetch, now: now.monotonic) }
        if entry.stage == .sharing { perform(entry.orderCopies(), of: entry, now: now) }
        if !isRefused { return }
        for id in fetches.unanswered(like: entry) { feed(.leave(.requeue), to: id, now: now) }
    }

    func perform(_ step: CopyStep, of entry: ActiveFetch, now: Moment) {
        index.countOrdered(step.ordered)
        pending.append(step)
        if step.hasParted { intents.isDue = true }
        if let event = step.event { feed(event, to: entry.id, now: now) }
    }

    func recount(_ entry: ActiveFetch, after step: FetchStep) {
        fetches.recount(entry, after: step)
        effects.divideRate(of: entry)
    }

    /// Cancelled while its part file could not be opened: no open file is deleted with it.
    private func deleteUnopened(_ step: FetchStep, _ entry: ActiveFetch) {
        let state = entry.machine.state
        for effect in step.effects {
            guard case .close(deletingPart: true) = effect else { continue }
            pending.orders += state.orphanedParts.map { .delete($0) }
        }
    }

    private func remove(_ fetch: FetchID, now: Instant) {
        guard let entry = fetches.remove(fetch, now: now) else { return }
        index.remove(fetch, entry.start.identityKey)
        // The cells of the fetch are freed when the file is closed, after the commit: until then
        // the next engine would need them.
        counters.countGone(entry.received, sent: entry.isUpload)
        origins.markFreed(entry.site)
    }

    private func context(_ entry: ActiveFetch, now: Moment) -> FetchContext {
        // The origin's budget without what its other fetches use.
        let others = entry.site.held.connections - entry.connections
        var context = FetchContext(
            now: now, origin: entry.sources.own.known,
            connectionsAllowed: max(1, schedule.limits.perOrigin - others), seed: random.next())
        context.mirrors = entry.sources.mirrors.mapValues(\.known)
        context.isHeldBack = entry.mayBeLeftForItsRate && fetches.areHeldBack
        return context
    }

    private func tickMachines(now: Moment) {
        for fetch in fetches.dueForTick(at: now.monotonic) where fetches[fetch] != nil {
            feed(.tick, to: fetch, now: now)
        }
        fetches.findSoonestTick(at: now.monotonic)
    }

    /// Tells whether to plan now. Fetches that were made ready ahead delay the next plan; changes
    /// of the queue or the conditions do not wait.
    func mustPlan(now: Moment) -> Bool {
        if schedule.isLeaving { return false }
        return schedule.needsPlan
            || prefetch.wantsPlan(origins, active: fetches.count, schedule.limits, now: now)
    }

    // MARK: - Clock and conditions

    /// Preserves durations when the clock is set: of active fetches before any decision by the
    /// clock, of the others with the next commit.
    private func followClock(now: Moment) {
        guard let jump = clock.jump(now) else { return }
        intents.isDue = true
        fetches.follow(jump, now: now)
    }

    /// Checks whether the clock or the conditions may have made a new plan necessary.
    private func checkTriggers(now: Moment) {
        if schedule.triggers.havePassed(at: now.wall) { schedule.needsPlan = true }
        // A clock that was set back may be before a window again.
        if clock.advance(to: now) {
            intents.isDue = true
            schedule.needsPlan = true
            origins.resumePauses(at: now.wall)
        }
    }

    private func runLaunches(now: Moment) throws(LonghaulError) {
        if schedule.scope.startsNothing { return }
        launches.follow(hasTransfers: !fetches.all.isEmpty)
        let outcome = try launches.run(
            machine.snapshot(now: now), isPending: intents.isDue, isLeaving: schedule.isLeaving,
            now: now)
        if outcome.mayHaveIntents { intents.isDue = true }
    }
}
