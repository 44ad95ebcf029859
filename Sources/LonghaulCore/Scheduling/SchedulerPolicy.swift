package import LonghaulModel

/// Decides about the schedule: a pure function. The engine acts on its plan; `why` and `list`
/// derive reasons from the same gates and limits, see ``PublishedLimits``.
package struct SchedulerPolicy: Sendable {
    package var limits: SchedulerLimits

    package init(limits: SchedulerLimits = SchedulerLimits()) {
        self.limits = limits
    }

    package struct Plan: Hashable, Sendable {
        /// Transfers to start, in order.
        package var starts: [TransferID] = []
        /// The one of them that starts because it has waited longest, out of the order.
        package var overdue: TransferID?
        /// Transfers among the starts that are made ready for a connection that others have now.
        package var prefetched: Set<TransferID> = []
        /// Running transfers whose conditions no longer hold, or whose turn is over; bytes are
        /// kept.
        package var stops: [Waiting] = []
        /// Every candidate that does not start, in the order of its turn.
        package var waiting: [Waiting] = []
        /// Something is ready by time and not by its conditions or its window. Transfers that wait
        /// for others do not count: they are notified when the others end.
        package var holdsBack = false
        /// When the clock alone may let something start: a window, a network that settles, a
        /// cool-down.
        package var nextStart: Timestamp?
        /// When the clock alone stops something that runs: the end of a window.
        package var nextStop: Timestamp?

        package init() {}

        /// When the clock alone changes the plan.
        package var nextWake: Timestamp? { [nextStart, nextStop].compactMap { $0 }.min() }

        /// A free place would let one of the candidates start. A place does not help where a server
        /// has asked for a pause, or where the time box is too short.
        package var isPlaceAwaited: Bool {
            waiting.contains { $0.reason.reason != .engine && $0.reason.nextCheck == nil }
        }
    }

    package struct Waiting: Hashable, Sendable {
        package var id: TransferID
        /// All reasons that hold it; never empty.
        package var reasons: [WaitReason]

        package var reason: WaitReason { reasons[0] }
    }

    /// - Parameters:
    ///   - head: Transfers that time makes ready.
    ///   - ready: Eligibilities with a ready transfer, whether or not it is in `head`.
    ///   - origins: States of their origins; a missing one is well and speaks HTTP/1.1.
    ///   - box: The time that the engine has, when it is bounded.
    package func plan(
        head: [Candidate], ready: [EligibilityKey] = [], running: [Running],
        origins: [OriginID: OriginState], in snapshot: ConditionSnapshot = ConditionSnapshot(),
        box: TimeBox? = nil, now: Timestamp
    ) -> Plan {
        var runningGates = GateTable(snapshot: snapshot, isRunning: true, now: now)
        let stops = running.filter { !$0.isLetFinish }.compactMap { transfer in
            let gate = runningGates.gate(
                ofAny: transfer.anyOf.isEmpty ? [transfer.eligibility] : transfer.anyOf)
            return gate.isOpen ? nil : Waiting(id: transfer.id, reasons: gate.reasons)
        }
        var gates = GateTable(snapshot: snapshot, isRunning: false, now: now)
        // Transfers that stop hold their places until they have left the wire.
        var turn = SchedulerTurn(
            limits: limits, running: running, origins: origins, box: box, now: now)
        turn.plan.stops = stops
        var open: [Candidate] = []
        for candidate in head {
            let gate = gates.gate(of: candidate.eligibility)
            if gate.isOpen {
                open.append(candidate)
            } else {
                turn.hold(candidate, gate.reasons)
            }
        }
        for eligibility in ready { _ = gates.gate(of: eligibility) }
        turn.startOverdue(&open)
        // Candidates that fit into the box go first; the others are cut at its end.
        let fits = { (candidate: Candidate) in candidate.fits(box) }
        for (_, group) in grouped(open.filter(fits), now: now) { turn.serve(group) }
        for (_, group) in grouped(open.filter { !fits($0) }, now: now) { turn.serve(group) }
        turn.endTurn()
        let decided = turn.plan.starts.count + turn.plan.waiting.count
        assert(decided == head.count, "a candidate starts or waits")
        turn.plan.holdsBack = gates.isAnyClosed
        let starts = [gates.changesAt] + turn.plan.waiting.map(\.reason.nextCheck)
        turn.plan.nextStart = starts.compactMap { $0 }.filter { $0 > now }.min()
        turn.plan.nextStop = runningGates.changesAt
        return turn.plan
    }

    /// Groups candidates by rank, best first; inside a group by slack, then age. Clients may have
    /// exchanged turns.
    private func grouped(_ head: [Candidate], now: Timestamp) -> [(Rank, [Candidate])] {
        var sorted = head.map { (rank: Rank($0, now: now), candidate: $0) }
        sorted.sort { left, right in
            left.rank != right.rank
                ? left.rank < right.rank : left.candidate.isBefore(right.candidate, now: now)
        }
        Line.exchangeTurns(&sorted)
        var groups: [(Rank, [Candidate])] = []
        for (rank, candidate) in sorted {
            if groups.last?.0 == rank {
                groups[groups.count - 1].1.append(candidate)
            } else {
                groups.append((rank, [candidate]))
            }
        }
        return groups
    }
}

/// The gates of one plan, each decided once.
private struct GateTable {
    private let snapshot: ConditionSnapshot
    private let isRunning: Bool
    private let now: Timestamp
    private var known: [EligibilityKey: Gate] = [:]
    /// When the clock alone changes one of the checked eligibilities.
    private(set) var changesAt: Timestamp?
    private(set) var isAnyClosed = false

    init(snapshot: ConditionSnapshot, isRunning: Bool, now: Timestamp) {
        self.snapshot = snapshot
        self.isRunning = isRunning
        self.now = now
    }

    mutating func gate(of eligibility: EligibilityKey) -> Gate {
        if let gate = known[eligibility] { return gate }
        let gate = eligibility.gate(in: snapshot, now: now, isRunning: isRunning)
        if let at = gate.changesAt, at > now { changesAt = min(changesAt ?? at, at) }
        if !gate.isOpen, !eligibility.waitsForTransfers { isAnyClosed = true }
        known[eligibility] = gate
        return gate
    }

    /// See ``Gate/ofAny(_:)``.
    mutating func gate(ofAny eligibilities: [EligibilityKey]) -> Gate {
        if eligibilities.count == 1 { return gate(of: eligibilities[0]) }
        return Gate.ofAny(eligibilities.map { gate(of: $0) })
    }
}
