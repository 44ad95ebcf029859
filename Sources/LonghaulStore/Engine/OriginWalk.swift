internal import LonghaulCore

struct ReadyOrigin {
    var id: Int64
    var name: String
}

/// How far one look goes through the origins of its queues, and from where the next one goes on.
struct OriginWalk {
    private let pivot: Int64
    private let now: Timestamp
    private let excluded: Set<String>
    /// Of each queue: origins that are looked for, and those that are taken.
    private let visitsMax: Int
    private let foundMax: Int
    private var visits = 0
    private var last: Int64
    private(set) var resumeAfter: Int64?
    private(set) var coolDownEnds: Timestamp?

    init(_ limits: ReadyLimits, excluded: Set<String>, queues: Int, now: Timestamp) {
        pivot = limits.originsAfter
        self.now = now
        self.excluded = excluded
        visitsMax = max(1, limits.groups / queues)
        foundMax = max(1, limits.total / queues)
        last = limits.originsAfter
    }

    var ranges: [ClosedRange<Int64>] { [pivot...(Int64.max - 1), -1...pivot] }

    mutating func beginQueue() {
        visits = 0
        last = pivot
    }

    /// Whether this queue has had its part, while it has more. Who has found nothing yet goes on,
    /// however long it takes: an engine that sees nothing to do would stop.
    mutating func isOver(found: Int) -> Bool {
        guard found >= foundMax || (found > 0 && visits >= visitsMax) else { return false }
        // The queue that got least far sets the pace: what it has not shown comes next.
        if resumeAfter.map({ way(to: last) < way(to: $0) }) ?? true { resumeAfter = last }
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

    /// From the pivot, around.
    private func way(to origin: Int64) -> UInt64 {
        UInt64(bitPattern: origin &- pivot &- 1)
    }
}
