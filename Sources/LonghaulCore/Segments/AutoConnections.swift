/// How many connections a fetch in automatic mode may have: one, and twice as many for as long as
/// the last ones that were added were worth it. Many servers give each connection a part of what
/// the line could bring; a line that is full, or a server as fast as the disk, is left alone. A
/// value that is fed samples; the same samples give the same answers.
package struct AutoConnections: Hashable, Sendable {
    /// What may run now.
    package private(set) var allowed = 1
    package var most: Int
    /// Throughput before the last ones were added, bytes per second.
    private var before: Double?
    /// Since when `allowed` has been what it is.
    private var since: Instant?
    /// Samples since then.
    private var samples: [Double] = []
    /// Adding has stopped paying; nothing more is tried.
    package private(set) var isSettled = false

    /// How long a number of connections is watched. Over long ways slow start is not over by then
    /// and looks like a gain: there several connections are of use.
    package static let watchSeconds: Double = 0.5

    package init(most: Int = Limits.automaticSegments) {
        self.most = most
    }

    /// Feeds one sample of the whole fetch's throughput.
    ///
    /// - Parameters:
    ///   - bytesPerSecond: Over the time since the sample before.
    ///   - remaining: Bytes still to come.
    ///   - running: Requests that moved bytes: a sample with fewer than allowed tells nothing about
    ///     the last ones.
    package mutating func sample(
        bytesPerSecond: Double, remaining: Int64, running: Int, now: Instant
    ) {
        guard !isSettled, bytesPerSecond > 0, running >= allowed else { return }
        guard let start = since else {
            since = now
            return
        }
        samples.append(bytesPerSecond)
        guard now - start >= AutoConnections.watchSeconds else { return }
        let rate = median(samples)
        if let before, rate < before * (1 + Limits.worthwhileGain) {
            // It stays: taking it away again would cost its bytes in flight, and it harms nobody.
            isSettled = true
            return
        }
        if allowed >= most || rate >= Limits.fastEnough {
            isSettled = true
            return
        }
        // Near the end another connection would only begin.
        guard Double(remaining) / rate > Limits.minSplitSeconds else { return }
        allowed = min(most, allowed * 2)
        before = rate
        since = nil
        samples.removeAll()
    }

    /// Half the samples are below: one burst or one hole does not decide.
    private func median(_ values: [Double]) -> Double {
        values.sorted()[values.count / 2]
    }
}
