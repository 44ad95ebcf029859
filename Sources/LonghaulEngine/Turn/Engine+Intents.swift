internal import LonghaulCore
internal import LonghaulStore

struct IntentResult {
    var departures: [(FetchID, FetchDeparture)] = []
    var deletions: [OrphanedPart] = []
    /// More rows want intentInbox than one look takes.
    var isIncomplete = false
    /// Transfers whose deadline passed while they waited.
    var failed = 0
    /// Fetches whom others serve than before.
    var subscriberLists: [FetchID: Subscribers] = [:]
    /// Of fetches that depart because something else is wanted: when they may begin again.
    var earliest: [FetchID: Timestamp?] = [:]
}

/// Folding what clients want into what is.
extension Engine {
    static let attentionMax = 512
    /// Waiting transfers, those that are due first, whose pauses may end early at once.
    static let pausesMax = 10_000

    func look(_ tx: borrowing EngineTransaction, now: Moment) throws -> IntentResult {
        var outcome = IntentResult()
        try lookAtClock(tx, now: now)
        // Before any origin is read.
        try lookAtPauses(tx, now: now)
        // Before anybody leaves: who comes may go on with what another gives up.
        try welcome(tx, now: now, &outcome)
        let ids = try tx.takeAttention(limit: Engine.attentionMax)
        outcome.isIncomplete = ids.count == Engine.attentionMax
        for id in ids {
            guard try !isJustGiven(id, tx, &outcome), let work = try tx.work(id)
            else { continue }
            try react(to: work, tx, now: now, &outcome)
        }
        let asked = try tx.askHosts(now.wall, limit: Engine.attentionMax)
        // No further than was looked: what comes after those may have to be asked about.
        let promoted = try tx.promoteDue(now.wall, limit: Engine.attentionMax - asked)
        // Those that are still on their way out are met again and hide nobody.
        let expiredMax = Engine.attentionMax + active.count
        let expired = try tx.expired(now.wall, limit: expiredMax)
        for id in expired {
            guard try !isJustGiven(id, tx, &outcome), let work = try tx.work(id)
            else { continue }
            if let fetch = work.fetchID, active[fetch] != nil {
                if try !part(work, from: fetch, .expire, tx, now: now, &outcome) {
                    outcome.departures.append((fetch, .expire))
                }
            } else {
                let totals = try totals(of: work, tx)
                var error = FetchMachine.expired
                error.transferID = id
                error.bytesKept = totals.bytesDone
                try tx.fail(id, error: error, numbers: totals, now: now.wall)
                outcome.failed += 1
            }
        }
        let areMoreWaived = try waive(tx, now: now)
        if areMoreWaived || asked + promoted == Engine.attentionMax || expired.count == expiredMax {
            outcome.isIncomplete = true
        }
        isBehind = outcome.isIncomplete
        return outcome
    }

    private func react(
        to work: TransferWork, _ tx: borrowing EngineTransaction, now: Moment,
        _ outcome: inout IntentResult
    ) throws {
        if let fetch = work.fetchID, let entry = active[fetch] {
            if try reactTogether(to: work, in: fetch, tx, now: now, &outcome) { return }
            let leader = entry.subscribers.leader
            // The same request in another eligibility: changed and changed back, it has its
            // preferences again.
            let isOther =
                !work.request.isExactly(leader.request) || work.eligibility != leader.eligibility
            if work.want == .run, isOther, work.request.mayGoOn(as: leader.request, entry.machine) {
                outcome.subscriberLists[fetch] = Subscribers(leader: Subscriber(work))
            } else if let departure = departure(for: work, entry) {
                outcome.earliest[fetch] = work.request.earliestBegin
                outcome.departures.append((fetch, departure))
            }
            return
        }
        switch work.phase {
        case .queued, .running:
            switch work.want {
            case .run, .pause:
                // Back-off ends when somebody says so; an earliest moment holds.
                try tx.setQueued(work.id, now: now.wall)
                if work.want == .run { try hasten(work, tx, now: now) }
            case .cancel, .cancelKeepingBytes:
                try cancel(work, tx, now: now, &outcome)
            }
        case .failed, .cancelled:
            if work.isRearmPending {
                _ = try tx.rearm(work.id, now: now.wall)
                // Wanted otherwise since: queued, and to be looked at once more as such.
                if work.want != .run { outcome.isIncomplete = true }
            } else if work.want == .cancel, work.fetchID != nil {
                try free(work, tx, now: now, &outcome)
            }
        case .completed: break
        }
    }

    private func departure(for work: TransferWork, _ entry: ActiveFetch) -> FetchDeparture? {
        switch work.want {
        case .cancel: return .cancel(keepingBytes: false)
        case .cancelKeepingBytes: return .cancel(keepingBytes: true)
        // Its cancel was taken back in time.
        case .run where entry.machine.isBeingCancelled,
            .pause where entry.machine.isBeingCancelled:
            return .renew
        case .pause: return .requeue
        // Other settings than those it runs with: off the wire and on again.
        case .run: return work.request.isExactly(entry.subscribers.leader.request) ? nil : .renew
        }
    }

    private func cancel(
        _ work: TransferWork, _ tx: borrowing EngineTransaction, now: Moment,
        _ outcome: inout IntentResult
    ) throws {
        try tx.cancel(work.id, numbers: totals(of: work, tx), now: now.wall)
        if work.want == .cancel { try free(work, tx, now: now, &outcome) }
    }

    private func free(
        _ work: TransferWork, _ tx: borrowing EngineTransaction, now: Moment,
        _ outcome: inout IntentResult
    ) throws {
        guard let id = work.fetchID else { return }
        if try handDown(id, of: work, tx) { return }
        outcome.deletions += try tx.dropFetch(of: work.id, now: now.wall)
    }

    func totals(
        of work: TransferWork, _ tx: borrowing EngineTransaction
    ) throws -> TransferNumbers {
        guard let id = work.fetchID, let state = try tx.fetch(id),
            state.leader ?? work.id == work.id
        else { return work.numbers }
        return TransferNumbers(state)
    }
}

extension TransferRequest {
    /// Whether the fetch may take these settings over from `other` as it goes on: they differ in
    /// nothing that decides what is asked for. Whether it may run now its new eligibility says.
    fileprivate func mayGoOn(as other: TransferRequest, _ machine: FetchMachine) -> Bool {
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
        // What is out was asked for under the old bound: of no use where nobody knows the length.
        if let total = machine.state.bytesTotal, total <= options.maxSize ?? .max {
            old.options.maxSize = options.maxSize
        }
        if machine.url == url { old.options.mirrors = options.mirrors }
        return isExactly(old)
    }
}
