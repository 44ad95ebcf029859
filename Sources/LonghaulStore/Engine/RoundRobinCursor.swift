/// Visits ids in order, from the one after a pivot on, and wraps around: for sets that are too
/// large for one read.
struct RoundRobinCursor {
    private let pivot: Int64
    private var end: Int64?

    init(after pivot: Int64) {
        self.pivot = pivot
    }

    /// Passes one id after the other to `take`. Returns whether all were taken; the next read
    /// begins at an id that was refused.
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

    /// The shortest of several rounds with one pivot decides: the ids that it has not reached come
    /// next.
    private mutating func stop(after id: Int64) {
        if end.map({ way(to: id) < way(to: $0) }) ?? true { end = id }
    }

    private func way(to id: Int64) -> UInt64 {
        UInt64(bitPattern: id &- pivot &- 1)
    }
}
