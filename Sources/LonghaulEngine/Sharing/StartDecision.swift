internal import LonghaulCore
internal import LonghaulStore

/// The facts that decide about the start of a transfer whose request others may share.
struct StartSnapshot {
    /// A fetch that is held by one of them.
    struct Held {
        var state: FetchState
        /// All that have it.
        var holders: Set<TransferID> = []
        /// The fetch is in memory: it runs, or is on its way from the wire.
        var isActive = false
        /// The plan has started it just now.
        var isStarted = false
        /// The part file was on a disk that was not mounted.
        var isAway = false
    }

    /// The transfer whose turn it is.
    var first: TransferWork
    /// Queued transfers that ask for the same and are free to share.
    var equals: [TransferWork] = []
    var fetches: [FetchID: Held] = [:]

    /// Tells whether the fetch of its own holds an empty file at most, or is the very fetch in
    /// question.
    fileprivate func mayGiveUpItsFetch(_ work: TransferWork, for fetch: FetchID?) -> Bool {
        guard let own = work.fetchID, own != fetch, let held = fetches[own] else { return true }
        return !held.isActive && held.state.durable.isEmpty
    }

    /// Tells whether a start may go on with this fetch of a transfer. The first transfer may go on
    /// with its own even if the disk is away: it waits for the disk.
    fileprivate func mayContinue(_ held: Held, of work: TransferWork) -> Bool {
        !held.isActive && !held.isStarted && (work.id == first.id || !held.isAway)
    }
}

/// The transfers that start together, the one that leads, and the bytes with which they go on.
/// Pure.
struct StartDecision: Hashable {
    var leader: TransferID
    /// Transfers that start with the leader, in their order.
    var followers: [TransferID] = []
    /// Paused, and with bytes in the fetch: they keep their part in it.
    var paused: [TransferID] = []
    /// Transfers that had the fetch and have it no more.
    var strangers: [TransferID] = []
    /// Transfers that give up a fetch of their own.
    var givingUp: [TransferID] = []
    /// Transfers that held the fetch and do not lead it: they keep their count of bytes.
    var counted: [TransferID] = []
    /// The fetch to go on with; `nil` = a new one.
    var fetch: FetchState?

    var isShared: Bool { !followers.isEmpty || !paused.isEmpty }

    static func decide(_ snapshot: StartSnapshot) -> StartDecision {
        let fetch = largest(snapshot)
        let others = snapshot.equals.filter {
            $0.want == .run && snapshot.mayGiveUpItsFetch($0, for: fetch?.id)
        }
        let runners = [snapshot.first] + others
        // Without bytes in it, a paused transfer has no part in the fetch.
        let paused = snapshot.equals.filter {
            fetch != nil && $0.want == .pause && $0.fetchID == fetch?.id
        }
        var decision = StartDecision(leader: leader(of: runners, fetch))
        decision.followers = runners.map(\.id).filter { $0 != decision.leader }
        decision.paused = paused.map(\.id)
        decision.fetch = fetch
        decision.givingUp = runners.filter { $0.fetchID != nil && $0.fetchID != fetch?.id }
            .map(\.id)
        if let fetch {
            let holders = snapshot.fetches[fetch.id]?.holders ?? []
            decision.strangers = holders.subtracting((runners + paused).map(\.id)).sorted()
            decision.counted = (runners + paused).filter {
                $0.fetchID == fetch.id && $0.id != decision.leader && fetch.leader ?? $0.id == $0.id
            }
            .map(\.id)
        }
        return decision
    }

    /// The fetch with most bytes, even if its transfer is being cancelled.
    private static func largest(_ snapshot: StartSnapshot) -> FetchState? {
        var best: FetchState?
        for work in [snapshot.first] + snapshot.equals {
            guard let own = work.fetchID, let held = snapshot.fetches[own],
                snapshot.mayContinue(held, of: work)
            else { continue }
            if held.state.durable.count > best?.durable.count ?? -1 { best = held.state }
        }
        return best
    }

    private static func leader(of runners: [TransferWork], _ fetch: FetchState?) -> TransferID {
        precondition(!runners.isEmpty, "the transfer whose turn it was is among them")
        guard let fetch, fetch.partIdentity != nil,
            let lead = Subscribers.successor(
                among: runners.map(Subscriber.init), home: FileNaming.directory(of: fetch.partPath))
        else { return runners[0].id }
        return lead.id
    }
}
