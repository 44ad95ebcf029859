internal import LonghaulCore

/// The engine's view of the machine it runs on.
struct MachineConditions {
    private(set) var conditions = Conditions()
    let time: LocalTime
    /// The conditions that are watched: of others nothing is known.
    private(set) var watching: ConditionNeeds
    /// The number of changes to another network.
    private(set) var networkChanges = 0
    private var networkSettlesAt: Instant?

    init(time: LocalTime, watching: ConditionNeeds) {
        self.time = time
        self.watching = watching
    }

    /// The consequences of new conditions.
    struct Change {
        /// Requests that are out were sent over another network.
        var isAnotherNetwork = false
        /// Back-offs end: what failed over the old network may well succeed over this one.
        var isNetworkNew = false
    }

    mutating func watch(_ interest: ConditionNeeds) { watching = interest }

    /// A network that has appeared again needs time: addresses, routes and name servers come one
    /// after the other. It needs none if its source reports all of them complete. The first report
    /// is no change.
    mutating func replace(with new: Conditions, now: Moment) -> Change {
        var change = Change()
        let isOfOneKind = new.network.value == conditions.network.value
        change.isAnotherNetwork = new.network.isAnother(than: conditions.network)
        conditions = new
        if change.isAnotherNetwork { networkChanges += 1 }
        guard change.isAnotherNetwork, new.network.value != .offline else { return change }
        // A link that comes and goes beside one that stays must not hold everything back.
        let isSettling = networkSettlesAt.map { $0 > now.monotonic } ?? false
        if !new.network.hasSettled, !(isSettling && isOfOneKind) {
            networkSettlesAt = now.monotonic + Limits.networkSettleSeconds
        }
        change.isNetworkNew = true
        return change
    }

    func snapshot(now: Moment) -> ConditionSnapshot {
        var settles: Timestamp?
        if let at = networkSettlesAt, at > now.monotonic {
            settles = now.wall + (at - now.monotonic)
        }
        return ConditionSnapshot(conditions: conditions, time: time, networkSettlesAt: settles)
    }
}
