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
    /// Names of the network; `nil` = not known. Offline there are none.
    package var names: NetworkNames?
    /// The file systems that triggers name; `nil` = not known.
    package var fileSystems: MountedFileSystems?
    /// By each path that a trigger watches, the stamps of its complete files (``PathFacts``).
    package var paths: [String: [String: Int64]]?

    package init() {}
}

/// Facts of the machine that triggers need besides its conditions.
package struct MachineFacts: Hashable, Sendable {
    package var bootID: String?
    /// How often it has woken since this engine began.
    package var resumes = 0
    /// The numbers of its mounts; `nil` = not read.
    package var mounts: Set<Int64>?
    /// What is at the paths that triggers watch.
    package var paths: [TaskTrigger: PathFacts] = [:]

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
        case .fileSystem(let name):
            fileSystems?.isMounted(name) == true && old.fileSystems?.isMounted(name) == false
        case .network(let name): has(comeOnto: name, since: old)
        // Told by the files: see ``follow(_:_:since:submitted:)``.
        case .path: false
        }
    }

    private func has(comeOnto network: String, since old: WorldFacts) -> Bool {
        guard let names, let before = old.names else { return false }
        if names.connection?.contains(network) == true, let known = before.connection,
            !known.contains(network)
        {
            return true
        }
        guard names.given?.contains(network) == true, let known = before.given else { return false }
        // A network that gets its name while the machine is on it stays the same.
        let isSame = before.place.map { names.place?.isSame(as: $0) ?? false } ?? false
        return !known.contains(network) && !isSame
    }

    /// The triggers that have fired, those with a name among the ones asked for.
    package func events(
        since old: WorldFacts, for watched: Set<TaskTrigger>
    ) -> [TriggerEvent] {
        let named = watched.filter { $0.name != nil && has(happened: $0, since: old) }
        return (triggers(since: old) + named.sorted { $0.rawValue < $1.rawValue }).map { trigger in
            guard case .fileSystem(let name) = trigger, let path = fileSystems?.directories[name]
            else { return TriggerEvent(trigger) }
            return TriggerEvent(trigger, path: path.isEmpty ? nil : path)
        }
    }

    /// Records what is at a path.
    ///
    /// - Parameter facts: `nil` = it was not read.
    /// - Returns: The event where files are new there.
    package mutating func follow(
        _ trigger: TaskTrigger, _ facts: PathFacts?, since old: WorldFacts, submitted: Timestamp
    ) -> TriggerEvent? {
        let seen = old.paths?[trigger.rawValue]
        guard let facts, let path = trigger.name else {
            paths = paths ?? [:]
            paths?[trigger.rawValue] = seen
            return nil
        }
        let (now, files) = facts.compare(with: seen, submitted: submitted, at: path)
        paths = paths ?? [:]
        paths?[trigger.rawValue] = now
        return files.isEmpty ? nil : TriggerEvent(trigger, files: files)
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
        all.names = completedNames(by: old)
        all.fileSystems = fileSystems ?? old.fileSystems
        return all
    }

    private func completedNames(by old: WorldFacts) -> NetworkNames? {
        guard let isOnline else { return old.names }
        if !isOnline { return NetworkNames(given: [], connection: []) }
        guard var all = names, let before = old.names else { return names ?? old.names }
        if all.given == nil { (all.given, all.place) = (before.given, before.place) }
        // NetworkManager may begin anew.
        if all.connection?.isEmpty ?? true { all.connection = before.connection }
        return all
    }
}
