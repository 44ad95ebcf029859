internal import LonghaulCore
internal import LonghaulStore

/// The tasks that wait: which may begin in the conditions of the machine, and what triggers have
/// seen of it.
struct PendingTasks {
    private let writer: StoreWriter
    private(set) var head = TaskHead()
    /// Tasks of the last head whose launch a client has asked for, and that could wait.
    private(set) var requested: Set<TaskID> = []
    /// Nothing is known yet of what an earlier engine has left.
    private var isFirst = true
    /// The conditions of the last decision.
    private var seen = Conditions()
    private var machine = MachineFacts()
    /// Conditions that have just changed, until they have settled.
    private var settling: [Settling] = []
    /// Transfers are on the wire; tasks were found since they began.
    private var (hasTransfers, hasSeenTransfers) = (false, false)
    /// The changes of time zones at the last decision; `nil` = there was none.
    private var zoneChanges: Int?
    /// Conditions or the machine have changed since the world was compared.
    private var isWorldStale = true

    init(_ writer: StoreWriter) {
        self.writer = writer
    }

    mutating func replace(_ facts: MachineFacts) {
        machine = facts
        isWorldStale = true
    }

    mutating func conditionsChanged() { isWorldStale = true }

    /// Times of day may mean other moments than at the last decision.
    func hasOtherZones(_ time: LocalTime) -> Bool {
        zoneChanges.map { $0 != time.changes() } ?? false
    }

    /// Returns whether there were none before.
    mutating func transfersBegin() -> Bool {
        defer { hasTransfers = true }
        return !hasTransfers
    }

    mutating func transfersEnd() { (hasTransfers, hasSeenTransfers) = (false, false) }

    /// The tasks that may begin now, and those whose launch was asked for.
    mutating func load(
        _ snapshot: ConditionSnapshot, clockWentBack: Bool, now: Moment
    ) throws(LonghaulError) -> [StoredTask] {
        head = TaskHead()
        if try writer.store.tasks.isEmpty() { return [] }
        let conditions = snapshot.conditions
        // A condition without interest is not read for a while, which is no change.
        let known = conditions.completed(by: seen)
        let changed = Self.changed(seen, known)
        settle(Self.changed(seen, known, areKnown: true), now: now.monotonic)
        let settling = settling
        var settled: Instant?
        let world = WorldFacts(conditions, machine)
        let wasFirst = isFirst
        let zones = snapshot.time.changes()
        let hasOtherZones = zones != zoneChanges
        let comparesWorld = isWorldStale
        let wakes = hasTransfers && !hasSeenTransfers
        var found: [StoredTask] = []
        var requested: Set<TaskID> = []
        var loaded = TaskHead()
        try writer.transaction(.relaxed) { tx in
            let tasks = tx.tasks
            if wasFirst || clockWentBack {
                try tasks.releaseAll()
                try tasks.follow(now: now.wall)
            }
            if hasOtherZones { try tasks.followZones(now: now.wall, snapshot.time) }
            // A request that stands since now compares with what it finds.
            let standing = tx.standingTasks
            let isUnknown = try !standing.isEmpty() && standing.world() == nil
            if comparesWorld || isUnknown {
                try Self.compare(world, standing, isFirst: wasFirst, now: now.wall)
            }
            if !changed.isEmpty {
                try tasks.returnDeferred(
                    { !changed.isDisjoint(with: $0.interest.kinds) }, now: now.wall)
            }
            loaded = try tasks.head(now: now.wall, snapshot.time, isAwake: wakes) { key in
                // A condition that has not been read yet is not known to hold.
                conditions.hasSeen(key.interest) && key.gate(in: snapshot, now: now.wall).isOpen
            }
            (found, settled) = try Self.settled(loaded.due, settling, tasks)
            requested = []
            for task in try tasks.simulated() where task.launch == nil {
                if found.contains(where: { $0.id == task.id }) { continue }
                found.append(task)
                requested.insert(task.id)
            }
        }
        if loaded.holdsBack, let settled = snapshot.networkSettlesAt, settled > now.wall {
            loaded.next = min(loaded.next ?? settled, settled)
        }
        if let settled {
            let at = now.wall + (settled - now.monotonic)
            loaded.next = min(loaded.next ?? at, at)
        }
        // The committed values alone count.
        head = loaded
        self.requested = requested
        isFirst = false
        zoneChanges = zones
        isWorldStale = false
        hasSeenTransfers = hasTransfers
        seen = known
        return found
    }

    private typealias Settling = (what: Set<ConditionKind>, until: Instant)

    /// A job that was stopped does not begin again while its conditions come and go.
    ///
    /// - Returns: The tasks that begin, and when the first of the others may.
    private static func settled(
        _ due: [StoredTask], _ settling: [Settling], _ tasks: TaskQueue
    ) throws -> ([StoredTask], Instant?) {
        var first: Instant?
        let begins = try due.filter { task in
            let until = settling.filter {
                !$0.what.isDisjoint(with: task.eligibility.interest.kinds)
            }
            .map(\.until).max()
            guard let until, try tasks.wasStopped(task) else { return true }
            first = min(first ?? until, until)
            return false
        }
        return (begins, first)
    }

    private mutating func settle(_ changed: Set<ConditionKind>, now: Instant) {
        settling.removeAll { $0.until <= now }
        if !changed.isEmpty {
            settling.append((changed, now + Limits.taskSettleSeconds))
        }
    }

    /// Without standing requests nothing is remembered: the next one compares with what it finds.
    private static func compare(
        _ world: WorldFacts, _ standing: StandingTasks, isFirst: Bool, now: Timestamp
    ) throws {
        if try standing.isEmpty() { return try standing.setWorld(nil) }
        let old = try standing.world()
        let new = old.map { world.completed(by: $0) } ?? world
        if let old {
            var before = old
            // Each engine counts resumes anew.
            if isFirst { before.resumes = new.resumes }
            try standing.fire(new.triggers(since: before), now: now)
        }
        if new != old { try standing.setWorld(new) }
    }

    /// - Parameter areKnown: What was unknown before does not count.
    private static func changed(
        _ old: Conditions, _ new: Conditions, areKnown: Bool = false
    ) -> Set<ConditionKind> {
        Set(
            ConditionKind.allCases.filter {
                old[$0].value != new[$0].value && !(areKnown && old[$0].value == nil)
            })
    }
}

extension WorldFacts {
    init(_ conditions: Conditions, _ machine: MachineFacts) {
        self.init()
        network = conditions.network.value
        identity = conditions.network.identity
        power = conditions.power.value
        bootID = machine.bootID
        resumes = machine.resumes
        mounts = machine.mounts
    }
}
