/// Cooling origins that are held in memory; further ones are read each time.
private let coolingOriginsMax = 1 << 16

/// Origins that are known to cool down, by their ids in the store. A read of the queue passes over
/// neighbouring ids at once: thousands of servers that are down are not read one by one each time
/// that a place becomes free. Only the process that changes the memory of origins can keep it.
package struct CoolingOrigins: Hashable, Sendable {
    private struct Entry: Hashable {
        var id: Int64
        var until: Timestamp
    }

    /// Entries by id; some may have ended.
    private var entries: [Entry] = []

    package init() {}

    package var isEmpty: Bool { entries.isEmpty }

    package mutating func record(_ id: Int64, until: Timestamp) {
        let index = place(of: id)
        assert(index == 0 || entries[index - 1].id < id, "entries are in order of their ids")
        if index < entries.count, entries[index].id == id {
            entries[index].until = until
        } else if entries.count < coolingOriginsMax {
            entries.insert(Entry(id: id, until: until), at: index)
        }
    }

    /// The origin has answered.
    package mutating func forget(_ id: Int64) {
        let index = place(of: id)
        if index < entries.count, entries[index].id == id { entries.remove(at: index) }
    }

    package mutating func forgetAll() { entries.removeAll() }

    package mutating func forgetEnded(at now: Timestamp) { entries.removeAll { $0.until <= now } }

    /// The end of the run of cooling ids that begins with this one; `nil` = it does not cool down.
    package func endOfRun(from id: Int64, at now: Timestamp) -> Int64? {
        var end: Int64?
        for entry in entries[place(of: id)...] {
            guard entry.id == end.map({ $0 + 1 }) ?? id, entry.until > now else { break }
            end = entry.id
        }
        return end
    }

    /// End of the first cool-down that something waits for. If many cool-downs end earlier that
    /// nothing waits for, the answer is too early rather than too late.
    package func soonest(
        at now: Timestamp, where isWaitedFor: (Int64) throws -> Bool
    ) rethrows -> Timestamp? {
        var doubtful: Set<Int64> = []
        while let next = first(at: now, besides: doubtful) {
            let isSure = try isWaitedFor(next.id)
            if isSure || doubtful.count >= Limits.coolingDoubtsMax { return next.until }
            doubtful.insert(next.id)
        }
        return nil
    }

    private func first(at now: Timestamp, besides others: Set<Int64>) -> Entry? {
        var first: Entry?
        for entry in entries where entry.until > now {
            if let first, first.until <= entry.until { continue }
            if !others.contains(entry.id) { first = entry }
        }
        return first
    }

    private func place(of id: Int64) -> Int {
        (0..<entries.count).firstPast { entries[$0].id < id }
    }
}
