import LonghaulCore
import LonghaulEngine
import LonghaulStore

/// What has a name in a life with tasks: the networks that the machine is on, the file systems that
/// are mounted, and the files at paths that requests watch.
final class SimNames {
    static let paths: [TaskTrigger] = [.path("/in", settle: 10), .path("/list", settle: 60)]
    static let files = ["/in/a", "/in/b", "/list"]
    static let fileSystems = ["backup", "disk"]
    static let triggers: [TaskTrigger] =
        [.network("home"), .network("work"), .network("den"), .mount("backup"), .mount("disk")]
        + paths
    private static let needs: [(networks: Set<String>, mounts: Set<String>)] = [
        (["home"], []), (["!home"], []), (["home", "work"], []), (["den"], []), (["!den"], []),
        ([], ["backup"]), ([], ["backup", "disk"]), (["home"], ["disk"]),
    ]

    /// What the engine can know of the names.
    struct Sight: Hashable {
        /// `nil` = not known. Offline there are none.
        var networks: Set<String>?
        /// Those that are looked for; `nil` = not known.
        var mounted: [String: Bool]?
        /// Stamps of complete files.
        var files: [TaskTrigger: [String: Int64]] = [:]
    }

    private struct File {
        var stamp: Int64
        var changedAt: Timestamp
        var touchedAt: Instant
        /// No program writes to it from then on.
        var closedAt: Instant
    }

    unowned let tasks: SimTasks
    private var files: [String: File] = [:]
    private var lastStamp: Int64 = 0
    /// When the machine was last on a network, or a file system was mounted, or a file complete.
    private var seenAt: [String: Instant] = [:]
    /// When a launch of a request last told of a file.
    private var toldAt: [Int: [String: Instant]] = [:]

    init(_ tasks: SimTasks) {
        self.tasks = tasks
    }

    private var world: SimWorld { tasks.hosts.world }
    private var now: Instant { world.now.monotonic }

    // MARK: - What happens

    /// The names that go with the network that was drawn, and some file systems.
    func draw() {
        let name = world.conditions.network.identity?.connection
        setNetwork(name.map { [$0] } ?? [], isDen: name == "home")
        let mounted = Self.fileSystems.filter { _ in Bool.random(using: &world.random) }
        mount(Set(mounted))
    }

    private func setNetwork(_ connections: [String], isDen: Bool) {
        guard let state = world.conditions.network.value else {
            // Looked at, and nothing could be found out.
            return world.conditions.network.names = NetworkNames(given: nil, connection: nil)
        }
        guard state != .offline else {
            return world.conditions.network.names = NetworkNames(given: [])
        }
        var names = NetworkNames(given: isDen ? ["den"] : [], connection: connections)
        names.place = NetworkPlace(gateway: isDen ? "0a:01" : "0a:02", prefixes: [])
        world.conditions.network.names = names
        note()
    }

    private func mount(_ names: Set<String>) {
        let directories = Dictionary(uniqueKeysWithValues: names.map { ($0, "/media/\($0)") })
        world.conditions.mounted = Reading(
            MountedFileSystems(directories), source: "test", since: world.now.wall)
        world.say("names: on \(world.conditions.network.names?.all ?? []), mounted \(names)")
        note()
    }

    /// The network has all the names, or another one, and all file systems are mounted.
    func settle(isAway: Bool) {
        let name = isAway ? "away" : "home"
        world.conditions.network = Reading(.unmetered, source: "test", since: world.now.wall)
        world.conditions.network.identity = NetworkIdentity(connection: name)
        setNetwork(isAway ? ["away"] : ["home", "work"], isDen: !isAway)
        mount(Set(Self.fileSystems))
        world.tellConditions()
    }

    /// No network and no file system.
    func leave() {
        world.conditions.network = Reading(.offline, source: "test", since: world.now.wall)
        world.conditions.network.identity = NetworkIdentity()
        setNetwork([], isDen: false)
        mount([])
        world.tellConditions()
    }

    /// A program writes a file, or deletes it.
    func act() {
        let path = Self.files.randomElement(using: &world.random)!
        if world.random.happens(0.2) {
            world.say("\(path) is deleted")
            files[path] = nil
        } else {
            let isLong = world.random.happens(0.3)
            touch(path, for: isLong ? Double.random(in: 0...40, using: &world.random) : 0)
        }
        world.tellMachine()
    }

    func touch(_ path: String, for seconds: Double = 0) {
        lastStamp += 1
        files[path] = File(
            stamp: lastStamp, changedAt: world.now.wall, touchedAt: now, closedAt: now + seconds)
        world.say("\(path) is written for \(seconds) s, as \(lastStamp)")
    }

    // MARK: - What the engine is told

    /// What is at the paths.
    func facts() -> [TaskTrigger: PathFacts] {
        var all: [TaskTrigger: PathFacts] = [:]
        for trigger in Self.paths {
            var facts = PathFacts()
            for (path, file) in files {
                guard let name = Self.name(of: path, at: trigger) else { continue }
                facts.entries[name] = PathFacts.Entry(
                    stamp: file.stamp, changedAt: file.changedAt,
                    isComplete: completeAt(file, trigger) <= now)
            }
            all[trigger] = facts
        }
        return all
    }

    private static func name(of path: String, at trigger: TaskTrigger) -> String? {
        guard let directory = trigger.name else { return nil }
        if path == directory { return "." }
        return path.hasPrefix(directory + "/") ? String(path.dropFirst(directory.count + 1)) : nil
    }

    private func completeAt(_ file: File, _ trigger: TaskTrigger) -> Instant {
        guard case .path(_, let settle) = trigger else { return file.closedAt }
        return file.closedAt + settle
    }

    private func trigger(of path: String) -> TaskTrigger? {
        Self.paths.first { Self.name(of: path, at: $0) != nil }
    }

    var nextMoment: Instant? {
        files.compactMap { path, file -> Instant? in
            guard let at = trigger(of: path).map({ completeAt(file, $0) }) else { return nil }
            return at > now ? at : nil
        }.min()
    }

    /// A file that has become complete is told.
    func advance() {
        note()
        if tasks.machine.paths != facts() { world.tellMachine() }
    }

    private func note() {
        for name in world.conditions.network.names?.all ?? [] { seenAt["network=" + name] = now }
        for name in world.conditions.mounted.value?.directories.keys.sorted() ?? [] {
            seenAt["mount=" + name] = now
        }
        for (path, file) in files {
            guard let trigger = trigger(of: path) else { continue }
            if completeAt(file, trigger) <= now { seenAt[path] = now }
        }
    }

    // MARK: - What requests need

    static func draw(_ needs: inout ConditionNeeds, _ random: inout SeededGenerator) {
        guard random.happens(0.25), let names = Self.needs.randomElement(using: &random) else {
            return
        }
        (needs.networks, needs.mounts) = (names.networks, names.mounts)
    }

    /// What is not known does not hold.
    func lacks(_ must: ConditionNeeds, _ seen: Conditions) -> Bool {
        let isOff = !must.networks.isEmpty && isOn(must.networks, seen) != true
        let mounted = seen.mounted.value?.directories.keys.map { $0 } ?? []
        return isOff || !must.mounts.isSubset(of: mounted)
    }

    /// It is known not to hold.
    func dislikes(_ wish: ConditionNeeds, _ seen: Conditions) -> Bool {
        let isOff = !wish.networks.isEmpty && isOn(wish.networks, seen) == false
        let isAway = wish.mounts.contains { seen.mounted.value?.isMounted($0) == false }
        return isOff || isAway
            || wish.power && seen.power.value == .battery
            || wish.fullPower && seen.savesPower.value == true
    }

    private func isOn(_ networks: Set<String>, _ seen: Conditions) -> Bool? {
        guard let state = seen.network.value else { return nil }
        guard state != .offline else { return false }
        guard let names = seen.network.names?.all else { return nil }
        let isExcluded = networks.contains { name in
            name.first == "!" && names.contains(String(name.dropFirst()))
        }
        let wanted = networks.filter { $0.first != "!" }
        return !isExcluded && (wanted.isEmpty || !wanted.isDisjoint(with: names))
    }

    /// Whether a request can run where the machine is now.
    func suits(_ task: SimTask) -> Bool { !lacks(task.request.requirements, world.conditions) }

    // MARK: - Triggers

    func sight(_ seen: Conditions) -> Sight {
        var sight = Sight()
        if let state = seen.network.value {
            sight.networks = state == .offline ? [] : seen.network.names?.all
        }
        if let mounted = seen.mounted.value, let looked = mounted.looked {
            sight.mounted = Dictionary(
                uniqueKeysWithValues: looked.map { ($0, mounted.isMounted($0) ?? false) })
        }
        for (trigger, facts) in tasks.machine.paths {
            sight.files[trigger] = facts.entries.filter(\.value.isComplete).mapValues(\.stamp)
        }
        return sight
    }

    /// Networks and file systems that are there and were not.
    static func triggers(from old: Sight, to new: Sight) -> Set<TaskTrigger> {
        var all: Set<TaskTrigger> = []
        if let before = old.networks, let after = new.networks {
            for name in after.subtracting(before) { all.insert(.network(name)) }
        }
        for (name, isMounted) in new.mounted ?? [:]
        where isMounted && old.mounted?[name] == false {
            all.insert(.mount(name))
        }
        return all
    }

    /// Files that are complete and were not, each with its last change, by the trigger of its path.
    func news(from old: Sight, to new: Sight) -> [TaskTrigger: (Timestamp, Instant)] {
        var all: [TaskTrigger: (Timestamp, Instant)] = [:]
        for (path, file) in files {
            guard let trigger = trigger(of: path), let name = Self.name(of: path, at: trigger),
                new.files[trigger]?[name] == file.stamp,
                old.files[trigger]?[name] != file.stamp
            else { continue }
            let known = all[trigger]
            if known.map({ $0.1 < file.touchedAt }) ?? true {
                all[trigger] = (file.changedAt, file.touchedAt)
            }
        }
        return all
    }

    /// A launch begins: what it is told has happened since its request was submitted.
    func begin(_ rows: [StoredTask]) throws {
        for row in rows where row.request.job == nil {
            guard let task = tasks.entries[SimTask.number(of: row)] else { continue }
            for event in row.firedBy?.events ?? [] where event.trigger.name != nil {
                tasks.hosts.tally.named += 1
                let names = event.files ?? [event.trigger.rawValue]
                for name in names {
                    guard let seen = seenAt[name], seen >= task.submitted.monotonic else {
                        throw tasks.broken(task, "is told of \(name), which has not happened")
                    }
                    toldAt[task.number, default: [:]][name] = now
                }
            }
        }
    }

    /// A file that was written since a request was submitted, and is there, was not told.
    func isUntold(_ task: SimTask) -> Bool {
        files.contains { path, file in
            guard let trigger = trigger(of: path), task.request.triggers.contains(trigger),
                file.touchedAt > task.submitted.monotonic,
                file.changedAt > task.submitted.wall
            else { return false }
            return toldAt[task.number]?[path].map { $0 < file.touchedAt } ?? true
        }
    }
}

extension SimTasks {
    /// - Parameter settlingFor: Seconds that the network takes longer to settle: the engine counts
    ///   by the wall clock, in milliseconds.
    func lacks(
        _ must: ConditionNeeds, isRunning: Bool, settlingFor: Double = -0.01
    ) -> Bool {
        let seen = hosts.world.visible
        let network = seen.network.value
        let isExternal = seen.power.value == .external
        let isSettling = hosts.world.settlesAt.map { hosts.now < $0 + settlingFor } ?? false
        return must.power && !isExternal || must.unmetered && network != .unmetered
            || must.idle && seen.isIdle.value != true
            || !isExternal && must.battery.map { (seen.battery.value ?? 0) < $0 } ?? false
            || must.network && (network ?? .offline) == .offline
            || must.network && isSettling && !isRunning
            || names.lacks(must, seen)
    }
}
