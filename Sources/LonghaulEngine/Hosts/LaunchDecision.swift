package import LonghaulCore
internal import LonghaulStore

/// Decisions about hosts from one snapshot. Pure: the same facts give the same launches.
struct LaunchDecision {
    /// Processes to be made; none has begun.
    var orders: [LaunchOrder] = []
    /// When the next host is due; an engine with nothing else to do waits for it.
    var nextLaunch: Timestamp?
    /// When to decide again although nothing happens.
    var nextCheck: Timestamp?
    /// Tasks whose hosts cannot be launched before these moments.
    var putOff: [(TaskID, until: Timestamp)] = []

    /// - Parameter lastID: Launches get their numbers before they are recorded.
    static func decide(
        _ snapshot: HostSnapshot, after lastID: LaunchID, now: Timestamp
    ) -> LaunchDecision {
        let plan = LaunchPolicy.plan(snapshot.facts, now: now)
        var decision = LaunchDecision()
        decision.putOff(snapshot.facts, plan.states, now: now)
        var last = lastID
        var placesLeft = snapshot.placesForTasks
        for due in plan.due {
            guard let settings = snapshot.settings[due.host] else { continue }
            // What a client asks for now is not held up by what it may be there to end.
            if due.session == nil, !due.tasks.contains(where: \.isUrgent) {
                // The others are decided about when a launch has ended.
                if placesLeft <= 0 { continue }
                placesLeft -= 1
            }
            last = LaunchID(rawValue: last.rawValue + 1)
            decision.orders.append(
                LaunchOrder(
                    id: last, host: due.host, argv: settings.argv,
                    resident: snapshot.residents[due.host], session: due.session,
                    tasks: due.tasks.map(\.id), reason: due.reason,
                    budget: settings.budget(of: due), job: settings.job))
        }
        decision.nextLaunch = [plan.next, snapshot.nextTask].compactMap { $0 }.min()
        let check = snapshot.areSomeUnreported ? now + Limits.hostCheckSeconds : nil
        decision.nextCheck = [decision.nextLaunch, check].compactMap { $0 }.min()
        return decision
    }

    /// Puts hosts off that cannot be launched now, so that they are not read in each turn.
    private mutating func putOff(
        _ hosts: [HostFacts], _ states: [String: HostState], now: Timestamp
    ) {
        for host in hosts where !host.tasks.isEmpty {
            switch states[host.name] {
            case .idle, .attached, .due, nil: break
            case .delayed(let at): putOff += host.tasks.map { ($0.id, at) }
            case .running, .blocked:
                putOff += host.tasks.map { ($0.id, now + Limits.hostCheckSeconds) }
            }
        }
    }
}

extension HostSettings {
    /// The longest of all that a launch carries.
    fileprivate func budget(of due: LaunchPolicy.Due) -> Double {
        if let job { return job.budget }
        let short = eventBudget ?? HostSettings.defaultEventBudget
        guard due.tasks.contains(where: { $0.kind == .processing }) else { return short }
        let long = taskBudget ?? HostSettings.defaultTaskBudget
        let isMixed = due.session != nil || due.tasks.contains { $0.kind != .processing }
        return isMixed ? max(short, long) : long
    }
}

/// The hosts that have something waiting, and all that decides about them.
struct HostSnapshot {
    var facts: [HostFacts] = []
    var settings: [String: HostSettings] = [:]
    /// The processes that take what is due, of hosts that have such.
    var residents: [String: StoredResident] = [:]
    /// Some of them change without a report.
    var areSomeUnreported = false
    /// Launches for tasks that may begin now.
    var placesForTasks = 0
    /// When the next task is due.
    var nextTask: Timestamp?

    static func load(
        from store: Store, _ port: any HostPort, tasks: [StoredTask], now: Timestamp,
        isBusy: (String) -> Bool
    ) throws(LonghaulError) -> HostSnapshot {
        var snapshot = HostSnapshot()
        snapshot.facts = try store.hosts.facts()
        var places: [String: Int] = [:]
        for (index, host) in snapshot.facts.enumerated() { places[host.name] = index }
        var known: [String: StoredHost] = [:]
        for task in tasks {
            if known[task.host] == nil { known[task.host] = try store.hosts.find(task.host) }
            let host = known[task.host]
            if places[task.host] == nil {
                var facts = HostFacts(name: task.host)
                facts.failures = host?.failures ?? 0
                facts.retryAt = host?.retryAt
                if host == nil { facts.obstacle = .removed }
                places[task.host] = snapshot.facts.count
                snapshot.facts.append(facts)
            }
            guard let place = places[task.host] else { continue }
            let hasUrgency = host?.urgencyLostUntil.map { $0 <= now } ?? true
            let isUrgent = task.isSimulated || task.isUrgent && hasUrgency
            snapshot.facts[place].tasks.append(
                DueTask(id: task.id, kind: task.kind, isUrgent: isUrgent))
        }
        for index in snapshot.facts.indices {
            let name = snapshot.facts[index].name
            snapshot.facts[index].isBusy = isBusy(name)
            guard let host = try store.hosts.find(name) else { continue }
            snapshot.settings[name] = host.settings
            if host.settings.job != nil {
                // A command takes no events, and one that is missing fails when it is run.
                snapshot.facts[index].sessions = []
                continue
            }
            let obstacle = port.obstacle(host.settings.argv[0])
            let isAttached = port.isAttached(name)
            snapshot.facts[index].obstacle = obstacle
            snapshot.facts[index].isAttached = isAttached
            let residents = try store.residents.all(of: name)
            snapshot.residents[name] = residents.first(where: port.isAlive)
            snapshot.facts[index].hasResident = snapshot.residents[name] != nil
            if isAttached || obstacle != nil { snapshot.areSomeUnreported = true }
        }
        return snapshot
    }
}

/// A task that a launch carries, as far as the end of the launch depends on it.
struct RunningTask {
    let identifier: String
    /// Conditions that must hold while the task runs.
    let required: EligibilityKey
    /// The times within which the run of a job is to be; `nil` = any.
    let windows: TimeWindows?
    let expires: Bool
    let isProcessing: Bool

    /// - Parameter isRequested: It begins whatever it waits for, and loses nothing by it.
    init(_ task: StoredTask, isRequested: Bool = false) {
        identifier = task.request.identifier
        required = task.request.eligibility.eligibility.waived
        windows = task.request.job?.windows
        expires =
            task.kind != .wakeUp && task.request.expiresWhenRequirementIsLost && !isRequested
        isProcessing = task.kind == .processing
    }

    /// The task has lost what it needs, and is to end.
    func isLost(in conditions: ConditionSnapshot, now: Timestamp) -> Bool {
        if !expires { return false }
        if let windows, !windows.phase(at: now, conditions.time).isOpen { return true }
        return conditions.conditions.hasSeen(required.interest)
            && !required.gate(in: conditions, now: now, isRunning: true).isOpen
    }

    /// The moment at which its window closes; `nil` = it has none, or goes on then.
    func closesAt(now: Timestamp, _ time: LocalTime) -> Timestamp? {
        expires ? windows?.phase(at: now, time).until : nil
    }

    /// Work of this kind may use the processor as long as there is external power.
    var mayCompute: Bool { isProcessing && required.interest.power }
}

/// Report of a turn about hosts.
package struct HostOutlook: Hashable, Sendable {
    /// A launch is being made or runs.
    package var isBusy = false
    /// A launch of a host is among these. A run of a job may last for ever, and needs no engine.
    package var isBusyWithHosts = false
    /// When the next one is due by the clock.
    package var nextLaunch: Timestamp?
    /// Requests wait, for a moment, a condition or a trigger.
    package var hasPendingTasks = false
    /// Triggers that standing requests wait for.
    package var triggers = TriggerSet(rawValue: 0)
    /// The conditions that decide about tasks.
    package var interest = ConditionNeeds()
    /// A run of a job keeps the machine awake.
    package var keepsAwake = false
}
