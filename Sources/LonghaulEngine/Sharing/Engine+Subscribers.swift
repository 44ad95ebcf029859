internal import LonghaulCore
internal import LonghaulStore

/// Who comes to a fetch that runs, and who goes.
extension Engine {
    /// Takes along those that have begun to wait for what is on its way: they need no place. So
    /// many at a time that others get their turn; who is left comes with the next look, or when it
    /// is its own turn.
    func welcome(
        _ tx: borrowing EngineTransaction, now: Moment, _ outcome: inout IntentResult
    ) throws {
        if isLeaving || scope.startsNothing { return }
        var left = Engine.attentionMax
        var haveSomeJoined = false
        let keys = Set(active.values.lazy.filter { $0.isOpen($0.subscribers) }.map(\.identityKey))
        sharing.keepPlaces(in: keys)
        for key in keys.sorted() {
            var last = sharing.place(in: key)
            var isSecondRound = last == nil
            while left > 0, hasRoom(key, outcome.subscriberLists) {
                let ids = try tx.newcomers(
                    key, after: last ?? TransferID(rawValue: 0), limit: left)
                for id in ids where hasRoom(key, outcome.subscriberLists) {
                    last = id
                    guard let work = try tx.work(id), !work.isHeldBack(now.wall),
                        let fetch = try runningFetch(for: work, outcome.subscriberLists, tx),
                        let entry = active[fetch]
                    else { continue }
                    // In its place: a copy for each who joins would be one of all who have.
                    try join(
                        work, fetch, &outcome.subscriberLists[fetch, default: entry.subscribers],
                        tx, now: now,
                        &outcome.deletions)
                    haveSomeJoined = true
                }
                let isAtEnd = ids.count < left
                left -= ids.count
                guard isAtEnd else { continue }
                last = nil
                if isSecondRound { break }
                isSecondRound = true
            }
            sharing.setPlace(last, in: key)
        }
        if left <= 0, haveSomeJoined { outcome.isIncomplete = true }
    }

    /// Of full ones nobody need be looked at.
    private func hasRoom(_ key: Int64, _ subscriberLists: [FetchID: Subscribers]) -> Bool {
        sharing.fetches(key).contains { fetch in
            guard let entry = active[fetch] else { return false }
            return entry.isOpen(subscriberLists[fetch] ?? entry.subscribers)
        }
    }

    enum Parting {
        case cancel
        case expire
        /// It asks for something else now.
        case change
    }

    /// What a change of wants means for one of several that share a fetch. `false` = it has the
    /// fetch for itself.
    func reactTogether(
        to work: TransferWork, in fetch: FetchID, _ tx: borrowing EngineTransaction, now: Moment,
        _ outcome: inout IntentResult
    ) throws -> Bool {
        guard let entry = active[fetch] else { return false }
        note(entry, now: now)
        var subscribers = outcome.subscriberLists[fetch] ?? entry.subscribers
        guard subscribers.isShared, let old = subscribers[work.id] else { return false }
        switch work.want {
        case .cancel, .cancelKeepingBytes:
            return try part(work, from: fetch, .cancel, tx, now: now, &outcome)
        case .pause: try pause(work, fetch, &subscribers, tx, now: now, &outcome)
        case .run:
            guard work.sharedIdentity == FetchIdentity(old.request) else {
                return try part(work, from: fetch, .change, tx, now: now, &outcome)
            }
            if work.phase == .queued {
                guard entry.machine.isJoinable else { return true }
                _ = try tx.take(work.id, into: fetch, now: now.wall)
            }
            subscribers.admit(Subscriber(work))
        }
        outcome.subscriberLists[fetch] = subscribers
        return true
    }

    /// A paused one keeps its part in the bytes, and keeps nothing going.
    private func pause(
        _ work: TransferWork, _ fetch: FetchID, _ subscribers: inout Subscribers,
        _ tx: borrowing EngineTransaction, now: Moment, _ outcome: inout IntentResult
    ) throws {
        guard var subscriber = subscribers[work.id], let machine = active[fetch]?.machine else {
            return
        }
        let leads = work.id == subscribers.leader.id
        // Too late to be seen.
        if leads, machine.isEnding { return }
        subscriber.isWanted = false
        if leads {
            subscriber.bytesFetched = max(subscriber.bytesFetched, machine.state.bytesFetched)
            try tx.keepCount(of: work.id, in: fetch, atLeast: subscriber.bytesFetched)
        }
        subscribers.admit(subscriber)
        if !leads {
            try tx.setQueued(work.id, now: now.wall)
        } else if let next = subscribers.stepDown(home: machine.home) {
            try succeed(machine.state, next, tx)
            try tx.setQueued(work.id, now: now.wall)
        }
        if !subscribers.isWanted { outcome.departures.append((fetch, .requeue)) }
    }

    /// One leaves and the others go on. `false` = there are no others.
    func part(
        _ work: TransferWork, from fetch: FetchID, _ how: Parting,
        _ tx: borrowing EngineTransaction, now: Moment, _ outcome: inout IntentResult
    ) throws -> Bool {
        guard let entry = active[fetch] else { return false }
        note(entry, now: now)
        let machine = entry.machine
        var subscribers = outcome.subscriberLists[fetch] ?? entry.subscribers
        guard subscribers.isShared, subscribers[work.id] != nil else { return false }
        let leads = work.id == subscribers.leader.id
        // Too late to be seen.
        if leads, machine.stage != .sharing || how == .expire, machine.isEnding { return true }
        var numbers = leads ? TransferNumbers(machine.totals) : work.numbers
        numbers.bytesDone = 0
        if leads {
            try tx.keepCount(of: work.id, in: fetch, atLeast: numbers.bytesFetched)
        }
        switch subscribers.remove(work.id, home: machine.home) {
        case .follower: break
        case .succeeded(let next): try succeed(machine.state, next, tx)
        case .wasLast, .wasNotThere: return false
        }
        switch how {
        case .cancel: try tx.cancel(work.id, numbers: numbers, now: now.wall)
        case .expire:
            var error = FetchMachine.expired
            error.transferID = work.id
            error.bytesKept = 0
            try tx.fail(work.id, error: error, numbers: numbers, now: now.wall)
            outcome.failed += 1
        case .change: try tx.setQueued(work.id, now: now.wall)
        }
        try tx.leave(work.id)
        outcome.subscriberLists[fetch] = subscribers
        // With only paused ones left there is nobody to give the file to.
        if !subscribers.isWanted { outcome.departures.append((fetch, .renew)) }
        return true
    }

    /// The part file has the name of the one that led. Where no row tells of it yet, as while the
    /// first bytes come, an engine that is killed leaves it to nobody.
    private func succeed(
        _ state: FetchState, _ next: TransferID, _ tx: borrowing EngineTransaction
    ) throws {
        try tx.save(state)
        try tx.setLeader(of: state.id, to: next)
    }

    /// The bytes of one that gives them up go to one that asks for the same, if there is any.
    func handDown(
        _ fetch: FetchID, of work: TransferWork, _ tx: borrowing EngineTransaction
    ) throws -> Bool {
        if try !tx.isLast(work.id, of: fetch) {
            try tx.leave(work.id)
            return true
        }
        guard let identity = work.sharedIdentity else { return false }
        let peers = try tx.peers(of: work.id, limit: Limits.sharersPerFetch)
        if try peers.isEmpty || tx.fetch(fetch)?.publication != nil { return false }
        for id in peers {
            guard let heir = try tx.work(id), heir.phase == .queued, heir.fetchID == nil,
                heir.want == .run || heir.want == .pause, heir.sharedIdentity == identity
            else { continue }
            try tx.bequeath(fetch, from: work.id, to: id)
            return true
        }
        return false
    }

    /// Others are served than before: after the commit that says so.
    func adopt(_ subscriberLists: [FetchID: Subscribers], now: Moment) {
        for fetch in subscriberLists.keys.sorted() {
            guard let subscribers = subscriberLists[fetch], let entry = active[fetch] else {
                continue
            }
            let before = entry.machine.request
            entry.subscribers = subscribers
            entry.machine.serve(subscribers)
            // What lets it run from now on is not looked at yet.
            if !subscribers.interest.isWithin(watching) { needsPlan = true }
            divideRate(of: entry)
            let isOther =
                !before.isOnWireLike(entry.machine.request) && entry.machine.goesOnWhenAskedAgain
            if entry.machine.stage == .sharing {
                handOut(fetch, now: now)
            } else if isOther || !subscribers.isTimely(now: now.wall) {
                // Off the wire and on again, if anybody's time has come. Where that might cost the
                // bytes, the next request is made in the new way.
                handle(.leave(.requeue), of: fetch, now: now)
            }
        }
        if !subscriberLists.isEmpty { lookAtRunning(now: now) }
    }
}

extension FetchMachine {
    /// The directory of the part file; empty while there is none.
    var home: String { FileNaming.directory(of: state.partPath) }

    /// Its leader is being given the file, or is about to be.
    var isEnding: Bool {
        switch stage {
        case .sharing, .publishing, .left: true
        case .preparing, .moving, .settling, .verifying, .securing: false
        }
    }
}

extension TransferRequest {
    /// Whether requests that are out would be made in the same way. Their rate follows by itself.
    fileprivate func isOnWireLike(_ other: TransferRequest) -> Bool {
        isDiscretionary == other.isDiscretionary && yields == other.yields
            && options.stallTimeout == other.options.stallTimeout
            && options.keepsResponse == other.options.keepsResponse
    }

    private var yields: Bool { options.yields ?? isDiscretionary }
}

extension ActiveFetch {
    /// Whether another one may join those whom it serves.
    func isOpen(_ subscribers: Subscribers) -> Bool {
        machine.isJoinable && subscribers.count < Limits.sharersPerFetch
            && subscribers.leader.request.options.onDuplicate != .separate
    }
}
