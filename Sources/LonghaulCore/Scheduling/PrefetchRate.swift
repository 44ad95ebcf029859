package import LonghaulModel

/// How fast the transfers of one origin end, and from that how many to make ready ahead.
///
/// Between the end of one small file and the next request lie a commit, the opening of a file and
/// the way through three threads. While files end faster than that, more transfers are started and
/// opened than there are connections: the wire never waits, and the work is done in batches. Where
/// transfers take long, none is prefetched.
package struct PrefetchRate: Hashable, Sendable {
    /// The requests of prefetched transfers go out within about this time.
    package static let horizonSeconds: Double = 0.05
    package static let aheadMax = 512
    /// Ends at the same reading of the clock count as this far apart.
    static let leastSeconds: Double = 0.002
    static let aheadPerEnd = 4

    /// The last ends, in order; bounded by ``aheadMax``.
    private var ends: [Instant] = []
    private var next = 0

    package init() {}

    package mutating func noteEnd(at now: Instant) {
        if ends.count < PrefetchRate.aheadMax {
            ends.append(now)
        } else {
            ends[next] = now
            next = (next + 1) % PrefetchRate.aheadMax
        }
    }

    /// The number of ends within the horizon, by the rate of the last ends. A few ends say little:
    /// each allows four transfers at most, and one end alone allows none.
    package func prefetched(at now: Instant) -> Int {
        // Asked several times a turn, of as many as ended lately.
        let passed = (0..<ends.count).firstPast { now - end($0) >= PrefetchRate.horizonSeconds }
        let count = ends.count - passed
        if count < 2 { return 0 }
        let longest = max(PrefetchRate.leastSeconds, now - end(passed))
        let reached = Double(count - 1) * PrefetchRate.horizonSeconds / longest
        return min(Int(reached), count * PrefetchRate.aheadPerEnd, PrefetchRate.aheadMax)
    }

    /// The oldest is the 0th.
    private func end(_ index: Int) -> Instant {
        ends[(next + index) % ends.count]
    }
}
