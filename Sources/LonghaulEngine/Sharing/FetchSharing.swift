internal import LonghaulCore
internal import LonghaulStore

/// Transfers that join a fetch under way, and transfers that leave one. Reads what is in memory,
/// writes through the transaction, and changes nothing in memory: see ``TurnChanges``.
struct FetchSharing {
    let fetches: ActiveFetches
    let index: CoalescingIndex
    let files: any FilePort
    let now: Moment

    /// Transfers that one transaction examines of those that might join.
    static let newcomersMax = 512

    /// As this transaction has left them.
    private func subscribers(of entry: ActiveFetch, _ changes: TurnChanges) -> Subscribers {
        changes.subscriberLists[entry.id] ?? entry.subscribers
    }

    // MARK: - Joining

    /// Lets transfers join that have begun to wait for what is on its way: they need no place. So
    /// many at a time that others get their turn; the rest joins with the next transaction, or when
    /// it is its own turn.
    func admitNewcomers(
        _ tx: borrowing EngineTransaction, _ changes: inout TurnChanges
    ) throws {
        var left = FetchSharing.newcomersMax
        var haveSomeJoined = false
        let keys = Set(
            fetches.all.lazy.filter { $0.isOpen($0.subscribers) }.map(\.start.identityKey))
        var cursors =
            index.cursors.isEmpty ? [:] : index.cursors.filter { keys.contains($0.key) }
        for key in keys.sorted() {
            var last = cursors[key]
            var isSecondRound = last == nil
            while left > 0, hasRoom(key, changes) {
                let ids = try tx.sharing.newcomers(
                    key, after: last ?? TransferID(rawValue: 0), limit: left)
                for id in ids where hasRoom(key, changes) {
                    last = id
                    if try joinIfEqual(id, tx, &changes) { haveSomeJoined = true }
                }
                let isAtEnd = ids.count < left
                left -= ids.count
                guard isAtEnd else { continue }
                last = nil
                if isSecondRound { break }
                isSecondRound = true
            }
            cursors[key] = last
        }
        changes.joinCursors = cursors
        if left <= 0, haveSomeJoined { changes.isIncomplete = true }
    }

    /// Of full fetches no newcomer is read.
    private func hasRoom(_ key: Int64, _ changes: TurnChanges) -> Bool {
        index.fetches(key).contains { fetch in
            guard let entry = fetches[fetch] else { return false }
            return entry.isOpen(subscribers(of: entry, changes))
        }
    }

    private func joinIfEqual(
        _ id: TransferID, _ tx: borrowing EngineTransaction, _ changes: inout TurnChanges
    ) throws -> Bool {
        guard let work = try tx.transfers.work(id), !work.isHeldBack(now.wall),
            let fetch = try runningFetch(for: work, changes, tx)
        else { return false }
        try join(work, fetch, tx, &changes)
        return true
    }

    /// A fetch under way that this transfer could have started itself; `nil` also for one that
    /// holds bytes in a fetch of its own: it goes on with those.
    func runningFetch(
        for work: TransferWork, _ changes: TurnChanges, _ tx: borrowing EngineTransaction
    ) throws -> FetchID? {
        let candidates = index.fetches(work.identityKey)
        guard !candidates.isEmpty, let identity = work.sharedIdentity else { return nil }
        if let own = work.fetchID, !candidates.contains(own),
            try !mayGiveUpItsFetch(work, for: nil, tx)
        {
            return nil
        }
        return candidates.first { fetch in
            guard let entry = fetches[fetch], !changes.departing.contains(fetch) else {
                return false
            }
            let subscribers = subscribers(of: entry, changes)
            return entry.isOpen(subscribers)
                && FetchIdentity(subscribers.leader.request) == identity
        }
    }

    func join(
        _ work: TransferWork, _ fetch: FetchID, _ tx: borrowing EngineTransaction,
        _ changes: inout TurnChanges
    ) throws {
        guard let entry = fetches[fetch] else {
            preconditionFailure("only an active fetch is joined")
        }
        if work.fetchID != fetch {
            changes.deletions += try tx.fetches.drop(of: work.id, now: now.wall)
        }
        _ = try tx.sharing.start(work.id, into: fetch, now: now.wall)
        let subscriber = Subscriber(try tx.transfers.work(work.id) ?? work)
        // Mutate in place: copying for each join is O(n²).
        changes.subscriberLists[fetch, default: entry.subscribers].admit(subscriber)
        let leader = changes.subscriberLists[fetch]?.leader.id ?? work.id
        try tx.sharing.share(fetch, among: [leader, work.id])
    }

    /// What it has of its own is no more than an empty file, or is the very fetch in question.
    func mayGiveUpItsFetch(
        _ work: TransferWork, for fetch: FetchID?, _ tx: borrowing EngineTransaction
    ) throws -> Bool {
        guard let own = work.fetchID, own != fetch else { return true }
        if fetches[own] != nil { return false }
        return try tx.fetches.state(of: own)?.durable.isEmpty ?? true
    }

    // MARK: - Changed intents of those that share

    /// Why one of several leaves their fetch.
    enum Leaving {
        case cancel
        case expire
        /// It asks for something else now.
        case change
    }

    /// Applies a changed intent to one of several that share a fetch. `false` = it has the fetch
    /// for itself.
    func applyIntent(
        of work: TransferWork, sharing entry: ActiveFetch, _ tx: borrowing EngineTransaction,
        _ changes: inout TurnChanges
    ) throws -> Bool {
        entry.readBoard(files, now: now)
        var subscribers = subscribers(of: entry, changes)
        guard subscribers.isShared, let old = subscribers[work.id] else { return false }
        switch work.want {
        case .cancel, .cancelKeepingBytes:
            return try remove(work, from: entry, .cancel, tx, &changes)
        case .pause: try pause(work, entry, &subscribers, tx, &changes)
        case .run:
            guard work.sharedIdentity == FetchIdentity(old.request) else {
                return try remove(work, from: entry, .change, tx, &changes)
            }
            if work.phase == .queued {
                guard entry.machine.isJoinable else { return true }
                _ = try tx.sharing.start(work.id, into: entry.id, now: now.wall)
            }
            subscribers.admit(Subscriber(work))
        }
        changes.subscriberLists[entry.id] = subscribers
        return true
    }

    /// A paused transfer keeps its part in the bytes, and does not keep the fetch going.
    private func pause(
        _ work: TransferWork, _ entry: ActiveFetch, _ subscribers: inout Subscribers,
        _ tx: borrowing EngineTransaction, _ changes: inout TurnChanges
    ) throws {
        guard var subscriber = subscribers[work.id] else { return }
        let leads = work.id == subscribers.leader.id
        // The end is too near for a pause to be seen.
        if leads, entry.machine.isEnding { return }
        subscriber.isWanted = false
        if leads {
            subscriber.bytesFetched = max(
                subscriber.bytesFetched, entry.machine.state.bytesFetched)
            try tx.sharing.keepCount(of: work.id, in: entry.id, atLeast: subscriber.bytesFetched)
        }
        subscribers.admit(subscriber)
        if !leads {
            try tx.transfers.setQueued(work.id, now: now.wall)
        } else if let next = subscribers.stepDown(home: entry.machine.home) {
            try setLeader(next, of: entry, tx)
            try tx.transfers.setQueued(work.id, now: now.wall)
        }
        if !subscribers.isWanted { changes.departures.append((entry.id, .requeue)) }
    }

    /// One leaves and the others go on. `false` = there are no others.
    func remove(
        _ work: TransferWork, from entry: ActiveFetch, _ why: Leaving,
        _ tx: borrowing EngineTransaction, _ changes: inout TurnChanges
    ) throws -> Bool {
        entry.readBoard(files, now: now)
        var subscribers = subscribers(of: entry, changes)
        guard subscribers.isShared, subscribers[work.id] != nil else { return false }
        assert(subscribers.count > 1, "the others go on")
        let leads = work.id == subscribers.leader.id
        // The end is too near for it to be seen.
        if leads, entry.machine.stage != .sharing || why == .expire, entry.machine.isEnding {
            return true
        }
        var numbers = leads ? entry.machine.totals : work.numbers
        numbers.bytesDone = 0
        if leads {
            try tx.sharing.keepCount(of: work.id, in: entry.id, atLeast: numbers.bytesFetched)
        }
        switch subscribers.remove(work.id, home: entry.machine.home) {
        case .follower: break
        case .succeeded(let next): try setLeader(next, of: entry, tx)
        case .wasLast, .wasNotThere: return false
        }
        switch why {
        case .cancel: try tx.transfers.cancel(work.id, numbers: numbers, now: now.wall)
        case .expire:
            var error = FetchMachine.expired
            error.transferID = work.id
            error.bytesKept = 0
            try tx.transfers.fail(work.id, error: error, numbers: numbers, now: now.wall)
            changes.failed += 1
        case .change: try tx.transfers.setQueued(work.id, now: now.wall)
        }
        try tx.sharing.leave(work.id)
        changes.subscriberLists[entry.id] = subscribers
        // Only paused transfers are left: the file is for none of them now.
        if !subscribers.isWanted { changes.departures.append((entry.id, .renew)) }
        return true
    }

    /// The part file keeps the name of the leader that left. Its row is saved with it: where no row
    /// tells of the file yet, as while the first bytes come, a crash would leave it unrecorded.
    private func setLeader(
        _ next: TransferID, of entry: ActiveFetch, _ tx: borrowing EngineTransaction
    ) throws {
        try tx.fetches.save(entry.machine.state)
        try tx.sharing.setLeader(of: entry.id, to: next)
    }

    /// A transfer gives up its bytes: a fetch that serves others stays theirs, and an equal
    /// transfer without bytes inherits it otherwise. `false` = there is none.
    func passOn(
        _ fetch: FetchID, of work: TransferWork, _ tx: borrowing EngineTransaction
    ) throws -> Bool {
        if try !tx.sharing.isLast(work.id, of: fetch) {
            try tx.sharing.leave(work.id)
            return true
        }
        guard let identity = work.sharedIdentity else { return false }
        let peers = try tx.sharing.peers(of: work.id, limit: Limits.sharersPerFetch)
        if try peers.isEmpty || tx.fetches.state(of: fetch)?.publication != nil { return false }
        for id in peers {
            guard let heir = try tx.transfers.work(id), heir.phase == .queued, heir.fetchID == nil,
                heir.want == .run || heir.want == .pause, heir.sharedIdentity == identity
            else { continue }
            try tx.sharing.bequeath(fetch, from: work.id, to: id)
            return true
        }
        return false
    }
}
