/// The origins of one run of the policy and what each has in use. Most of a queue's head goes to a
/// few of them, whose names would be hashed again and again.
struct OriginTable {
    struct Entry {
        var state: OriginState
        var connections = 0
        var transfers = 0
        /// Why the last candidate could not start; the same for all until one more starts.
        fileprivate var full: WaitReason?
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
            entries[index].full = nil
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

    /// All that it allows is in use.
    mutating func full(_ index: Int, allowed: Int, since: Timestamp) -> WaitReason {
        if var reason = entries[index].full {
            reason.since = since
            return reason
        }
        let reason = WaitReason(
            .originLimit, required: "fewer than \(allowed) at its server",
            current: "\(entries[index].connections)", since: since)
        entries[index].full = reason
        return reason
    }
}
