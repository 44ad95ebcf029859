internal import LonghaulModel

/// A connection is given up after this many seconds of silence, if the others of its file have no
/// work left.
private let silenceSeconds: Double = 4
/// A connection is given up after this multiple of the longest pause of any of them.
private let silencePauses: Double = 2
/// A shorter rest, in bytes, is not worth a connection.
private let leastTail: Int64 = 64 << 10
/// A request that ends within this many seconds is not given up.
private let leastSeconds: Double = 5
/// The rest of a range may take this multiple of a neighbour's time.
private let slownessFactor: Double = 5

/// Places in a file at which requests were given up. No other is given up shortly behind one: there
/// it is not the connection.
package struct GivenUpPlaces: Hashable, Sendable {
    private var positions: [Int64] = []

    package mutating func add(_ position: Int64) {
        assert(positions.count < Limits.silencesMax, "at the limit no request is given up")
        positions.append(position)
    }

    /// A request that has written up to `position` may be given up.
    func admits(_ position: Int64) -> Bool {
        positions.count < Limits.silencesMax
            && !positions.contains {
                position >= $0 && position - $0 < Limits.silenceProgressBytes
            }
    }
}

/// Decides when a silent request is given up, long before its stall timeout: connections of the
/// same file have nothing left to do meanwhile. The same reports give the same answers.
package struct SilenceWatch: Hashable, Sendable {
    /// The longest silence of a request after which more bytes came: a server, or a limit, with
    /// regular pauses is not asked again after each.
    package private(set) var longestPause: Double = 0
    package var places = GivenUpPlaces()

    package init() {}

    /// A request brought something after so many seconds.
    package mutating func heard(after seconds: Double) {
        longestPause = max(longestPause, seconds)
    }

    package var patience: Double {
        max(silenceSeconds, longestPause * silencePauses)
    }

    package func mayGiveUp(at position: Int64, silentFor seconds: Double) -> Bool {
        seconds >= patience && places.admits(position)
    }
}

/// Finds a request that would take far longer for the rest of its range than its neighbours took
/// for theirs: many servers, and balancers before them, have one bad connection among several. The
/// same reports give the same answers.
package struct SlowTails: Hashable, Sendable {
    // Bytes and seconds of the requests that have ended well.
    private var bytes: Int64 = 0
    private var seconds: Double = 0
    package var places = GivenUpPlaces()

    package init() {}

    package mutating func ended(bytes: Int64, after seconds: Double) {
        guard bytes > 0, seconds > 0 else { return }
        self.bytes = self.bytes.addingClamped(bytes)
        self.seconds += seconds
    }

    /// A new connection is worth it for the rest, by the rate of the neighbours. If all are slow,
    /// none is.
    ///
    /// - Parameter rate: Recent bytes per second; `nil`: unknown.
    package func isSlow(_ remaining: Range<Int64>, rate: Double?) -> Bool {
        guard let rate, seconds > 0, remaining.count64 >= leastTail,
            places.admits(remaining.lowerBound)
        else { return false }
        let left = Double(remaining.count64)
        let anew = left / (Double(bytes) / seconds)
        // The rest may be days away: no quotient by a rate of zero.
        return left > rate * max(leastSeconds, slownessFactor * anew)
    }
}
