/// When a request that has gone silent is given up for the sake of the file, long before the stall
/// timeout would end it: connections of the same file have nothing left to do meanwhile. A value
/// that is told what was heard; the same tale gives the same answers.
package struct SilenceWatch: Hashable, Sendable {
    /// The longest silence of any request of the fetch after which more came all the same: a
    /// server, or a limit, with pauses of its own is not asked again for each of them.
    package private(set) var longestPause: Double = 0
    /// Where requests were given up.
    private var positions: [Int64] = []

    package init() {}

    /// A request brought something after so long.
    package mutating func heard(after seconds: Double) {
        longestPause = max(longestPause, seconds)
    }

    package var patience: Double {
        max(Limits.silenceSeconds, longestPause * Limits.silencePauses)
    }

    /// Whether a request that has written so far may be given up. Not where another one was given
    /// up shortly before, as then it is not the connection, and not without end.
    package func mayGiveUp(at position: Int64, silentFor seconds: Double) -> Bool {
        seconds >= patience && positions.count < Limits.silencesMax
            && !positions.contains {
                position >= $0 && position - $0 < Limits.silenceProgressBytes
            }
    }

    package mutating func gaveUp(at position: Int64) {
        positions.append(position)
    }
}
