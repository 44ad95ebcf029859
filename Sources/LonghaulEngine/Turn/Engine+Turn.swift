package import LonghaulCore

/// What a turn tells the thread that runs the engine.
package struct TurnOutcome: Sendable {
    /// When to come back at the latest; `nil` = only when told something.
    package var wakeAt: Instant?
    /// Nothing is on the wire or on the disk.
    package var isQuiet: Bool
    /// Nothing could start now, however many places were free.
    package var isDrained: Bool
    /// When the next waiting transfer may start by the clock: back-off, earliest begin, cool-down,
    /// window, the end of its preferences.
    package var nextReady: Timestamp?
    /// The same, leaving out those that look for room on a disk.
    package var nextReadyBesidesStorage: Timestamp?
    /// Something waits for a condition that may come to hold at any time.
    package var waitsForConditions: Bool
    /// The conditions that decide about what runs and waits.
    package var interest: ConditionNeeds
    /// Something runs that leaves the wire when somebody uses the machine.
    package var runsWhileIdle: Bool
    /// The wire has enough to do: events may gather for a moment before the next turn.
    package var isWellAhead: Bool
    /// The next turn follows at once and writes: more is to be looked at than this one took.
    package var isBehind: Bool
    package var hosts: HostOutlook
}

extension Engine {
    /// One turn: inputs → machines → commit → effects. Throws only when the engine must end: the
    /// lease is lost, or the store is gone.
    package func turn(_ inputs: [EngineInput], now: Moment) throws(LonghaulError) -> TurnOutcome {
        followClock(now: now)
        for input in inputs { feed(input, now: now) }
        tickMachines(now: now)
        watchGates(now: now)
        withdrawSurplus(now: now)
        if let nextDue, nextDue <= now.wall { needsLook = true }
        // What wants changes feeds machines again, whose writes want committing: bounded, each
        // round needs a cause.
        for _ in 0..<Engine.roundsMax {
            gatherFinishing()
            let mustCommit = !unwritten.isEmpty || needsLook || mustPlan(now: now)
            guard mustCommit, commitRetryAt.map({ $0 <= now.monotonic }) ?? true else { break }
            guard try commit(now: now) else { break }
        }
        try keepHosts(now: now)
        return outcome(now: now)
    }

    static let roundsMax = 8

    private func feed(_ input: EngineInput, now: Moment) {
        switch input {
        case .wake:
            needsLook = true
            hosts.isStale = true
        case .host(let report): hosts.reports.append(report)
        case .conditions(let new): take(new, now: now)
        case .fetch(let fetch, let event): handle(event, of: fetch, now: now)
        case .gone(let part): unwritten.writes.append(.forget(part))
        case .wire(.head(let key, let head, _)): handle(.head(key, head), of: key.fetch, now: now)
        case .wire(.progress(let key)): handle(.progress, of: key.fetch, now: now)
        case .wire(.ended(let key, let end)): handle(.ended(key, end), of: key.fetch, now: now)
        }
    }

    /// Feeds one machine; what it wants written and done waits for the turn's commit.
    func handle(_ event: FetchEvent, of fetch: FetchID, now: Moment) {
        sharing.note(event, of: fetch)
        settleLane(event, fetch)
        guard let entry = active[fetch] else { return dropLate(event) }
        take(event, into: entry, now: now)
        note(entry, now: now)
        if case .head = event { entry.site.hasAnswered = true }
        let heldPlace = entry.holdsPlace
        let wasLetFinish = entry.isLetFinish
        let heldConnections = entry.counted.connections
        var step = entry.machine.handle(event, in: context(entry, now: now))
        spread(&step, over: entry)
        foldOrigins(&step, now: now)
        recount(entry, after: step)
        // Its place on the wire is free.
        if heldPlace, !entry.holdsPlace {
            noteRoom(at: entry.site)
            if step.isWhole { entry.site.pace.noteEnd(at: now.monotonic) }
        }
        // Its conditions may have gone while they did not matter.
        if wasLetFinish, !entry.isLetFinish { gates.isStale = true }
        // Who waits for the origin's limit need not wait for its last connection.
        if entry.counted.connections < heldConnections { noteRoom(at: entry.site) }
        unwritten.append(step, of: fetch)
        if case .prepareFailed = event { deleteUnopened(step, entry) }
        if entry.machine.stage == .left { leave(fetch) }
        if entry.machine.stage == .sharing { handOut(fetch, now: now) }
    }

    /// Cancelled while its part file could not be opened: there is nothing open to be deleted.
    private func deleteUnopened(_ step: FetchStep, _ entry: ActiveFetch) {
        let state = entry.machine.state
        for effect in step.effects {
            guard case .close(deletingPart: true) = effect else { continue }
            unwritten.orders += state.orphanedParts.map { .delete($0) }
        }
    }

    private func leave(_ fetch: FetchID) {
        guard let entry = active.removeValue(forKey: fetch) else { return }
        sharing.remove(fetch, entry.identityKey)
        // Its cells are freed when the file is closed, after the commit: until then they are what a
        // successor would go by.
        counters.bytesOfGone += max(0, entry.machine.state.bytesFetched - entry.receivedBefore)
        noteRoom(at: entry.site)
    }

    /// What stands on the board, before the machine decides anything.
    func note(_ entry: ActiveFetch, now: Moment) {
        // Nothing is received, and nothing written, without a request.
        if entry.machine.segments.isEmpty { return }
        for (key, target) in entry.targets {
            entry.machine.note(
                key, written: files.written(target), received: files.received(target),
                now: now.monotonic)
        }
        let before = entry.rate.bytesPerSecond
        entry.rate.sample(entry.machine.state.bytesFetched, at: now.monotonic)
        if entry.rate.bytesPerSecond != before {
            files.publish(rate: entry.rate.bytesPerSecond, of: entry.machine.state.id)
        }
    }

    func context(_ entry: ActiveFetch, now: Moment) -> FetchContext {
        var context = FetchContext(
            now: now, origin: entry.sources.own.known,
            connectionsAllowed: connectionsAllowed(for: entry), seed: random.next())
        context.mirrors = entry.sources.mirrors.mapValues(\.known)
        return context
    }

    /// The origin's budget less what its other fetches use.
    private func connectionsAllowed(for entry: ActiveFetch) -> Int {
        let others = entry.site.held.connections - entry.counted.connections
        return max(1, policy.limits.perOrigin - others)
    }

    private func tickMachines(now: Moment) {
        guard let soonestTick, soonestTick <= now.monotonic else { return }
        var due: [FetchID] = []
        for (fetch, entry) in active {
            if let at = entry.nextTick, at <= now.monotonic { due.append(fetch) }
        }
        for fetch in due.sorted() where active[fetch] != nil {
            handle(.tick, of: fetch, now: now)
        }
        self.soonestTick = active.values.compactMap(\.nextTick).min()
    }

    // MARK: - Outcome

    private func outcome(now: Moment) -> TurnOutcome {
        var wake = active.isEmpty ? nil : soonestTick
        if let nextDue {
            let due = now.monotonic + max(0, nextDue - now.wall)
            wake = min(wake ?? due, due)
        }
        if let surplusLookAt { wake = min(wake ?? surplusLookAt, surplusLookAt) }
        if let at = hostsWakeAt(now: now) { wake = min(wake ?? at, at) }
        if let commitRetryAt {
            wake = min(wake ?? commitRetryAt, commitRetryAt)
        } else if needsLook {
            // More wants have changed than one turn takes, or a host may have changed some.
            wake = now.monotonic
        }
        let isIdle =
            active.isEmpty && unwritten.isEmpty && sharing.copiesUnderWay == 0
            && (!needsLook || isLeaving)
        return TurnOutcome(
            wakeAt: wake, isQuiet: isIdle,
            isDrained: isIdle && !hasBacklog && !needsPlan
                && roomAt.isEmpty,
            nextReady: nextReady, nextReadyBesidesStorage: nextReadyBesidesStorage,
            waitsForConditions: gates.holdsBack, interest: gates.interest,
            runsWhileIdle: gates.interest.idle
                && active.values.contains { $0.holdsPlace && $0.subscribers.interest.idle },
            isWellAhead: isWellAhead(now: now),
            isBehind: isBehind && needsLook && commitRetryAt == nil, hosts: hostOutlook)
    }

    /// Body bytes that this engine has received.
    package var bytesReceived: Int64 {
        active.values.reduce(counters.bytesOfGone) {
            $0 + max(0, $1.machine.state.bytesFetched - $1.receivedBefore)
        }
    }

    package var totals: EngineCounters { counters }

    /// Changes whenever a transfer may have ended.
    package var endsSeen: Int { counters.completed + counters.failed + looks }

    /// Everything off the wire, checkpointed. Turns go on until ``TurnOutcome/isQuiet``.
    package func beginLeaving(now: Moment) {
        isLeaving = true
        // A store that could not be written is tried at once.
        commitRetryAt = nil
        for fetch in active.keys.sorted() { handle(.leave(.requeue), of: fetch, now: now) }
    }
}
