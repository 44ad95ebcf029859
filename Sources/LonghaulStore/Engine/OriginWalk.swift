internal import LonghaulCore

/// Looks at parts of what is too much for one look: ids in order, from the one after a pivot on,
/// around.
struct Round {
    private let pivot: Int64
    private var end: Int64?

    init(after pivot: Int64) {
        self.pivot = pivot
    }

    /// What comes after each lower bound, in this order.
    var ranges: [ClosedRange<Int64>] { [pivot...(Int64.max - 1), -1...pivot] }

    /// There is more after this one. Of several that go the same round the one that got least far
    /// sets the pace: what it has not shown comes next.
    mutating func stop(after id: Int64) {
        if end.map({ way(to: id) < way(to: $0) }) ?? true { end = id }
    }

    /// The pivot of the next look.
    var resumeAfter: Int64 { end ?? 0 }

    private func way(to id: Int64) -> UInt64 {
        UInt64(bitPattern: id &- pivot &- 1)
    }
}

struct ReadyOrigin {
    var id: Int64
    var name: String
}

/// How far one look goes through the origins of its queues.
struct OriginWalk {
    private let excluded: Set<String>
    private let now: Timestamp
    /// Of each queue: origins that are looked for, and those that are taken.
    private let visitsMax: Int
    private let foundMax: Int
    private var round: Round
    private var visits = 0
    private var last: Int64
    private(set) var coolDownEnds: Timestamp?

    init(_ limits: ReadyLimits, excluded: Set<String>, queues: Int, now: Timestamp) {
        self.now = now
        self.excluded = excluded
        visitsMax = max(1, limits.groups / queues)
        foundMax = max(1, limits.total / queues)
        round = Round(after: limits.after.origin)
        last = limits.after.origin
    }

    var ranges: [ClosedRange<Int64>] { round.ranges }
    var resumeAfter: Int64 { round.resumeAfter }

    mutating func beginQueue() {
        visits = 0
        last = round.ranges[0].lowerBound
    }

    /// Whether this queue has had its part, while it has more. Who has found nothing yet goes on,
    /// however long it takes: an engine that sees nothing to do would stop.
    mutating func isOver(found: Int) -> Bool {
        guard found >= foundMax || (found > 0 && visits >= visitsMax) else { return false }
        round.stop(after: last)
        return true
    }

    /// Whether its transfers are worth a look.
    mutating func visit(_ origin: Int64, _ memory: OriginMemory) -> Bool {
        visits += 1
        last = origin
        if case .cooling(let until) = memory.health(at: now) {
            coolDownEnds = min(coolDownEnds ?? until, until)
            return false
        }
        return !excluded.contains(memory.origin)
    }
}
