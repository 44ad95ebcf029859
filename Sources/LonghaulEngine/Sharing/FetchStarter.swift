internal import LonghaulCore
internal import LonghaulStore

/// The start of a fetch: transfers that ask for the same start with it, whatever they wait for. For
/// each start: load a ``StartSnapshot``, decide (``StartDecision``), write.
struct FetchStarter {
    let sharing: FetchSharing
    let origins: Origins

    private var fetches: ActiveFetches { sharing.fetches }
    private var now: Moment { sharing.now }

    /// Starts a ready transfer. `nil` when it is not to be started any more, or has joined a fetch
    /// that runs.
    func start(
        _ id: TransferID, session: String, _ tx: borrowing EngineTransaction,
        _ changes: inout TurnChanges
    ) throws -> StartedFetch? {
        if origins.haveRefused, try isHeldBack(id, tx, &changes) { return nil }
        if try tx.sharing.peers(of: id, limit: 1).isEmpty,
            let (work, state) = try tx.transfers.claim(id, now: now.wall)
        {
            let started = StartedFetch(
                work: work, state: state, session: session,
                subscribers: Subscribers(leader: Subscriber(work)))
            started.kept = try keptFile(for: [work], started.state, tx)
            return started
        }
        guard let work = try tx.transfers.work(id), work.phase == .queued, work.want == .run,
            !work.eligibility.waitsForTransfers, work.readyAt.map({ $0 <= now.wall }) ?? true
        else { return nil }
        if work.isUnreadable {
            try refuse(work, tx, &changes)
            return nil
        }
        if let fetch = try sharing.runningFetch(for: work, changes, tx) {
            try sharing.join(work, fetch, tx, &changes)
            changes.starts.arePlacesLeft = true
            return nil
        }
        let snapshot = try load(
            work, tx, besides: Set(changes.starts.started.map(\.state.id)))
        let decision = StartDecision.decide(snapshot)
        let started = try write(decision, session: session, tx, &changes)
        let runners = ([work] + snapshot.equals).filter {
            $0.id == decision.leader || decision.followers.contains($0.id)
        }
        if let started { started.kept = try keptFile(for: runners, started.state, tx) }
        return started
    }

    /// Its server has refused the same credentials to others: it waits for other ones, or fails
    /// where a command waits for its end.
    private func isHeldBack(
        _ id: TransferID, _ tx: borrowing EngineTransaction, _ changes: inout TurnChanges
    ) throws -> Bool {
        guard let work = try tx.transfers.work(id), work.phase == .queued, work.want == .run,
            !work.isUnreadable, !changes.hastened.contains(work.origin),
            let wait = origins.refusal(of: work, now: now.wall)
        else { return false }
        changes.starts.arePlacesLeft = true
        if work.request.options.failOnFullDisk {
            let numbers = try work.currentNumbers(tx)
            var error = LonghaulError(.unauthorized, wait.current ?? WaitReason.otherCredentials)
                .about(id)
            error.bytesKept = numbers.bytesDone
            try tx.transfers.fail(id, error: error, numbers: numbers, now: now.wall)
            changes.starts.refused.append((id, error))
        } else {
            try tx.transfers.setQueued(
                id, readyAt: wait.nextCheck ?? .distantFuture, waitingFor: [wait], now: now.wall)
        }
        return true
    }

    /// The transfer fails alone: the next one gets its place.
    private func refuse(
        _ work: TransferWork, _ tx: borrowing EngineTransaction, _ changes: inout TurnChanges
    ) throws {
        let numbers = try work.currentNumbers(tx)
        var error = work.unreadable
        error.bytesKept = numbers.bytesDone
        try tx.transfers.fail(work.id, error: error, numbers: numbers, now: now.wall)
        changes.starts.refused.append((work.id, error))
        changes.starts.arePlacesLeft = true
    }

    private func load(
        _ work: TransferWork, _ tx: borrowing EngineTransaction, besides started: Set<FetchID>
    ) throws -> StartSnapshot {
        var snapshot = StartSnapshot(first: work, equals: try equals(of: work, tx))
        let works = [work] + snapshot.equals
        for work in works {
            guard let id = work.fetchID, snapshot.fetches[id] == nil,
                let state = try tx.fetches.state(of: id)
            else { continue }
            var held = StartSnapshot.Held(state: state)
            held.isActive = fetches[id] != nil
            held.isStarted = started.contains(id)
            held.isAway = sharing.index.away.contains(id)
            // A transfer that held it alone is not in the list of those that share it.
            held.holders = Set(
                try tx.sharing.members(of: id) + works.filter { $0.fetchID == id }.map(\.id))
            snapshot.fetches[id] = held
        }
        return snapshot
    }

    /// Queued transfers that ask for the same and are free to share.
    private func equals(
        of work: TransferWork, _ tx: borrowing EngineTransaction
    ) throws -> [TransferWork] {
        guard let identity = work.sharedIdentity, try !mayHaveItsName(work, tx) else { return [] }
        return try tx.sharing.peers(of: work.id, limit: Limits.sharersPerFetch)
            .compactMap { try tx.transfers.work($0) }
            .filter {
                try $0.phase == .queued && !$0.isHeldBack(now.wall)
                    && $0.sharedIdentity == identity && !mayHaveItsName($0, tx)
            }
    }

    /// The file was whole and about to get its name: it is looked for there, for this transfer
    /// alone. Such a fetch serves no other, see ``FetchMachine/isJoinable``.
    private func mayHaveItsName(
        _ work: TransferWork, _ tx: borrowing EngineTransaction
    ) throws -> Bool {
        guard let own = work.fetchID else { return false }
        return try tx.fetches.state(of: own)?.mayHaveItsName ?? false
    }

    private func write(
        _ decision: StartDecision, session: String, _ tx: borrowing EngineTransaction,
        _ changes: inout TurnChanges
    ) throws -> StartedFetch? {
        for id in decision.strangers { try tx.sharing.leave(id) }
        for id in decision.givingUp {
            changes.deletions += try tx.fetches.drop(of: id, now: now.wall)
        }
        // Read again: what they give up is gone from their rows.
        guard let lead = try tx.transfers.work(decision.leader),
            let fetch = try tx.sharing.start(lead.id, into: decision.fetch?.id, now: now.wall)
        else { return nil }
        for id in decision.counted { try tx.sharing.keepCount(of: id, in: fetch) }
        var subscribers = Subscribers(leader: Subscriber(lead))
        for id in decision.followers { _ = try tx.sharing.start(id, into: fetch, now: now.wall) }
        for id in decision.followers + decision.paused {
            guard let work = try tx.transfers.work(id) else { continue }
            subscribers.admit(Subscriber(work))
        }
        if subscribers.isShared {
            changes.starts.arePlacesLeft = true
            try tx.sharing.share(fetch, among: subscribers.all.map(\.id))
        } else if decision.fetch?.leader != nil {
            try tx.sharing.setLeader(of: fetch, to: lead.id)
        }
        // The numbers are in the store only now.
        guard let work = try tx.transfers.work(lead.id), let state = try tx.fetches.state(of: fetch)
        else { return nil }
        return StartedFetch(work: work, state: state, session: session, subscribers: subscribers)
    }

    /// A finished file that a start from nothing may copy: where the user asked for that, or where
    /// the transfer was served together with others whose files may be finished.
    private func keptFile(
        for works: [TransferWork], _ state: FetchState, _ tx: borrowing EngineTransaction
    ) throws -> KeptFile? {
        guard state.durable.isEmpty,
            let work = works.first(where: { $0.request.options.reuse || $0.sharedFetch != nil })
        else { return nil }
        return try tx.sharing.finished(like: work, now: now.wall)
    }
}
