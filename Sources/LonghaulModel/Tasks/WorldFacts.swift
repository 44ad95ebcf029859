/// Facts that triggers compare: the machine as it was last read.
package struct WorldFacts: Hashable, Codable, Sendable {
    package var network: NetworkState?
    /// Identity of the network, or of the last one if there is none; `nil` = not known.
    package var identity: NetworkIdentity?
    package var power: PowerSource?
    package var bootID: String?
    /// How often the machine has slept and woken, since this engine began.
    package var resumes = 0
    /// Numbers of the mounts; `nil` = not known.
    package var mounts: Set<Int64>?

    package init() {}
}

/// Facts of the machine that triggers need besides its conditions.
package struct MachineFacts: Hashable, Sendable {
    package var bootID: String?
    /// How often it has woken since this engine began.
    package var resumes = 0
    /// The numbers of its mounts; `nil` = not read.
    package var mounts: Set<Int64>?

    package init(bootID: String? = nil) {
        self.bootID = bootID
    }
}

extension WorldFacts {
    /// Triggers that fired between two readings: pure. A value that is unknown before or after is
    /// no change.
    package func triggers(since old: WorldFacts) -> [TaskTrigger] {
        TaskTrigger.allCases.filter { has(happened: $0, since: old) }
    }

    private func has(happened trigger: TaskTrigger, since old: WorldFacts) -> Bool {
        switch trigger {
        case .online: isOnline == true && old.isOnline == false
        case .networkChange:
            isOnline == true && isAnotherNetwork(than: old)
        case .power: power == .external && old.power == .battery
        case .battery: power == .battery && old.power == .external
        case .resume: resumes > old.resumes
        case .boot: bootID != nil && old.bootID != nil && bootID != old.bootID
        case .mount:
            bootID == old.bootID && !(mounts ?? []).isSubset(of: old.mounts ?? mounts ?? [])
        }
    }

    private func isAnotherNetwork(than old: WorldFacts) -> Bool {
        guard let identity, var before = old.identity else { return false }
        return before.follow(identity)
    }

    private var isOnline: Bool? { network.map { $0 != .offline } }

    /// Fills values that are unknown now with the old ones.
    package func completed(by old: WorldFacts) -> WorldFacts {
        var all = self
        if network == nil { all.network = old.network }
        // A network counts from when it is online: it may be there before.
        all.identity = old.identity ?? identity
        if let identity, isOnline == true { _ = all.identity?.follow(identity) }
        if power == nil { all.power = old.power }
        if bootID == nil { all.bootID = old.bootID }
        if mounts == nil { all.mounts = old.mounts }
        return all
    }
}

/// Triggers as bits, as they are stored: never renumber.
package struct TriggerSet: OptionSet, Hashable, Sendable {
    package let rawValue: Int

    package init(rawValue: Int) {
        self.rawValue = rawValue
    }

    package init(_ triggers: [TaskTrigger]) {
        self.init(rawValue: triggers.reduce(0) { $0 | TriggerSet.bit($1) })
    }

    package var all: [TaskTrigger] {
        TaskTrigger.allCases.filter { rawValue & TriggerSet.bit($0) != 0 }
    }

    private static func bit(_ trigger: TaskTrigger) -> Int {
        switch trigger {
        case .online: 1
        case .networkChange: 2
        case .power: 4
        case .battery: 8
        case .resume: 16
        case .boot: 32
        case .mount: 64
        }
    }

    /// The conditions that have to be watched for these.
    package var interest: ConditionNeeds {
        let triggers = all
        return ConditionNeeds(
            power: triggers.contains(.power) || triggers.contains(.battery),
            network: triggers.contains(.online) || triggers.contains(.networkChange))
    }
}
