internal import LonghaulCore
internal import LonghaulStore

/// The facts that decide about the start of a transfer whose request others may share.
struct StartSnapshot {
    /// A fetch of one of the transfers.
    struct Held {
        var state: FetchState
        /// The transfers that share it.
        var members: Set<TransferID> = []
        /// The fetch is in memory, or is about to be.
        var isActive = false
        /// The part file was on a disk that was not mounted.
        var isAway = false
    }

    /// The transfer whose turn it is.
    var first: TransferWork
    /// Queued transfers with the same request that hold a fetch and are free to share it.
    var equals: [TransferWork] = []
    var fetches: [FetchID: Held] = [:]
}

/// The bytes with which a transfer starts, and the transfers that have a part in them. Others with
/// the same request join the fetch once it runs. Pure.
struct StartDecision: Hashable {
    var leader: TransferID
    /// Transfers that start with the leader: they hold the fetch.
    var followers: [TransferID] = []
    /// Paused holders of bytes in the fetch: they keep their part.
    var paused: [TransferID] = []
    /// Holders with another request: they lose the fetch.
    var strangers: [TransferID] = []
    /// The fetch to continue; `nil` = a new one.
    var fetch: FetchState?

    static func decide(_ snapshot: StartSnapshot) -> StartDecision {
        let first = snapshot.first
        guard let fetch = largest(snapshot) else { return StartDecision(leader: first.id) }
        let sharers = snapshot.equals.filter { $0.fetchID == fetch.id }
        let runners = [first] + sharers.filter { $0.want == .run }
        var decision = StartDecision(leader: leader(of: runners, fetch), fetch: fetch)
        decision.followers = runners.map(\.id).filter { $0 != decision.leader }
        decision.paused = sharers.filter { $0.want == .pause }.map(\.id)
        decision.strangers = (snapshot.fetches[fetch.id]?.members ?? [])
            .subtracting(runners.map(\.id) + decision.paused).sorted()
        return decision
    }

    /// The fetch with most bytes. The first transfer may continue its own even if the disk is away:
    /// it waits for the disk.
    private static func largest(_ snapshot: StartSnapshot) -> FetchState? {
        var best: FetchState?
        for work in [snapshot.first] + snapshot.equals {
            guard let own = work.fetchID, let held = snapshot.fetches[own], !held.isActive,
                work.id == snapshot.first.id || !held.isAway && !held.state.mayHaveItsName
            else { continue }
            if held.state.durable.count > best?.durable.count ?? -1 { best = held.state }
        }
        return best
    }

    private static func leader(of runners: [TransferWork], _ fetch: FetchState) -> TransferID {
        precondition(!runners.isEmpty, "the transfer whose turn it was is among them")
        guard fetch.partIdentity != nil,
            let lead = Subscribers.successor(
                among: runners.map(Subscriber.init), home: FileNaming.directory(of: fetch.partPath))
        else { return runners[0].id }
        return lead.id
    }
}
