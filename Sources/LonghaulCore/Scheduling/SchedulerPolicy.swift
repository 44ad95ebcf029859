/// Decides about the schedule: a pure function of what is given to it. The engine acts on its plan;
/// `why` and `list` tell reasons by the same gates and limits, see ``PublishedLimits``.
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
        /// Running ones that lost what they need, or whose turn is over; their bytes are kept.
        package var stops: [Waiting] = []
        /// Every candidate that does not start, in the order of its turn.
        package var waiting: [Waiting] = []
        /// Something is ready by time and not by its conditions or its window.
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
        /// All that holds it; never empty.
        package var reasons: [WaitReason]

        package var reason: WaitReason { reasons[0] }
    }

    /// - Parameters:
    ///   - head: Transfers that time makes ready.
    ///   - ready: Eligibilities of which something is ready, whether or not it is in `head`.
    ///   - origins: What is known of their origins; one that is missing is well and speaks
    ///     HTTP/1.1.
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
        turn.endTurn(of: running)
        turn.plan.holdsBack = gates.isAnyClosed
        let starts = [gates.changesAt] + turn.plan.waiting.map(\.reason.nextCheck)
        turn.plan.nextStart = starts.compactMap { $0 }.filter { $0 > now }.min()
        turn.plan.nextStop = runningGates.changesAt
        return turn.plan
    }

    /// Groups candidates by rank, best first; inside a group by slack, then age.
    private func grouped(_ head: [Candidate], now: Timestamp) -> [(Rank, [Candidate])] {
        let sorted = head.map { (Rank($0, now: now), $0) }.sorted { left, right in
            left.0 != right.0 ? left.0 < right.0 : left.1.isBefore(right.1, now: now)
        }
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
    /// When the clock alone changes one of those that were asked about.
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
        if !gate.isOpen { isAnyClosed = true }
        known[eligibility] = gate
        return gate
    }

    /// See ``Gate/ofAny(_:)``.
    mutating func gate(ofAny eligibilities: [EligibilityKey]) -> Gate {
        if eligibilities.count == 1 { return gate(of: eligibilities[0]) }
        return Gate.ofAny(eligibilities.map { gate(of: $0) })
    }
}

package struct SchedulerLimits: Hashable, Codable, Sendable {
    package var running = Limits.runningTransfers
    /// Connections to one origin over HTTP/1.1, FTP and SFTP.
    package var perOrigin = Limits.connectionsPerOrigin
    /// Streams to one origin over HTTP/2.
    package var perHTTP2Origin = Limits.streamsPerOrigin
    /// Places that discretionary transfers leave to the others.
    package var reserved = Limits.reservedTransfers

    package init() {}

    package func connections(to origin: OriginState) -> Int {
        origin.speaksHTTP2 ? perHTTP2Origin : perOrigin
    }

    /// Places that origins which fail may have before others.
    var runningFailing: Int { running / 4 }

    /// Places that discretionary transfers may have; if there are few places, none is reserved.
    var runningDiscretionary: Int { max(running - reserved, (running + 1) / 2) }
}

/// Treatment of transfers that cannot be resumed when the time of an engine is over: downloads
/// without a proof of the bytes held, and plain uploads. Both policies finish a POST that may not
/// be sent twice.
public enum UnresumablePolicy: String, Codable, Sendable, CaseIterable {
    /// Such transfers are stopped with all others. From then on they begin only where they are
    /// expected to end in the time that is left, or where the time is not bounded.
    case wait
    /// The engine stays until those that run have ended; it begins nothing meanwhile.
    case finish
}

/// The time that an engine was given.
package struct TimeBox: Hashable, Sendable {
    package var length: Double
    package var left: Double
    package var unresumable: UnresumablePolicy

    package init(length: Double, left: Double, unresumable: UnresumablePolicy = .wait) {
        self.length = length
        self.left = left
        self.unresumable = unresumable
    }
}

/// Names an origin: `scheme://host:port`, see ``URLParts/origin``.
package struct OriginID: RawRepresentable, Hashable, Sendable {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }
}

/// A transfer that time makes ready.
package struct Candidate: Hashable, Sendable {
    package var id: TransferID
    package var session: String
    package var origin: OriginID
    /// Other origins where the transfer may begin; given only while its own origin is avoided.
    package var mirrors: [OriginID] = []
    package var priority: Priority
    /// Conditions that the transfer waits for, besides its turn.
    package var eligibility: EligibilityKey
    /// Moment from which the transfer's times allow it to begin.
    package var waitingSince: Timestamp
    package var deadline: Timestamp?
    /// Expected duration by size and the origin's throughput; `nil` = unknown.
    package var expectedSeconds: Double?
    /// Bytes received so far cannot be continued: the transfer has to end in one go.
    package var isUnresumable = false
    /// Seconds for which its session has held places lately, see ``PlaceTime``.
    package var placeTime: Double = 0

    package init(
        id: TransferID, session: String, origin: OriginID, priority: Priority = .normal,
        eligibility: EligibilityKey = .plain, waitingSince: Timestamp, deadline: Timestamp? = nil,
        expectedSeconds: Double? = nil
    ) {
        self.id = id
        self.session = session
        self.origin = origin
        self.priority = priority
        self.eligibility = eligibility
        self.waitingSince = waitingSince
        self.deadline = deadline
        self.expectedSeconds = expectedSeconds
    }

    /// Duration of so many bytes at a rate; `nil` = unknown.
    package static func seconds(bytes: Int64?, rate: Double?) -> Double? {
        guard let bytes, let rate, rate > 0 else { return nil }
        return Double(bytes) / rate
    }

    /// Bytes that are still to come, `nil` = unknown. Of a file without a length that was cut off
    /// and cannot be resumed twice as many are expected as had come: each try needs a longer box.
    package static func bytesLeft(
        of total: Int64?, held: Int64, isUnresumable: Bool
    ) -> Int64? {
        if isUnresumable { return max(total ?? 0, total == nil ? held.addingClamped(held) : held) }
        return total.map { max(0, $0 - held) }
    }

    /// How long it could still wait and be done in time.
    func slack(now: Timestamp) -> Double {
        guard let deadline else { return .infinity }
        return (deadline - now) - (expectedSeconds ?? 0)
    }

    /// The engine may pick the moment, and it is now or never.
    func isUrgent(now: Timestamp) -> Bool {
        guard eligibility.isDiscretionary, let deadline else { return false }
        let span = deadline - waitingSince
        let needs = PreferenceExpiry.seconds(
            bytes: expectedSeconds.map { Int64(bounding: $0 * 1000) }, rate: 1000, span: span)
        return deadline - now <= needs
    }

    func isAged(now: Timestamp) -> Bool {
        now - waitingSince > Limits.starvationSeconds
    }

    /// An unknown size fits: a wrong guess delays other transfers and loses nothing.
    func fits(_ box: TimeBox?) -> Bool {
        guard let box, let expectedSeconds else { return true }
        return expectedSeconds <= box.left
    }

    func isBefore(_ other: Candidate, now: Timestamp) -> Bool {
        let (mine, its) = (slack(now: now), other.slack(now: now))
        if mine != its { return mine < its }
        if waitingSince != other.waitingSince { return waitingSince < other.waitingSince }
        return id < other.id
    }
}

/// A transfer that moves bytes, or is being started or stopped.
package struct Running: Hashable, Sendable {
    package var id: TransferID
    package var session: String
    package var origin: OriginID
    package var connections: Int
    /// Class in which the transfer counts.
    package var eligibility: EligibilityKey
    /// Any of these lets it run; empty = ``eligibility`` does.
    package var anyOf: [EligibilityKey] = []
    /// No condition stops it: it has all its bytes, or it leaves already.
    package var isLetFinish = false
    /// The place will soon be free.
    package var isLeaving = false
    /// When it was started for having waited longest, out of the order.
    package var overdueSince: Timestamp?
    package var priority = Priority.normal
    /// When its place may be given to a transfer of another session; `nil` = never: bytes would be
    /// lost, or a command waits for it.
    package var turnEndsAt: Timestamp?
    /// Seconds for which its session has held places lately, see ``PlaceTime``.
    package var placeTime: Double = 0

    package init(
        id: TransferID, session: String, origin: OriginID, connections: Int = 1,
        eligibility: EligibilityKey = .plain, overdueSince: Timestamp? = nil
    ) {
        self.id = id
        self.session = session
        self.origin = origin
        self.connections = connections
        self.eligibility = eligibility
        self.overdueSince = overdueSince
    }
}

package struct OriginState: Hashable, Sendable {
    /// Prospects of an origin's transfers. A server that does not answer occupies a place for as
    /// long as each attempt may take: servers that answer, or are untried, must not wait behind it.
    package enum Standing: Hashable, Sendable {
        case answers
        /// No answer yet, and no failure.
        case untried
        /// Nothing but failures since its last answer.
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

/// Six levels, best first: high, normal and low of those that are not discretionary, then of those
/// that are. What has waited long counts one level higher, and discretionary work that must begin
/// now to be in time counts as if it were not.
struct Rank: Hashable, Comparable {
    let level: Int

    init(_ running: Running) {
        level =
            running.priority.rawValue
            + (running.eligibility.isDiscretionary ? Priority.allCases.count : 0)
    }

    init(_ candidate: Candidate, now: Timestamp) {
        let yields = candidate.eligibility.isDiscretionary && !candidate.isUrgent(now: now)
        level =
            candidate.priority.rawValue + (yields ? Priority.allCases.count : 0)
            - (candidate.isAged(now: now) ? 1 : 0)
    }

    static func < (left: Rank, right: Rank) -> Bool { left.level < right.level }
}
