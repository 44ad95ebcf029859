/// The origins of one run of the policy and what each has in use. Most of a queue's head goes to a
/// few origins: the last one is kept, so that its name is not hashed for each candidate.
struct OriginTable {
    struct Entry {
        var state: OriginState
        var connections = 0
        var transfers = 0
        /// Why the last candidate could not start; the same for all until one more starts.
        fileprivate var blockage: WaitReason?
    }

    private let states: [OriginID: OriginState]
    private var indexes: [OriginID: Int] = [:]
    private var entries: [Entry] = []
    private var last: (name: OriginID, index: Int)?

    init(states: [OriginID: OriginState]) {
        self.states = states
    }

    subscript(index: Int) -> Entry {
        get { entries[index] }
        set {
            entries[index] = newValue
            entries[index].blockage = nil
        }
    }

    mutating func index(of name: OriginID) -> Int {
        if let last, last.name == name { return last.index }
        let index = indexes[name] ?? entries.count
        if index == entries.count {
            indexes[name] = index
            entries.append(Entry(state: states[name] ?? OriginState()))
        }
        last = (name, index)
        return index
    }

    /// See ``SchedulerLimits/blockage(of:connections:since:)``.
    mutating func blockage(
        at index: Int, _ limits: SchedulerLimits, since: Timestamp
    ) -> WaitReason? {
        if var reason = entries[index].blockage {
            reason.since = since
            return reason
        }
        entries[index].blockage = limits.blockage(
            of: entries[index].state, connections: entries[index].connections, since: since)
        return entries[index].blockage
    }
}
