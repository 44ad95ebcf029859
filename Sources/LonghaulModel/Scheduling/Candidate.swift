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
    /// Recent seconds of held places of its session, see ``PlaceTime``.
    package var placeTime: Double = 0
    /// The turn in its line: its own id, or the id of a transfer that it has been exchanged with,
    /// see ``Line``.
    package var place: Int64

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
        place = id.rawValue
    }

    /// Duration of a number of bytes at a rate; `nil` = unknown.
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

    package func isAged(now: Timestamp) -> Bool {
        now - waitingSince > Limits.starvationSeconds
    }

    /// Others go before it by the request of a client: its age does not count.
    package var isPutBack: Bool { place > id.rawValue }

    /// An unknown size fits: a wrong guess delays other transfers and loses nothing.
    package func fits(_ box: TimeBox?) -> Bool {
        guard let box, let expectedSeconds else { return true }
        return expectedSeconds <= box.left
    }

    package func isBefore(_ other: Candidate, now: Timestamp) -> Bool {
        if eligibility.runsNow != other.eligibility.runsNow { return eligibility.runsNow }
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
    /// The eligibility that the transfer is counted under.
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
    /// Recent seconds of held places of its session, see ``PlaceTime``.
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

    package func isTurnOver(at now: Timestamp) -> Bool {
        turnEndsAt.map { $0 <= now } ?? false
    }
}

/// Six levels, best first: high, normal and low of transfers that are not discretionary, then of
/// discretionary ones. Long waits count one level higher, and discretionary work that must begin
/// now to be in time counts as not discretionary.
package struct Rank: Hashable, Comparable {
    let level: Int

    package init(_ running: Running) {
        level =
            running.priority.rawValue
            + (running.eligibility.isDiscretionary ? Priority.allCases.count : 0)
    }

    package init(_ candidate: Candidate, now: Timestamp) {
        let yields = candidate.eligibility.isDiscretionary && !candidate.isUrgent(now: now)
        level =
            candidate.priority.rawValue + (yields ? Priority.allCases.count : 0)
            - (candidate.isAged(now: now) || candidate.eligibility.runsNow ? 1 : 0)
    }

    package static func < (left: Rank, right: Rank) -> Bool { left.level < right.level }
}

/// Transfers among which a client may exchange turns: only their deadlines, sizes and ages put one
/// before another.
package struct Line: Hashable {
    private let session: String
    private let priority: Priority
    private let isDiscretionary: Bool

    init(_ candidate: Candidate) {
        session = candidate.session
        priority = candidate.priority
        isDiscretionary = candidate.eligibility.isDiscretionary
    }

    /// Sorts each line with a moved transfer by places; the turns themselves, with their ranks,
    /// stay.
    package static func exchangeTurns(_ turns: inout [(rank: Rank, candidate: Candidate)]) {
        let moved = turns.filter { $0.candidate.place != $0.candidate.id.rawValue }
        for line in Set(moved.map { Line($0.candidate) }) {
            let indices = turns.indices.filter { Line(turns[$0].candidate) == line }
            let members = indices.map { turns[$0].candidate }
                .sorted { ($0.place, $0.id) < ($1.place, $1.id) }
            for (index, member) in zip(indices, members) { turns[index].candidate = member }
        }
    }
}
