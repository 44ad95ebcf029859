package import LonghaulCore
internal import LonghaulStore

/// What is decided about hosts from one snapshot. Pure: the same facts give the same launches.
struct LaunchDecision {
    /// Processes to be made; none has begun.
    var orders: [LaunchOrder] = []
    /// When the next host is due; an engine with nothing else to do waits for it.
    var nextLaunch: Timestamp?
    /// When to decide again although nothing happens.
    var nextCheck: Timestamp?

    /// - Parameter lastID: Launches get their numbers before they are recorded.
    static func decide(
        _ snapshot: HostSnapshot, after lastID: LaunchID, now: Timestamp
    ) -> LaunchDecision {
        let plan = LaunchPolicy.plan(snapshot.facts, now: now)
        var decision = LaunchDecision()
        var last = lastID
        for due in plan.due {
            guard let settings = snapshot.settings[due.host] else { continue }
            last = LaunchID(rawValue: last.rawValue + 1)
            decision.orders.append(
                LaunchOrder(
                    id: last, host: due.host, argv: settings.argv, session: due.session,
                    reason: due.reason,
                    budget: settings.eventBudget ?? HostSettings.defaultEventBudget))
        }
        decision.nextLaunch = plan.next
        let check = snapshot.areSomeUnreported ? now + Limits.hostCheckSeconds : nil
        decision.nextCheck = [plan.next, check].compactMap { $0 }.min()
        return decision
    }
}

/// The hosts that have something waiting, and all that decides about them.
struct HostSnapshot {
    var facts: [HostFacts] = []
    var settings: [String: HostSettings] = [:]
    /// Some of them change without a report.
    var areSomeUnreported = false

    static func load(
        from store: Store, _ port: any HostPort, isBusy: (String) -> Bool
    ) throws(LonghaulError) -> HostSnapshot {
        var snapshot = HostSnapshot()
        snapshot.facts = try store.hosts.facts()
        for index in snapshot.facts.indices {
            let name = snapshot.facts[index].name
            snapshot.facts[index].isBusy = isBusy(name)
            guard let host = try store.hosts.find(name) else { continue }
            snapshot.settings[name] = host.settings
            let obstacle = port.obstacle(host.settings.argv[0])
            let isAttached = port.isAttached(name)
            snapshot.facts[index].obstacle = obstacle
            snapshot.facts[index].isAttached = isAttached
            if isAttached || obstacle != nil { snapshot.areSomeUnreported = true }
        }
        return snapshot
    }
}

/// A launch in memory, from the order of its process to the commit of its end.
struct KeptLaunch {
    let host: String
    let session: String
    /// Seconds.
    let budget: Double
    /// When it is asked to end, and then when it is killed; `nil` = it has not begun.
    var endsAt: Instant?
    var isExpired = false
    /// An earlier engine began it, and its exit status is gone with that engine.
    var isAdopted = false
    /// How often its answers could not be recorded.
    var answerFailures = 0
    /// Its answers were given up: its events are told again, whatever its exit status.
    var hasLostAnswers = false
}

/// What a turn tells of hosts.
package struct HostOutlook: Hashable, Sendable {
    /// A launch is being made or runs.
    package var isBusy = false
    /// When the next one is due by the clock.
    package var nextLaunch: Timestamp?
}
