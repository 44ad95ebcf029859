/// How fast the transfers of one origin end, and from that how many to make ready ahead.
///
/// Between the end of one small file and the next request lie a commit, the opening of a file and
/// the way through three threads. While files end faster than that, a few more than there are
/// connections are claimed and opened in advance, together: the wire never waits, and the work is
/// done a batch at a time. Where transfers take long, none is ever ahead.
package struct StartPace: Hashable, Sendable {
    /// What is ready ahead is asked for within about this time.
    package static let horizonSeconds: Double = 0.05
    package static let aheadMax = 512

    /// The last ends, in order; bounded by ``aheadMax``.
    private var ends: [Instant] = []
    private var next = 0

    package init() {}

    package mutating func noteEnd(at now: Instant) {
        if ends.count < StartPace.aheadMax {
            ends.append(now)
        } else {
            ends[next] = now
            next = (next + 1) % StartPace.aheadMax
        }
    }

    package func ahead(at now: Instant) -> Int {
        ends.count { now - $0 < StartPace.horizonSeconds }
    }
}
