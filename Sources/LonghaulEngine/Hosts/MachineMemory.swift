internal import LonghaulCore

/// The machine as the last decision about tasks saw it.
struct MachineMemory {
    var facts = MachineFacts()
    /// An earlier engine may have left tasks.
    private var isFirst = true
    private var seen = Conditions()
    /// Conditions that have just changed, until they have settled.
    private var settling: [(kinds: Set<ConditionKind>, until: Instant)] = []
    /// Transfers are on the wire; a decision was made since they began.
    private var (hasTransfers, hasSeenTransfers) = (false, false)
    /// The changes of time zones; `nil` = nothing was decided yet.
    private var zoneChanges: Int?

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

    /// The changes since the last decision.
    func news(
        _ snapshot: ConditionSnapshot, clockWentBack: Bool, now: Moment
    ) -> TaskNews {
        var news = TaskNews()
        news.world = WorldFacts(snapshot.conditions, facts)
        news.paths = facts.paths
        news.isFirst = isFirst
        news.clockWentBack = clockWentBack
        news.hasOtherZones = zoneChanges != snapshot.time.changes()
        news.changed = Self.changed(seen, known(snapshot))
        news.isAwake = hasTransfers && !hasSeenTransfers
        news.settling = settling(snapshot, now: now.monotonic).map { kinds, until in
            (kinds, now.wall + (until - now.monotonic))
        }
        return news
    }

    /// The decision is committed.
    mutating func remember(_ snapshot: ConditionSnapshot, now: Moment) {
        settling = settling(snapshot, now: now.monotonic)
        seen = known(snapshot)
        isFirst = false
        zoneChanges = snapshot.time.changes()
        hasSeenTransfers = hasTransfers
    }

    /// A condition without interest is not read for a while, which is no change.
    private func known(_ snapshot: ConditionSnapshot) -> Conditions {
        snapshot.conditions.completed(by: seen)
    }

    private func settling(
        _ snapshot: ConditionSnapshot, now: Instant
    ) -> [(kinds: Set<ConditionKind>, until: Instant)] {
        let changed = Self.changed(seen, known(snapshot), areKnown: true)
        let open = settling.filter { $0.until > now }
        return changed.isEmpty ? open : open + [(changed, now + Limits.taskSettleSeconds)]
    }

    /// - Parameter areKnown: Values that were unknown before do not count.
    private static func changed(
        _ old: Conditions, _ new: Conditions, areKnown: Bool = false
    ) -> Set<ConditionKind> {
        Set(
            ConditionKind.allCases.filter {
                (old[$0].value != new[$0].value || old[$0].names?.all != new[$0].names?.all)
                    && !(areKnown && old[$0].value == nil)
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
        names = conditions.network.names
        fileSystems = conditions.mounted.value
    }
}
