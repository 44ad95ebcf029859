/// Looks at parts of what is too much for one look: ids in order, from the one after a pivot on,
/// around.
struct RoundRobinCursor {
    private let pivot: Int64
    private var end: Int64?

    init(after pivot: Int64) {
        self.pivot = pivot
    }

    /// Takes one id after the other. Returns whether all were taken; what was refused is where the
    /// next look begins.
    ///
    /// - Parameters:
    ///   - next: the first id after this one.
    ///   - take: `false` = there is no room for it.
    mutating func go(
        next: (Int64) throws -> Int64?, take: (Int64) throws -> Bool
    ) rethrows -> Bool {
        var last = pivot
        for range in [pivot...(Int64.max - 1), -1...pivot] {
            var place = range.lowerBound
            while let id = try next(place), id <= range.upperBound {
                guard try take(id) else {
                    stop(after: last)
                    return false
                }
                place = id
                last = id
            }
        }
        return true
    }

    /// The pivot of the next look.
    var resumeAfter: Int64 { end ?? 0 }

    /// Of several that go the same round the one that got least far sets the pace: what it has not
    /// shown comes next.
    private mutating func stop(after id: Int64) {
        if end.map({ way(to: id) < way(to: $0) }) ?? true { end = id }
    }

    private func way(to id: Int64) -> UInt64 {
        UInt64(bitPattern: id &- pivot &- 1)
    }
}
