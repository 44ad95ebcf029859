internal import LonghaulCore
internal import LonghaulStore

/// Transfers that join a fetch under way, and transfers that leave one. Reads what is in memory,
/// writes through the transaction, and changes nothing in memory: see ``TurnChanges``.
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

    /// Lets transfers join that have begun to wait for what is on its way: they need no place. So
    /// many at a time that others get their turn; the rest joins with the next transaction, or when
    /// it is its own turn.
    func admitNewcomers(
        _ tx: borrowing EngineTransaction, _ changes: inout TurnChanges
    ) throws {
        var left = Limits.newcomersPerTransaction
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

    /// A fetch under way that this transfer could have started itself; `nil` also for one that
    /// holds bytes in a fetch of its own: it goes on with those.
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

    /// Tells whether the fetch of its own holds no more than an empty file.
    private func mayGiveUpItsFetch(
        _ work: TransferWork, _ tx: borrowing EngineTransaction
    ) throws -> Bool {
        guard let own = work.fetchID else { return true }
        if fetches[own] != nil { return false }
        return try tx.fetches.state(of: own)?.durable.isEmpty ?? true
    }

    // MARK: - Changed intents of those that share

    /// The facts by which the transfers of this fetch are decided about.
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
        case .joins: _ = try tx.sharing.start(work.id, into: entry.id, now: now.wall)
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
