/// The origins of one run of the policy and what each has in use. Most of a queue's head goes to a
/// few origins: the last one is kept, so that its name is not hashed for each candidate.
package struct OriginTable {
    package struct Entry {
        package var state: OriginState
        package var connections = 0
        package var transfers = 0
        /// Why the last candidate could not start; the same for all until one more starts.
        fileprivate var blockage: WaitReason?
    }

    private let states: [OriginID: OriginState]
    private var indexes: [OriginID: Int] = [:]
    private var entries: [Entry] = []
    private var last: (name: OriginID, index: Int)?

    package init(states: [OriginID: OriginState]) {
        self.states = states
    }

    package subscript(index: Int) -> Entry {
        get { entries[index] }
        set {
            entries[index] = newValue
            entries[index].blockage = nil
        }
    }

    package mutating func index(of name: OriginID) -> Int {
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
    package mutating func blockage(
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

/// Names an origin: `scheme://host:port`, see ``URLParts/origin``.
package struct OriginID: RawRepresentable, Hashable, Sendable {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }
}

package struct OriginState: Hashable, Sendable {
    /// Prospects of an origin's transfers. A server that does not answer occupies a place for as
    /// long as each attempt may take: servers that answer, or are untried, must not wait behind it.
    package enum Standing: Hashable, Sendable {
        case answers
        /// No answer yet, and no failure.
        case untried
        /// All requests since its last answer have failed.
        case fails
    }

    package var speaksHTTP2: Bool
    package var health: OriginMemory.Health
    package var standing: Standing
    /// Transfers that may be made ready beyond the origin's connections, because those end so fast
    /// that the wire would wait for the next: see ``PrefetchRate``.
    package var prefetched: Int
    /// See ``OriginMemory/lastFailure``.
    package var lastFailure: String?

    package init(
        speaksHTTP2: Bool = false, health: OriginMemory.Health = .well,
        standing: Standing = .answers, prefetched: Int = 0, lastFailure: String? = nil
    ) {
        self.speaksHTTP2 = speaksHTTP2
        self.health = health
        self.standing = standing
        self.prefetched = prefetched
        self.lastFailure = lastFailure
    }

    /// - Parameter hasAnswered: since this engine began.
    package init(
        _ memory: OriginMemory, hasAnswered: Bool = false, prefetched: Int = 0, now: Timestamp
    ) {
        let isKnown = hasAnswered || memory.speaksHTTP2 || memory.bytesPerSecond != nil
        self.init(
            speaksHTTP2: memory.speaksHTTP2, health: memory.health(at: now),
            standing: memory.failures > 0 ? .fails : isKnown ? .answers : .untried,
            prefetched: prefetched, lastFailure: memory.lastFailure)
    }
}
