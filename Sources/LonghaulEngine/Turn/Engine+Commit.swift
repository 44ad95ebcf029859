internal import LonghaulCore
internal import LonghaulStore

/// One transaction a round; effects only after it.
extension Engine {
    /// Commits what is pending, looks at what clients want, and claims what may start. Returns
    /// whether another round is needed.
    func commit(now: Moment) throws(LonghaulError) -> Bool {
        let pending = unwritten
        // What clients changed may let something start: look and plan in one transaction.
        if needsLook { needsPlan = true }
        let plans = mustPlan(now: now) && !scope.startsNothing
        var look = IntentResult()
        var plan = PlanOutcome()
        if pending.writes.isEmpty, !needsLook, !plans, !mustPublishView {
            unwritten = Unwritten()
            perform(pending)
            return false
        }
        let durability: Durability = pending.durable || needsLook ? .durable : .relaxed
        hosts.unanswerable = []
        sharing.given = []
        sharing.areSomeUnwanted = false
        sharing.departing = []
        do {
            try store.withEngineTransaction(epoch, durability) { tx in
                for write in pending.writes { try apply(write, tx, now: now) }
                if needsLook { look = try self.look(tx, now: now) }
                if mustPublishView { try tx.publish(view(now: now)) }
                sharing.departing = Set(look.departures.filter { !$0.1.goesBack }.map(\.0))
                if plans { coolDownEnds = nil }
                if plans { plan = try self.plan(tx, after: look, now: now) }
                try noteDue(tx, plan, plans: plans, now: now)
            }
        } catch {
            // The lease is gone: whatever we would write, another engine writes now.
            guard let error = error as? LonghaulError else { throw Engine.leaseLost }
            // A full or failing disk under the store: nothing was written, nothing is performed;
            // the same is tried again.
            commitFailures += 1
            journal?.commitFailed(error, times: commitFailures)
            if commitFailures > Engine.commitFailuresMax { throw error }
            (commitError, commitRetryAt) = (error, now.monotonic + Engine.commitRetrySeconds)
            return false
        }
        commitFailures = 0
        (commitError, commitRetryAt) = (nil, nil)
        unwritten = Unwritten()
        mustPublishView = false
        if needsLook {
            looks += 1
            gates.noteLook()
        }
        let written = asItWent(pending.writes)
        count(written, now: now)
        counters.failed += look.failed + plan.refused.count
        if pending.durable || needsLook { hosts.isStale = true }
        journal?.note(written)
        for (id, error) in plan.refused { journal?.refused(id, error) }
        needsLook = look.isIncomplete || sharing.areSomeUnwanted
        if plans {
            needsPlan = plan.arePlacesLeft
            forgetRoom()
            hasBacklog = plan.hasBacklog
            gates.holdsBack = plan.holdsBack
            if let interest = plan.interest { gates.interest = interest }
        }
        perform(pending)
        files.submit((look.deletions + plan.deletions).map { .delete($0) })
        for claim in plan.claims + sharing.given { install(claim, now: now) }
        // A plan goes on from what the look has made of them.
        adopt(plans ? plan.subscriberLists : look.subscriberLists, now: now)
        for (fetch, earliest) in look.earliest { active[fetch]?.beginAgain(earliest) }
        for (fetch, departure) in look.departures { handle(.leave(departure), of: fetch, now: now) }
        return true
    }

    /// Whether a transfer waits for input or fails is known within the transaction only.
    private func asItWent(_ writes: [StoreWrite]) -> [StoreWrite] {
        if hosts.unanswerable.isEmpty { return writes }
        return writes.map { write in
            guard case .needsInput(let id, let error, let totals) = write,
                hosts.unanswerable.contains(id)
            else { return write }
            return .failed(id, error, totals)
        }
    }

    /// Only what was committed counts.
    private func count(_ writes: [StoreWrite], now: Moment) {
        for write in writes {
            switch write {
            case .completed, .skipped: counters.completed += 1
            case .failed: counters.failed += 1
            case .queued(_, _, let reasons):
                if reasons.contains(where: { $0.reason == .storage }) {
                    spaceIsShortUntil = now.monotonic + Engine.shortOfSpaceSeconds
                }
            case .save, .needsInput, .cancelled, .restarted, .attempt,
                .dropFetch, .give, .leave, .discard, .forget, .learn, .originFailed,
                .originWorked, .saveOrigin:
                break
            }
        }
    }

    static let leaseLost = LonghaulError(
        .internal, "another process has become the engine; this one leaves everything to it")
    static let commitRetrySeconds: Double = 1
    /// After so many seconds of a store that cannot be written the engine gives up; the queue stays
    /// as it was last committed.
    static let commitFailuresMax = 30

    private func noteDue(
        _ tx: borrowing EngineTransaction, _ plan: PlanOutcome, plans: Bool, now: Moment
    ) throws {
        if plans { gates.lanesChangeAt = plan.lanesChangeAt }
        if let ends = plan.coolDownEnds { coolDownEnds = ends }
        let opens = gates.lanesChangeAt
        let others = [try tx.nextWaiver(), coolDownEnds, opens]
        let due = try tx.nextDue()
        nextReady = (others + [due]).compactMap { $0 }.min()
        let besides = due == nil ? nil : try tx.nextDueBesidesStorage()
        nextReadyBesidesStorage = (others + [besides]).compactMap { $0 }.min()
        let wake = [nextReady, try tx.nextDeadline(now.wall), gates.runningChangesAt]
            .compactMap { $0 }.min()
        if wake != nextDue { try tx.setNextWake(wake) }
        nextDue = wake
    }

    /// A transaction outside a turn, for recovery.
    func transaction(
        _ durability: Durability, _ body: (borrowing EngineTransaction) throws -> Void
    ) throws(LonghaulError) {
        do {
            try store.withEngineTransaction(epoch, durability, body)
        } catch {
            throw error as? LonghaulError ?? Engine.leaseLost
        }
    }

    // MARK: - Writes

    private func apply(
        _ write: StoreWrite, _ tx: borrowing EngineTransaction, now: Moment
    ) throws {
        switch write {
        case .save(let state): try tx.save(state)
        case .queued(let id, let readyAt, let reasons):
            try tx.setQueued(id, readyAt: readyAt, waitingFor: reasons, now: now.wall)
            // Its cancel came while it was about to get its name, and then the disk failed.
            if try tx.addAttention(unlessWanted: id) { sharing.areSomeUnwanted = true }
        case .completed(let id, let path, let totals):
            try tx.complete(id, finalPath: path, numbers: TransferNumbers(totals), now: now.wall)
        case .skipped(let id, let error, let path, let totals):
            try tx.complete(
                id, finalPath: path, numbers: TransferNumbers(totals), skipped: error,
                now: now.wall)
        case .failed(let id, let error, let totals):
            try tx.fail(id, error: error, numbers: TransferNumbers(totals), now: now.wall)
        case .needsInput(let id, let error, let totals):
            let waits = try tx.needInput(
                id, error: error, numbers: TransferNumbers(totals), now: now.wall)
            if !waits { hosts.unanswerable.insert(id) }
        case .cancelled(let id, let totals):
            try tx.cancel(id, numbers: TransferNumbers(totals), now: now.wall)
            // Wanted again while it was on its way out.
            if try tx.askAgain(for: id) { sharing.areSomeUnwanted = true }
        case .restarted(let id, let reason, let bytes):
            try restarted(id, reason, bytesLost: bytes, tx, now: now)
        case .attempt(let id, let outcome):
            tx.record(AttemptRecord(serial: Int64(outcome.number), outcome: outcome), of: id)
        case .dropFetch(let id): try tx.dropFetch(of: id, now: now.wall)
        case .give(let id, let copy, let proven): try give(copy, to: id, proven, tx)
        case .leave(let id): try tx.leave(id)
        case .discard(let fetch): try tx.discard(fetch, now: now.wall)
        case .forget(let part): try tx.forget(part)
        case .saveOrigin(let memory): try tx.save(memory)
        case .learn, .originFailed, .originWorked:
            preconditionFailure("folded into the origin's memory before the commit")
        }
    }

    func restarted(
        _ id: TransferID, _ reason: String, bytesLost: Int64, _ tx: borrowing EngineTransaction,
        now: Moment
    ) throws {
        try tx.appendEvent(
            .transferRestarted, of: id,
            detail: StoredJSON.encode(RestartDetail(reason: reason, bytesLost: bytesLost)),
            now: now.wall)
    }

    /// What is learned of an origin counts at once for all its fetches; what is written is its
    /// memory as it then is.
    func foldOrigins(_ step: inout FetchStep, now: Moment) {
        for index in step.writes.indices {
            switch step.writes[index] {
            case .learn(let name, let lesson):
                step.writes[index] = .saveOrigin(remember(name, now: now) { $0.learn(lesson) })
            case .originFailed(let name, let failure, let gained):
                let seed = random.next()
                let memory = remember(name, now: now) {
                    var random = SeededGenerator(seed: seed)
                    $0.afterFailure(failure, gained: gained, now: now.wall, using: &random)
                }
                step.writes[index] = .saveOrigin(memory)
            case .originWorked(let name, let rate, let http2):
                let memory = remember(name, now: now) {
                    $0.worked(at: rate, http2: http2, now: now.wall)
                }
                step.writes[index] = .saveOrigin(memory)
                noteRoom(at: site(name))
            case .save, .queued, .completed, .skipped, .failed, .needsInput, .cancelled,
                .restarted, .attempt, .dropFetch, .give, .leave, .discard, .forget,
                .saveOrigin:
                break
            }
        }
    }

    /// What is to be saved of it.
    func remember(
        _ name: String, now: Moment, _ change: (inout OriginMemory) -> Void
    ) -> OriginMemory {
        let site = site(name)
        var memory = site.known
        let mayCool = site.memory == nil || memory.health(at: now.wall) != .well
        change(&memory)
        site.memory = memory
        if mayCool || memory.health(at: now.wall) != .well { noteCooling(site, memory, now: now) }
        return memory
    }

    private func noteCooling(_ site: OriginSite, _ memory: OriginMemory, now: Moment) {
        if case .cooling(let until) = memory.health(at: now.wall) {
            if let id = site.id { cooling.note(id, until: until) }
        } else if let id = site.id {
            cooling.forget(id)
        } else {
            cooling.forgetAll()
        }
    }
}

/// The detail of a `transferRestarted` event.
private struct RestartDetail: Codable {
    var reason: String
    var bytesLost: Int64
}

extension TransferNumbers {
    init(_ totals: TransferTotals) {
        self.init(
            bytesTotal: totals.bytesTotal, bytesDone: totals.bytesDone,
            bytesFetched: totals.bytesFetched, attempts: totals.attempts,
            restarts: totals.restarts)
    }
}
