internal import LonghaulCore
internal import LonghaulStore

extension Subscriber {
    init(_ work: TransferWork) {
        self.init(
            id: work.id, request: work.request, destination: work.destination,
            deadline: work.deadline, eligibility: work.eligibility, isWanted: work.want == .run,
            bytesFetched: work.numbers.bytesFetched)
        partSuffix = work.partSuffix
    }
}

extension TransferWork {
    /// What may be shared of it; `nil` = it goes alone.
    var sharedIdentity: FetchIdentity? {
        if isUnreadable || request.options.onDuplicate == .separate { return nil }
        return FetchIdentity(request)
    }

    /// Its disk is full: no other's bytes are of use to it now.
    func isHeldBack(_ now: Timestamp) -> Bool {
        guard let readyAt, readyAt > now else { return false }
        return waitingFor.contains { $0.reason == .storage }
    }
}

/// The moment a transfer starts: those that ask for the same come along, whatever they wait for.
extension Engine {
    /// Takes a ready transfer up. `nil` when it is not to be taken up any more, or came along with
    /// a fetch that runs.
    func takeUp(
        _ id: TransferID, session: String, _ tx: borrowing EngineTransaction, now: Moment,
        _ outcome: inout PlanOutcome
    ) throws -> StartedFetch? {
        if try tx.peers(of: id, limit: 1).isEmpty,
            let (work, state) = try tx.claim(id, now: now.wall)
        {
            let claim = StartedFetch(
                work: work, state: state, session: session,
                subscribers: Subscribers(leader: Subscriber(work)))
            try look(for: [work], claim, tx, now: now)
            return claim
        }
        guard let work = try tx.work(id), work.phase == .queued, work.want == .run,
            work.readyAt.map({ $0 <= now.wall }) ?? true
        else { return nil }
        if work.isUnreadable {
            try refuse(work, tx, now: now, &outcome)
            return nil
        }
        if let fetch = try runningFetch(for: work, outcome.subscriberLists, tx) {
            var subscribers = try outcome.subscriberLists[fetch] ?? self.subscribers(of: fetch)
            try join(work, fetch, &subscribers, tx, now: now, &outcome.deletions)
            outcome.subscriberLists[fetch] = subscribers
            outcome.arePlacesLeft = true
            return nil
        }
        let claimed = Set(outcome.claims.map(\.state.id))
        let peers =
            work.sharedIdentity == nil ? [] : try tx.peers(of: id, limit: Limits.sharersPerFetch)
        let party = try gather(work, peers, tx, now: now, besides: claimed)
        return try start(party, session: session, tx, now: now, &outcome)
    }

    /// It fails alone: the next one has its place.
    private func refuse(
        _ work: TransferWork, _ tx: borrowing EngineTransaction, now: Moment,
        _ outcome: inout PlanOutcome
    ) throws {
        let numbers = try totals(of: work, tx)
        var error = work.unreadable
        error.bytesKept = numbers.bytesDone
        try tx.fail(work.id, error: error, numbers: numbers, now: now.wall)
        outcome.refused.append((work.id, error))
        outcome.arePlacesLeft = true
    }

    /// Those that a start concerns.
    private struct Party {
        /// It was its turn.
        var first: TransferWork
        /// Those that come along.
        var others: [TransferWork] = []
        /// Paused, and with bytes in the fetch: they keep their part in it.
        var paused: [TransferWork] = []
        /// Had the fetch and have it no more.
        var strangers: [TransferID] = []
        /// The bytes to go on from.
        var state: FetchState?
    }

    private func gather(
        _ work: TransferWork, _ peers: [TransferID], _ tx: borrowing EngineTransaction,
        now: Moment, besides claimed: Set<FetchID>
    ) throws -> Party {
        var party = Party(first: work)
        var equals: [TransferWork] = []
        if let identity = work.sharedIdentity, try !mayHaveItsName(work, tx) {
            equals = try peers.compactMap { try tx.work($0) }.filter {
                try $0.phase == .queued && !$0.isHeldBack(now.wall)
                    && $0.sharedIdentity == identity && !mayHaveItsName($0, tx)
            }
        }
        // Whoever holds the most bytes, even one that is being cancelled.
        for candidate in [work] + equals {
            // One of a start of this very plan runs, though it is not active yet.
            guard let fetch = candidate.fetchID, active[fetch] == nil, !claimed.contains(fetch),
                candidate.id == work.id || !sharing.away.contains(fetch),
                let state = try tx.fetch(fetch), state.id != party.state?.id
            else { continue }
            if state.durable.count > party.state?.durable.count ?? -1 { party.state = state }
        }
        for other in equals {
            switch other.want {
            case .run:
                if try mayGiveUpItsFetch(other, for: party.state?.id, tx) {
                    party.others.append(other)
                }
            case .pause:
                // Without bytes in it, it is none of theirs.
                if let state = party.state, other.fetchID == state.id { party.paused.append(other) }
            case .cancel, .cancelKeepingBytes: break
            }
        }
        if let state = party.state {
            let staying = ([work] + party.others + party.paused).map(\.id)
            // Who held it alone is not in the list of those that share it.
            let holders = equals.filter { $0.fetchID == state.id }.map(\.id)
            let members = try tx.members(of: state.id) + holders
            party.strangers = Set(members).subtracting(staying).sorted()
        }
        return party
    }

    /// Whole, and about to get its name when it was last heard of: its file is looked for there,
    /// for it alone. Such a fetch has nobody else, see ``FetchMachine/isJoinable``.
    private func mayHaveItsName(
        _ work: TransferWork, _ tx: borrowing EngineTransaction
    ) throws -> Bool {
        guard let own = work.fetchID else { return false }
        return try tx.fetch(own)?.mayHaveItsName ?? false
    }

    /// What it has of its own is no more than an empty file, or the very fetch in question.
    private func mayGiveUpItsFetch(
        _ work: TransferWork, for fetch: FetchID?, _ tx: borrowing EngineTransaction
    ) throws -> Bool {
        guard let own = work.fetchID, own != fetch else { return true }
        if active[own] != nil { return false }
        return try tx.fetch(own)?.durable.isEmpty ?? true
    }

    private func start(
        _ party: Party, session: String, _ tx: borrowing EngineTransaction, now: Moment,
        _ outcome: inout PlanOutcome
    ) throws -> StartedFetch? {
        for id in party.strangers { try tx.leave(id) }
        let runners = [party.first] + party.others
        for work in runners where work.fetchID != nil && work.fetchID != party.state?.id {
            outcome.deletions += try tx.dropFetch(of: work.id, now: now.wall)
        }
        let home = party.state?.partIdentity == nil ? nil : party.state?.partPath
        let members = try runners.compactMap { try tx.work($0.id) }.map(Subscriber.init)
        let lead =
            home.flatMap {
                Subscribers.successor(among: members, home: FileNaming.directory(of: $0))
            }
            ?? members[0]
        guard let fetch = try tx.take(lead.id, into: party.state?.id, now: now.wall)
        else { return nil }
        var subscribers = Subscribers(leader: lead)
        // Who held it until now and does not lead keeps its count.
        if let state = party.state {
            let holders = runners + party.paused
            for work in holders where work.fetchID == state.id && work.id != lead.id {
                guard state.leader ?? work.id == work.id else { continue }
                try tx.keepCount(of: work.id, in: fetch)
            }
        }
        for subscriber in members where subscriber.id != lead.id {
            _ = try tx.take(subscriber.id, into: fetch, now: now.wall)
            guard let work = try tx.work(subscriber.id) else { continue }
            subscribers.admit(Subscriber(work))
        }
        for work in party.paused {
            guard let now = try tx.work(work.id) else { continue }
            subscribers.admit(Subscriber(now))
        }
        if subscribers.isShared {
            outcome.arePlacesLeft = true
            try tx.share(fetch, among: subscribers.all.map(\.id))
        } else if party.state?.leader != nil {
            try tx.setLeader(of: fetch, to: lead.id)
        }
        // Its numbers are in the store only now.
        guard let work = try tx.work(lead.id), let state = try tx.fetch(fetch) else { return nil }
        let claim = StartedFetch(
            work: work, state: state, session: session, subscribers: subscribers)
        try look(for: runners, claim, tx, now: now)
        return claim
    }

    /// For a start from nothing: a file that may be copied instead, where that was asked for, or
    /// where one was served together with others that may have theirs by now.
    private func look(
        for works: [TransferWork], _ claim: StartedFetch, _ tx: borrowing EngineTransaction,
        now: Moment
    ) throws {
        guard claim.state.durable.isEmpty,
            let work = works.first(where: { $0.request.options.reuse || $0.sharedFetch != nil })
        else { return }
        claim.kept = try tx.finished(like: work, now: now.wall)
    }

    // MARK: - Joining what runs

    /// A fetch under way that this transfer could have asked for itself.
    ///
    /// Who has more to go on from than an empty file goes on from that, and gets `nil`.
    func runningFetch(
        for work: TransferWork, _ subscriberLists: [FetchID: Subscribers],
        _ tx: borrowing EngineTransaction
    ) throws -> FetchID? {
        let candidates = sharing.fetches(work.identityKey)
        guard !candidates.isEmpty, let identity = work.sharedIdentity else { return nil }
        let own = work.fetchID
        if let own, !candidates.contains(own), try !mayGiveUpItsFetch(work, for: nil, tx) {
            return nil
        }
        return candidates.first { fetch in
            guard let entry = active[fetch], !sharing.departing.contains(fetch) else {
                return false
            }
            let subscribers = subscriberLists[fetch] ?? entry.subscribers
            return entry.isOpen(subscribers)
                && FetchIdentity(subscribers.leader.request) == identity
        }
    }

    func subscribers(of fetch: FetchID) throws -> Subscribers {
        guard let entry = active[fetch] else {
            preconditionFailure("only what runs is joined")
        }
        return entry.subscribers
    }

    func join(
        _ work: TransferWork, _ fetch: FetchID, _ subscribers: inout Subscribers,
        _ tx: borrowing EngineTransaction, now: Moment, _ deletions: inout [OrphanedPart]
    ) throws {
        if work.fetchID != fetch { deletions += try tx.dropFetch(of: work.id, now: now.wall) }
        _ = try tx.take(work.id, into: fetch, now: now.wall)
        subscribers.admit(Subscriber(try tx.work(work.id) ?? work))
        try tx.share(fetch, among: [subscribers.leader.id, work.id])
    }
}
