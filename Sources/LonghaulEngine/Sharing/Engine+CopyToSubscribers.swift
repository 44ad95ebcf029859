internal import LonghaulCore
internal import LonghaulStore

/// A whole file becomes as many as there are transfers that asked for it. Each copy goes on as a
/// fetch of its own that lacks nothing: it is checked, named and recorded by the rules of its own
/// transfer, with all that is said of a crash on that way.
extension Engine {
    /// Orders the copies that are still missing. The leader comes last: until then the part file is
    /// what a successor of this engine would copy from.
    func handOut(_ fetch: FetchID, now: Moment) {
        guard let entry = active[fetch], entry.machine.stage == .sharing else { return }
        var missing = entry.subscribers.followers.filter { !entry.copying.contains($0.id) }
        if entry.subscribers.followers.isEmpty, entry.copying.isEmpty || entry.isGivenAway {
            if entry.machine.isAtHome || entry.isGivenAway {
                handle(.handedOut(leaderHasCopy: entry.isGivenAway), of: fetch, now: now)
                return
            }
            missing = [entry.subscribers.leader]
        }
        if missing.isEmpty { return }
        entry.copying.formUnion(missing.map(\.id))
        let orders = missing.map {
            CopyOrder(transfer: $0.id, destination: $0.destination, partSuffix: $0.partSuffix)
        }
        sharing.ordered(orders.count)
        unwritten.orders.append(
            .copy(fetch, orders, length: entry.machine.state.bytesTotal ?? 0))
    }

    /// What came of one copy.
    func take(_ event: FetchEvent, into entry: ActiveFetch, now: Moment) {
        if case .copied(let id, let identity, let path, let mountPoint) = event {
            entry.copying.remove(id)
            guard let subscriber = entry.subscribers[id], entry.machine.stage == .sharing else {
                unwritten.orders.append(.delete(OrphanedPart(path: path, identity: identity)))
                return
            }
            let copy = entry.machine.copy(
                for: subscriber, identity, path: path, mountPoint: mountPoint)
            unwritten.writes.append(.give(id, copy, proven: entry.machine.verified))
            parted(id, entry)
        } else if case .copyFailed(let id, let fault) = event {
            entry.copying.remove(id)
            guard let subscriber = entry.subscribers[id], entry.machine.stage == .sharing else {
                return
            }
            withhold(subscriber, fault, entry, now: now)
        }
    }

    /// The leader that is given a copy like the others goes last, and the fetch with it: at once,
    /// whatever copies of those that have gone are still being made.
    private func parted(_ id: TransferID, _ entry: ActiveFetch) {
        if entry.subscribers.remove(id, home: entry.machine.home) == .wasLast {
            entry.isGivenAway = true
        } else {
            entry.machine.serve(entry.subscribers)
        }
        needsLook = true
    }

    /// The failure of one copy is its transfer's alone. The last one keeps the bytes, which nobody
    /// else has: they are copied when its disk has room, or is well.
    private func withhold(
        _ subscriber: Subscriber, _ fault: LocalFault, _ entry: ActiveFetch, now: Moment
    ) {
        let id = subscriber.id
        if id == entry.subscribers.leader.id, entry.subscribers.followers.isEmpty {
            let event = subscriber.isWanted ? FetchEvent.handOutFailed(fault) : .leave(.requeue)
            return handle(event, of: entry.machine.state.id, now: now)
        }
        let error = LonghaulError(
            fault.code, fault.message, transferID: id, retryable: true, bytesKept: 0)
        let next = now.wall + Limits.storageCheckSeconds
        if let need = fault.storageNeed, !subscriber.request.options.failOnFullDisk {
            // Looked at again when there may be space.
            unwritten.writes.append(
                .queued(
                    id, readyAt: next,
                    waitingFor: [
                        WaitReason(
                            .storage, required: need.rawValue, current: error.message,
                            since: now.wall, nextCheck: next)
                    ]))
        } else if subscriber.isWanted {
            var totals = TransferTotals(entry.machine.state, bytesDone: 0)
            totals.bytesFetched = subscriber.bytesFetched
            unwritten.writes.append(.failed(id, error, totals))
            unwritten.durable = true
        } else if id == entry.subscribers.leader.id {
            // Paused when the end was too near to be stopped, it has led to it.
            unwritten.writes.append(.queued(id, readyAt: nil, waitingFor: []))
        }
        unwritten.writes.append(.leave(id))
        parted(id, entry)
    }

    /// A copy that nobody waits for any more: the engine was leaving, or everybody was.
    func dropLate(_ event: FetchEvent) {
        guard case .copied(_, let identity, let path, _) = event else { return }
        unwritten.orders.append(.delete(OrphanedPart(path: path, identity: identity)))
    }

    /// Handed over in this very commit: what is wanted of it is looked at once it goes alone.
    func isJustGiven(
        _ id: TransferID, _ tx: borrowing EngineTransaction, _ outcome: inout IntentResult
    ) throws -> Bool {
        guard sharing.given.contains(where: { $0.work.id == id }) else { return false }
        try tx.addAttention(id)
        outcome.isIncomplete = true
        return true
    }

    /// In the commit: from now on it goes alone.
    func give(
        _ copy: FetchState, to id: TransferID, _ proven: [Checksum],
        _ tx: borrowing EngineTransaction
    ) throws {
        guard let (work, state) = try tx.adopt(copy, for: id) else { return }
        guard work.phase == .running else {
            // Its cancel came while the copy was made.
            if try tx.addAttention(unlessWanted: id) { sharing.areSomeUnwanted = true }
            return
        }
        sharing.given.append(
            StartedFetch(
                work: work, state: state, session: work.request.session,
                subscribers: Subscribers(leader: Subscriber(work)), proven: proven))
    }
}
