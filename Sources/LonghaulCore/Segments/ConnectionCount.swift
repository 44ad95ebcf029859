package import LonghaulModel

/// Connections are added only while the last ones raised the throughput by this part,…
private let worthwhileGain = 0.15
/// …and below this many bytes per second: 2 Gbit/s and more come from a nearby server.
private let fastEnough: Double = 256 * 1024 * 1024
/// Pause after a refused connection before one more than have worked is tried. The pause
/// doubles each time that the connection is refused again.
private let anotherConnectionSeconds: Double = 10
private let anotherConnectionMaximumSeconds: Double = 600
/// How long a number of connections is watched. Over long distances slow start takes longer and
/// looks like a gain: several connections help there.
private let splitWatchSeconds: Double = 0.5

/// The number of concurrent connections that a server lets a fetch have, as far as it has shown: a
/// refused connection is neither asked for again at once nor given up for good. A value that
/// records outcomes; the same outcomes give the same answers.
package struct ConnectionCeiling: Hashable, Sendable {
    /// `nil` = none was refused.
    package private(set) var allowed: Int?
    /// How long no more than that are tried.
    private var patience = anotherConnectionSeconds
    /// A connection more than have worked is allowed, and has not been had yet.
    private var isTrial = false
    private var since = Instant(nanoseconds: 0)
    /// Bytes held then.
    private var held: Int64 = 0

    package init() {}

    package mutating func refused(beside working: Int, held: Int64, now: Instant) {
        if isTrial { patience = min(2 * patience, anotherConnectionMaximumSeconds) }
        isTrial = false
        allowed = max(1, working)
        since = now
        self.held = held
    }

    /// Records that this many connections work at a time.
    package mutating func worked(_ count: Int) {
        guard let allowed, count >= allowed else { return }
        if isTrial { patience = anotherConnectionSeconds }
        isTrial = false
        self.allowed = count
    }

    /// Called while bytes come: without progress, another connection is no help.
    package mutating func look(held: Int64, now: Instant) {
        guard let allowed, !isTrial, now - since >= patience, held != self.held else { return }
        self.allowed = allowed + 1
        isTrial = true
        since = now
        self.held = held
    }
}

/// How many connections a fetch in automatic mode may have: one, and twice as many for as long as
/// the last ones that were added were worth it. Many servers give each connection a part of the
/// line's rate; a line that is full, or a server as fast as the disk, is left alone. A value that
/// is fed samples; the same samples give the same answers.
package struct AutoConnections: Hashable, Sendable {
    /// The number that may run now.
    package private(set) var allowed = 1
    package var most: Int
    /// Throughput before the last ones were added, bytes per second.
    private var before: Double?
    /// The moment since which `allowed` has its value.
    private var since: Instant?
    /// Samples since then.
    private var samples: [Double] = []
    /// Adding has stopped paying; nothing more is tried.
    package private(set) var isSettled = false

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
        guard now - start >= splitWatchSeconds else { return }
        let rate = median(samples)
        if let before, rate < before * (1 + worthwhileGain) {
            // The connection stays: taking it away again would cost its bytes in flight, and it
            // does no harm.
            isSettled = true
            return
        }
        if allowed >= most || rate >= fastEnough {
            isSettled = true
            return
        }
        // Near the end another connection would only begin.
        guard Double(remaining) / rate > Limits.minSplitSeconds else { return }
        assert(allowed >= 1 && allowed < most, "connections are added up to the most")
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
