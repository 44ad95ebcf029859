internal import LonghaulCore
internal import LonghaulStore

/// Transfers that join a fetch under way, and transfers that leave one. Reads memory, writes
/// through the transaction, and changes nothing in memory: see ``TurnChanges``.
struct FetchSharing {
    let fetches: ActiveFetches
    let index: CoalescingIndex
    let files: any FilePort
    let now: Moment

    /// The subscribers as this transaction has left them.
    private func subscribers(of entry: ActiveFetch, _ changes: TurnChanges) -> Subscribers {
        changes.subscriberLists[entry.id] ?? entry.subscribers
    }

    // MARK: - Joining

    /// Lets queued transfers join the fetch of their request: they need no place. The rest joins
    /// with the next transaction, or when it is its own turn.
    func admitNewcomers(
        _ tx: borrowing EngineTransaction, _ changes: inout TurnChanges
    ) throws {
        var left = Limits.newcomersPerTransaction
        let keys = Set(
            fetches.all.lazy.filter { $0.isOpen($0.subscribers) }.map(\.start.identityKey))
        for key in keys.sorted() where left > 0 && hasRoom(key, changes) {
            let queued = try tx.sharing.queued(key, .run, limit: Limits.newcomersPerTransaction)
            for (id, _) in queued.reversed() where left > 0 && hasRoom(key, changes) {
                if try joinIfEqual(id, tx, &changes) { left -= 1 }
            }
        }
        if left <= 0 { changes.isIncomplete = true }
    }

    /// Tells whether a fetch of this key has room: for full fetches no newcomer is read.
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

    /// A fetch under way with the request of this transfer; `nil` also for a transfer that holds
    /// bytes in another fetch: it continues with those.
    func runningFetch(
        for work: TransferWork, _ changes: TurnChanges, _ tx: borrowing EngineTransaction
    ) throws -> FetchID? {
        let candidates = index.fetches(work.identityKey)
        guard !candidates.isEmpty, let identity = work.sharedIdentity else { return nil }
        if let own = work.fetchID, !candidates.contains(own),
            try !mayGiveUpItsFetch(work, tx)
        {
            return nil
        }
        return candidates.first { fetch in
            guard let entry = fetches[fetch], !changes.departing.contains(fetch) else {
                return false
            }
            // A paused transfer keeps its part in a fetch that runs: another would serve it twice.
            if let own = work.fetchID, candidates.contains(own), own != fetch { return false }
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
        let free = try giveUpFetch(of: work, for: fetch, tx, &changes)
        let (joined, _) = try tx.sharing.start(free, into: entry.machine.state, now: now.wall)
        // Mutate in place: copying for each join is O(n²).
        changes.subscriberLists[fetch, default: entry.subscribers].admit(Subscriber(joined))
        let leader = changes.subscriberLists[fetch]?.leader.id ?? work.id
        try tx.sharing.share(fetch, among: [leader, work.id])
    }

    /// Drops the fetch that a transfer holds, unless it is this one.
    func giveUpFetch(
        of work: TransferWork, for fetch: FetchID?, _ tx: borrowing EngineTransaction,
        _ changes: inout TurnChanges
    ) throws -> TransferWork {
        if work.fetchID == nil || work.fetchID == fetch { return work }
        changes.deletions += try tx.fetches.drop(of: work.id, now: now.wall)
        return try tx.transfers.work(work.id) ?? work
    }

    /// Tells whether the transfer holds no fetch, or one with an empty file.
    func mayGiveUpItsFetch(
        _ work: TransferWork, _ tx: borrowing EngineTransaction
    ) throws -> Bool {
        guard let own = work.fetchID else { return true }
        if fetches[own] != nil { return false }
        return try tx.fetches.state(of: own)?.durable.isEmpty ?? true
    }

    // MARK: - Changed intents

    /// The facts for decisions about the transfers of this fetch.
    func sharedFetch(_ entry: ActiveFetch, _ changes: TurnChanges) -> SharedFetch {
        entry.readBoard(files, now: now)
        return SharedFetch(entry, subscribers(of: entry, changes))
    }

    func write(
        _ change: SharedChange, _ work: TransferWork, _ entry: ActiveFetch,
        _ tx: borrowing EngineTransaction, _ changes: inout TurnChanges
    ) throws {
        if let bytes = change.bytesCounted {
            try tx.sharing.keepCount(of: work.id, in: entry.id, atLeast: bytes)
        }
        if let leader = change.leader { try setLeader(leader, of: entry, tx) }
        switch change.outcome {
        case .stays: break
        case .joins: try tx.sharing.start(work, into: entry.machine.state, now: now.wall)
        case .pauses, .requeued: try tx.transfers.setQueued(work.id, now: now.wall)
        case .cancelled: try tx.transfers.cancel(work.id, numbers: change.numbers, now: now.wall)
        case .expired:
            let error = LonghaulError.deadlinePassed(work.id, after: work.error, bytesKept: 0)
            try tx.transfers.fail(work.id, error: error, numbers: change.numbers, now: now.wall)
            changes.failed.append((work.id, error))
        }
        if change.outcome.leaves { try tx.sharing.leave(work.id) }
        changes.subscriberLists[entry.id] = change.subscribers
        if let departure = change.departure { changes.departures.append((entry.id, departure)) }
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
    /// transfer without bytes inherits it otherwise. `false` = no transfer does.
    func passOn(
        _ fetch: FetchID, of work: TransferWork, _ tx: borrowing EngineTransaction
    ) throws -> Bool {
        if try !tx.sharing.isLast(work.id, of: fetch) {
            try tx.sharing.leave(work.id)
            return true
        }
        guard let identity = work.sharedIdentity,
            try tx.fetches.state(of: fetch)?.publication == nil
        else { return false }
        let peers = try tx.sharing.queued(
            work.identityKey, .pause, limit: Limits.sharersPerFetch)
        for (id, own) in peers where own == nil {
            guard let heir = try tx.transfers.work(id), heir.sharedIdentity == identity
            else { continue }
            try tx.sharing.bequeath(fetch, from: work.id, to: id)
            return true
        }
        return false
    }
}

extension TransferWork {
    /// The numbers of its fetch, if the transfer leads one.
    func currentNumbers(_ tx: borrowing EngineTransaction) throws -> TransferTotals {
        guard let fetchID, let state = try tx.fetches.state(of: fetchID), state.leader ?? id == id
        else {
            return numbers
        }
        return TransferTotals(state)
    }
}

/// The fetches that are under way, by their requests, so that equal requests share one. A
/// reference: transactions read it, and a copy of its tables for each of them would cost O(n).
final class CoalescingIndex {
    /// Fetches whose part files were on a disk that was not mounted when a transfer with a
    /// destination elsewhere came for them.
    private(set) var away: Set<FetchID> = []
    /// Fetches by key. Few have the same key, and those are compared by their whole identity.
    private var fetches: [Int64: [FetchID]] = [:]
    /// Ordered and not answered yet, also of fetches that have left: an engine that ends before
    /// would leave an unrecorded file behind.
    private(set) var copiesUnderWay = 0

    func fetches(_ key: Int64) -> [FetchID] { fetches[key] ?? [] }

    func add(_ fetch: FetchID, _ key: Int64) {
        assert(!fetches(key).contains(fetch), "a fetch is added once")
        fetches[key, default: []].append(fetch)
    }

    func remove(_ fetch: FetchID, _ key: Int64) {
        fetches[key]?.removeAll { $0 == fetch }
        if fetches[key]?.isEmpty == true { fetches[key] = nil }
    }

    func countOrdered(_ copies: Int) { copiesUnderWay += copies }

    /// Before the fetch's machine gets the event.
    func settle(_ event: FetchEvent, of fetch: FetchID) {
        if event.settles == .copy { copiesUnderWay -= 1 }
        if case .prepared = event { away.remove(fetch) }
        if case .prepareFailed(let fault) = event, fault.unmounted != nil { away.insert(fetch) }
        precondition(copiesUnderWay >= 0, "a copy is answered once")
    }
}
