internal import LonghaulModel

/// Finds a request that would take far longer for the rest of its range than its neighbours took
/// for theirs: many servers, and balancers before them, have one bad connection among several. A
/// value that records outcomes; the same outcomes give the same answers.
package struct SlowTails: Hashable, Sendable {
    // Bytes and seconds of the requests that have ended well.
    private var bytes: Int64 = 0
    private var seconds: Double = 0
    /// The positions of requests that were given up.
    private var positions: [Int64] = []

    package init() {}

    package mutating func ended(bytes: Int64, after seconds: Double) {
        guard bytes > 0, seconds > 0 else { return }
        self.bytes = self.bytes.addingClamped(bytes)
        self.seconds += seconds
    }

    /// True if a new connection is worth it for the rest, by the rate of the neighbours. If all are
    /// slow, it is not; nor shortly behind a place of an earlier one, nor endlessly.
    ///
    /// - Parameter rate: Recent bytes per second; `nil` = unknown.
    package func isSlow(_ remaining: Range<Int64>, rate: Double?) -> Bool {
        guard let rate, seconds > 0, remaining.count64 >= leastTail,
            positions.count < tailsMax,
            !positions.contains(where: {
                remaining.lowerBound >= $0 && remaining.lowerBound - $0 < leastTail
            })
        else { return false }
        let left = Double(remaining.count64)
        let anew = left / (Double(bytes) / seconds)
        // The rest may be days away: no quotient by a rate of zero.
        return left > rate * max(leastSeconds, slownessFactor * anew)
    }

    package mutating func gaveUp(at position: Int64) {
        assert(positions.count < tailsMax, "no more are slow then")
        positions.append(position)
    }
}

/// A shorter rest is not worth a connection.
private let leastTail: Int64 = 64 << 10
/// A rest shorter than this many seconds is waited for.
private let leastSeconds: Double = 5
/// How many times the time of a neighbour a rest may take.
private let slownessFactor: Double = 5
/// At most this many requests of a run are given up.
private let tailsMax = 8
