internal import LonghaulCore
internal import LonghaulStore

/// The start of a fetch. For each start: load a ``StartSnapshot``, decide (``StartDecision``),
/// write. Other transfers with the same request join with the next commit.
struct FetchStarter {
    let sharing: FetchSharing
    let origins: Origins

    private var fetches: ActiveFetches { sharing.fetches }
    private var now: Moment { sharing.now }

    /// Starts a ready transfer. `nil` when it is not to be started any more, or shares a fetch.
    func start(
        _ id: TransferID, session: String, _ tx: borrowing EngineTransaction,
        _ changes: inout TurnChanges
    ) throws -> StartedFetch? {
        guard let work = try tx.transfers.work(id), work.isReady(at: now.wall) else { return nil }
        if work.isUnreadable {
            try refuse(work, work.unreadable, tx, &changes)
            return nil
        }
        if try isHeldBack(work, tx, &changes) { return nil }
        if let fetch = try sharing.runningFetch(for: work, changes, tx) {
            try sharing.join(work, fetch, tx, &changes)
            changes.starts.arePlacesLeft = true
            return nil
        }
        if try isEqualStarting(work, tx, changes) {
            changes.starts.arePlacesLeft = true
            return nil
        }
        let snapshot = try load(work, tx, &changes)
        return try write(
            StartDecision.decide(snapshot), snapshot, session: session, tx, &changes)
    }

    /// This transaction has started the fetch that the transfer will join.
    private func isEqualStarting(
        _ work: TransferWork, _ tx: borrowing EngineTransaction, _ changes: TurnChanges
    ) throws -> Bool {
        if changes.starts.identities.isEmpty { return false }
        guard let identity = work.sharedIdentity, changes.starts.identities.contains(identity)
        else { return false }
        return try sharing.mayGiveUpItsFetch(work, tx)
    }

    /// Its server has refused the same credentials to others: it waits for other ones, or fails
    /// where a command waits for its end.
    private func isHeldBack(
        _ work: TransferWork, _ tx: borrowing EngineTransaction, _ changes: inout TurnChanges
    ) throws -> Bool {
        guard origins.haveRefused, !changes.hastened.contains(work.origin),
            let wait = origins.refusal(of: work, now: now.wall)
        else { return false }
        if work.request.options.failOnFullDisk {
            let message = wait.current ?? WaitReason.otherCredentials
            let error = LonghaulError(.unauthorized, message).about(work.id)
            try refuse(work, error, tx, &changes)
        } else {
            try tx.transfers.setQueued(
                work.id, readyAt: wait.nextCheck ?? .distantFuture, waitingFor: [wait],
                now: now.wall)
            changes.starts.arePlacesLeft = true
        }
        return true
    }

    /// The transfer fails alone: the next one gets its place.
    private func refuse(
        _ work: TransferWork, _ error: LonghaulError, _ tx: borrowing EngineTransaction,
        _ changes: inout TurnChanges
    ) throws {
        let numbers = try work.currentNumbers(tx)
        var error = error
        error.bytesKept = numbers.bytesDone
        try tx.transfers.fail(work.id, error: error, numbers: numbers, now: now.wall)
        changes.starts.refused.append((work.id, error))
        changes.starts.arePlacesLeft = true
    }

    private func load(
        _ work: TransferWork, _ tx: borrowing EngineTransaction, _ changes: inout TurnChanges
    ) throws -> StartSnapshot {
        var snapshot = StartSnapshot(first: work)
        let own = try held(work.fetchID, tx, changes)
        if let own { snapshot.fetches[own.state.id] = own }
        // A file that may have its name is looked for there, for this transfer alone.
        if own?.state.mayHaveItsName == true { return snapshot }
        let others = try tx.sharing.queued(
            work.identityKey, .pause, limit: Limits.sharersPerFetch
        ).filter { $0.id != work.id }
        guard !others.isEmpty, let identity = work.sharedIdentity else { return snapshot }
        changes.starts.identities.insert(identity)
        changes.hasNewIntents = true
        let holders = others.filter { $0.fetch != nil }.map(\.id)
        for id in (own?.members ?? []).union(holders).sorted() where id != work.id {
            guard let other = try tx.transfers.work(id), other.phase == .queued,
                let fetch = other.fetchID, !other.isHeldBack(now.wall),
                other.sharedIdentity == identity
            else { continue }
            snapshot.equals.append(other)
            snapshot.fetches[fetch] = try snapshot.fetches[fetch] ?? held(fetch, tx, changes)
        }
        return snapshot
    }

    private func held(
        _ id: FetchID?, _ tx: borrowing EngineTransaction, _ changes: TurnChanges
    ) throws -> StartSnapshot.Held? {
        guard let id, let state = try tx.fetches.state(of: id) else { return nil }
        var held = StartSnapshot.Held(state: state)
        if state.leader != nil { held.members = Set(try tx.sharing.members(of: id)) }
        held.isActive =
            fetches[id] != nil || changes.starts.started.contains { $0.state.id == id }
        held.isAway = sharing.index.away.contains(id)
        return held
    }

    private func write(
        _ decision: StartDecision, _ snapshot: StartSnapshot, session: String,
        _ tx: borrowing EngineTransaction, _ changes: inout TurnChanges
    ) throws -> StartedFetch {
        for id in decision.strangers { try tx.sharing.leave(id) }
        let first = try sharing.giveUpFetch(
            of: snapshot.first, for: decision.fetch?.id, tx, &changes)
        if let fetch = decision.fetch {
            if fetch.leader != nil {
                try tx.sharing.setLeader(of: fetch.id, to: decision.leader)
            } else if let holder = snapshot.equals.first(where: { $0.fetchID == fetch.id }) {
                try tx.sharing.keepCount(of: holder.id, in: fetch.id)
            }
        }
        // Read again where counts have changed.
        let sharers = decision.followers + decision.paused
        let leader = sharers.isEmpty ? first : try tx.transfers.work(decision.leader) ?? first
        let (lead, fetch) = try tx.sharing.start(leader, into: decision.fetch, now: now.wall)
        var state = fetch
        var (subscribers, runners) = (Subscribers(leader: Subscriber(lead)), [lead])
        for id in sharers {
            guard var work = try tx.transfers.work(id) else { continue }
            if work.want == .run {
                work = try tx.sharing.start(work, into: state, now: now.wall).work
                runners.append(work)
            }
            subscribers.admit(Subscriber(work))
        }
        if subscribers.isShared {
            changes.starts.arePlacesLeft = true
            try tx.sharing.share(state.id, among: subscribers.all.map(\.id))
        }
        if subscribers.isShared || state.leader != nil {
            state = try tx.fetches.state(of: state.id) ?? state
        }
        let started = StartedFetch(
            work: lead, state: state, session: session, subscribers: subscribers)
        started.kept = try keptFile(for: runners, state, tx)
        return started
    }

    /// A finished file that a start from nothing may copy: if the user asked for that, or if the
    /// transfer was served together with others, whose files may be finished.
    private func keptFile(
        for works: [TransferWork], _ state: FetchState, _ tx: borrowing EngineTransaction
    ) throws -> KeptFile? {
        guard state.durable.isEmpty,
            let work = works.first(where: { $0.request.options.reuse || $0.sharedFetch != nil })
        else { return nil }
        return try tx.sharing.finished(like: work, now: now.wall)
    }
}
