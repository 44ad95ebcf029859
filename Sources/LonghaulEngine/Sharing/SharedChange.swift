internal import LonghaulCore
internal import LonghaulStore

/// A fetch in memory, as decisions about its transfers see it.
struct SharedFetch {
    /// The subscribers as the open transaction has left them.
    var subscribers: Subscribers
    /// The totals, with the bytes that have come so far.
    var totals: TransferTotals
    /// The directory of the part file; empty without one.
    var home = ""
    /// The URL that is asked.
    var url = ""
    /// The whole file is being copied to the transfers that share it.
    var isSharing = false
    /// The leader is being given the file, or is about to be.
    var isEnding = false
    /// See ``FetchMachine/isJoinable``.
    var isJoinable = true
    /// See ``FetchMachine/isBeingCancelled``.
    var isBeingCancelled = false
}

extension SharedFetch {
    init(_ entry: ActiveFetch, _ subscribers: Subscribers) {
        let machine = entry.machine
        self.init(
            subscribers: subscribers, totals: machine.totals, home: machine.frame.bytes.state.home,
            url: machine.url, isSharing: entry.stage == .sharing,
            isEnding: entry.stage.isEnding,
            isJoinable: machine.isJoinable, isBeingCancelled: machine.isBeingCancelled)
    }
}

/// The meaning of a changed intent of one of several transfers for the fetch that they share. Pure.
struct SharedChange: Hashable {
    /// The consequence for the transfer.
    enum Outcome: Hashable {
        /// The transfer continues in the fetch.
        case stays
        /// The transfer was queued, and runs again.
        case joins
        /// The transfer waits, and keeps its part in the bytes.
        case pauses
        /// The transfer has left the fetch.
        case cancelled, expired, requeued

        var leaves: Bool {
            switch self {
            case .stays, .joins, .pauses: false
            case .cancelled, .expired, .requeued: true
            }
        }
    }

    var outcome: Outcome
    /// Transfers that the fetch serves from now on.
    var subscribers: Subscribers
    /// The transfer that leads from now on; `nil` = as before.
    var leader: TransferID?
    /// Bytes that were received for the transfer while it led.
    var bytesCounted: Int64?
    /// The numbers with which it ends.
    var numbers = TransferTotals()
    /// The fetch leaves the wire.
    var departure: FetchDeparture?

    /// `nil` = nothing changes: its end is too near, or it cannot join any more.
    static func decide(_ work: TransferWork, in fetch: SharedFetch) -> SharedChange? {
        guard let old = fetch.subscribers[work.id] else { return nil }
        switch work.want {
        case .cancel, .cancelKeepingBytes: return leaving(work, fetch, .cancelled)
        case .pause: return pausing(old, fetch)
        case .run:
            guard work.sharedIdentity == FetchIdentity(old.request),
                !work.eligibility.waitsForTransfers
            else {
                return leaving(work, fetch, .requeued)
            }
            let joins = work.phase == .queued
            if joins, !fetch.isJoinable { return nil }
            var change = SharedChange(
                outcome: joins ? .joins : .stays, subscribers: fetch.subscribers)
            change.subscribers.admit(Subscriber(work))
            return change
        }
    }

    /// A transfer leaves and the others continue.
    static func leaving(
        _ work: TransferWork, _ fetch: SharedFetch, _ outcome: Outcome
    ) -> SharedChange? {
        let leads = work.id == fetch.subscribers.leader.id
        if leads, fetch.isEnding, !fetch.isSharing || outcome == .expired { return nil }
        var change = SharedChange(outcome: outcome, subscribers: fetch.subscribers)
        change.numbers = leads ? fetch.totals : work.numbers
        change.numbers.bytesDone = 0
        if leads { change.bytesCounted = change.numbers.bytesFetched }
        switch change.subscribers.remove(work.id, home: fetch.home) {
        case .follower: break
        case .succeeded(let next): change.leader = next
        case .wasLast, .wasNotThere: preconditionFailure("one of several leaves")
        }
        // The rest are paused transfers: the file is for none of them now.
        if !change.subscribers.isWanted { change.departure = .renew }
        return change
    }

    /// A paused transfer keeps its part in the bytes, and does not keep the fetch going.
    private static func pausing(_ old: Subscriber, _ fetch: SharedFetch) -> SharedChange? {
        let leads = old.id == fetch.subscribers.leader.id
        if leads, fetch.isEnding { return nil }
        var subscriber = old
        subscriber.isWanted = false
        var change = SharedChange(outcome: .pauses, subscribers: fetch.subscribers)
        if leads {
            subscriber.bytesFetched = max(old.bytesFetched, fetch.totals.bytesFetched)
            change.bytesCounted = subscriber.bytesFetched
        }
        change.subscribers.admit(subscriber)
        if leads {
            change.leader = change.subscribers.stepDown(home: fetch.home)
            // The transfer goes back to the queue with the fetch.
            if change.leader == nil { change.outcome = .stays }
        }
        if !change.subscribers.isWanted { change.departure = .requeue }
        return change
    }
}
