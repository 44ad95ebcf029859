internal import LonghaulCore
internal import LonghaulStore

/// The start of a fetch: transfers that ask for the same start with it, whatever they wait for. For
/// each start: load a ``StartSnapshot``, decide (``StartDecision``), write.
struct FetchStarter {
    let sharing: FetchSharing

    private var fetches: ActiveFetches { sharing.fetches }
    private var now: Moment { sharing.now }

    /// Starts a ready transfer. `nil` when it is not to be started any more, or has joined a fetch
    /// that runs.
    func start(
        _ id: TransferID, session: String, _ tx: borrowing EngineTransaction,
        _ changes: inout TurnChanges
    ) throws -> StartedFetch? {
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
            work.readyAt.map({ $0 <= now.wall }) ?? true
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

    /// It fails alone: the next one gets its place.
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
<<<<<<< HEAD
        _ work: TransferWork, _ tx: borrowing EngineTransaction, besides started: Set<FetchID>
    ) throws -> StartSnapshot {
        var snapshot = StartSnapshot(first: work, equals: try equals(of: work, tx))
        let works = [work] + snapshot.equals
        for work in works {
            guard let id = work.fetchID, snapshot.fetches[id] == nil, let state = try tx.fetch(id)
=======
        _ work: TransferWork, _ tx: borrowing EngineTransaction, besides claimed: Set<FetchID>
    ) throws -> Party {
        var party = Party(first: work)
        let equals = try equals(of: work, tx)
        // The bytes of the transfer that holds most, even if it is being cancelled.
        for candidate in [work] + equals {
            // A fetch that this plan has started runs, though it is not active yet.
            guard let fetch = candidate.fetchID, fetches[fetch] == nil, !claimed.contains(fetch),
                candidate.id == work.id || !sharing.index.away.contains(fetch),
                let state = try tx.fetches.state(of: fetch), state.id != party.state?.id
>>>>>>> 80a519c080adf62fec69d8a650134c61a505b22c
            else { continue }
            var held = StartSnapshot.Held(state: state)
            held.isActive = fetches[id] != nil
            held.isStarted = started.contains(id)
            held.isAway = sharing.index.away.contains(id)
            // A transfer that held it alone is not in the list of those that share it.
<<<<<<< HEAD
            held.holders = Set(try tx.members(of: id) + works.filter { $0.fetchID == id }.map(\.id))
            snapshot.fetches[id] = held
=======
            let holders = equals.filter { $0.fetchID == state.id }.map(\.id)
            let members = try tx.sharing.members(of: state.id) + holders
            party.strangers = Set(members).subtracting(staying).sorted()
>>>>>>> 80a519c080adf62fec69d8a650134c61a505b22c
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

    /// Its file was whole and about to get its name: it is looked for there, for this transfer
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
<<<<<<< HEAD
        for id in decision.strangers { try tx.leave(id) }
        for id in decision.givingUp { changes.deletions += try tx.dropFetch(of: id, now: now.wall) }
        // Read again: what they give up is gone from their rows.
        guard let lead = try tx.work(decision.leader),
            let fetch = try tx.take(lead.id, into: decision.fetch?.id, now: now.wall)
        else { return nil }
        for id in decision.counted { try tx.keepCount(of: id, in: fetch) }
        var subscribers = Subscribers(leader: Subscriber(lead))
        for id in decision.followers { _ = try tx.take(id, into: fetch, now: now.wall) }
        for id in decision.followers + decision.paused {
            guard let work = try tx.work(id) else { continue }
=======
        for id in party.strangers { try tx.sharing.leave(id) }
        for work in party.runners where work.fetchID != nil && work.fetchID != party.state?.id {
            changes.deletions += try tx.fetches.drop(of: work.id, now: now.wall)
        }
        // Read again: what they give up is gone from their rows.
        let members = try party.runners.compactMap { try tx.transfers.work($0.id) }.map(
            Subscriber.init)
        let lead = leader(of: members, party.state)
        guard let fetch = try tx.sharing.start(lead.id, into: party.state?.id, now: now.wall)
        else { return nil }
        try keepCounts(of: party, in: fetch, besides: lead.id, tx)
        var subscribers = Subscribers(leader: lead)
        for subscriber in members where subscriber.id != lead.id {
            _ = try tx.sharing.start(subscriber.id, into: fetch, now: now.wall)
            guard let work = try tx.transfers.work(subscriber.id) else { continue }
            subscribers.admit(Subscriber(work))
        }
        for paused in party.paused {
            guard let work = try tx.transfers.work(paused.id) else { continue }
>>>>>>> 80a519c080adf62fec69d8a650134c61a505b22c
            subscribers.admit(Subscriber(work))
        }
        if subscribers.isShared {
            changes.starts.arePlacesLeft = true
<<<<<<< HEAD
            try tx.share(fetch, among: subscribers.all.map(\.id))
        } else if decision.fetch?.leader != nil {
            try tx.setLeader(of: fetch, to: lead.id)
        }
        // Its numbers are in the store only now.
        guard let work = try tx.work(lead.id), let state = try tx.fetch(fetch) else { return nil }
        return StartedFetch(work: work, state: state, session: session, subscribers: subscribers)
=======
            try tx.sharing.share(fetch, among: subscribers.all.map(\.id))
        } else if party.state?.leader != nil {
            try tx.sharing.setLeader(of: fetch, to: lead.id)
        }
        // Its numbers are in the store only now.
        guard let work = try tx.transfers.work(lead.id), let state = try tx.fetches.state(of: fetch)
        else { return nil }
        let started = StartedFetch(
            work: work, state: state, session: session, subscribers: subscribers)
        started.kept = try keptFile(for: party.runners, state, tx)
        return started
    }

    private func leader(of members: [Subscriber], _ state: FetchState?) -> Subscriber {
        precondition(!members.isEmpty, "the transfer whose turn it was is among them")
        guard let state, state.partIdentity != nil,
            let lead = Subscribers.successor(
                among: members, home: FileNaming.directory(of: state.partPath))
        else { return members[0] }
        return lead
    }

    /// A transfer that held the fetch until now and does not lead it keeps its count of bytes.
    private func keepCounts(
        of party: Party, in fetch: FetchID, besides lead: TransferID,
        _ tx: borrowing EngineTransaction
    ) throws {
        guard let state = party.state else { return }
        for work in party.runners + party.paused
        where work.fetchID == state.id && work.id != lead {
            guard state.leader ?? work.id == work.id else { continue }
            try tx.sharing.keepCount(of: work.id, in: fetch)
        }
>>>>>>> 80a519c080adf62fec69d8a650134c61a505b22c
    }

    /// For a start from nothing: a finished file that may be copied, where that was asked for, or
    /// where a transfer was served together with others whose files may be finished.
    private func keptFile(
        for works: [TransferWork], _ state: FetchState, _ tx: borrowing EngineTransaction
    ) throws -> KeptFile? {
        guard state.durable.isEmpty,
            let work = works.first(where: { $0.request.options.reuse || $0.sharedFetch != nil })
        else { return nil }
        return try tx.sharing.finished(like: work, now: now.wall)
    }
}
