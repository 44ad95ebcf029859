/// Makes the discretionary connections of one machine take what other traffic leaves of the line,
/// at the receiver: values in at every tick, a window for each sender out.
///
/// Three ideas on top of each other. A target for the queueing delay (LEDBAT, RFC 6817), kept by
/// the advertised window (rLEDBAT, RFC 9840), with pauses in which the path's own delay shows
/// (LEDBAT++). Then: a sender with a small queue of its own (BBR) would never reach the target, so
/// that a rate well below the line's while packets queue also means that there is other traffic.
/// And: other traffic gets the line, not a share; a trickle keeps the connection alive, and
/// short probes tell when the line is free again.
///
/// All connections are one: their windows grow together at the pace of one, and one alone probes
/// for all.
package struct YieldControl: Hashable, Sendable {
    /// Seconds of queueing that our own packets may cause.
    static let target = 0.022
    /// Below this part of the line's rate, with a queue, there is other traffic.
    static let freeShare = 0.8
    /// The first window of a connection, in packets (RFC 6928).
    static let firstWindow = 10.0
    /// Packets that keep a connection alive.
    static let floor = 2.0
    /// Share of the line's rate while it is not ours, all connections together.
    static let trickle = 0.01
    /// Bytes per second below which a trickle might pass for a stall.
    static let trickleMin = 4096.0
    /// Longest time between probes, seconds: a free line must not lie idle.
    static let probeMax = 3.0
    /// Between two looks at the path's own delay, seconds.
    static let measureEvery = 20.0
    /// The part of the rate that is taken if no round trips are known.
    static let blindShare = 0.5
    static let windowMax = 16_777_216.0

    enum Stage: Hashable, Sendable {
        case open
        case measuring(Measuring)
        case yielded(nextProbe: Instant, earliest: Instant)
        case probing(Probe)
        case sharing(fullUntil: Instant, next: Instant)
    }

    struct Measuring: Hashable, Sendable {
        var until: Instant
        var delayBefore: Double
        /// A decrease that lets a queue of our own shrink, to find out which traffic makes it.
        var asksWhose: Bool
        var windows: [UInt64: Double]
    }

    struct Probe: Hashable, Sendable {
        var connection: UInt64
        /// Goes on to the question whose queue it is, which costs others more.
        var isThorough: Bool
        var stepBegun: Instant
        /// The point where counting began, once the last change of the window had time to show.
        var mark: Mark?
        var doublings = 0
        /// Rate and window before the window was halved.
        var before: Mark?
        var windowBefore = 0.0
    }

    struct Mark: Hashable, Sendable {
        var at: Instant
        var value: Double
    }

    // MARK: State

    var stage = Stage.open
    var since = Instant(nanoseconds: 0)
    var lines: [YieldLine] = []
    /// The line's rate: the best of the last ten seconds in which it was ours.
    var capacity = RecentExtreme(least: false, seconds: 10, parts: 10)
    /// The rate, more slowly: a burst is not what the line can carry.
    var steadyRate = 0.0
    /// The line was taken because no queue showed, not because it gave what it had given before.
    var isUnproven = false
    /// Seconds in which the line was ours; a third of the others.
    var openTime = 0.0
    var settledAt = Instant(nanoseconds: 0)
    var suspectSince: Instant?
    var lastLoss: Instant?
    var failedProbes = 0
    var probeTurn = 0
    var nextMeasure = 2.0
    /// The moment since which bytes come and no round trip is known, or a sender keeps to no
    /// window.
    var blindSince: Instant?
    var blindRate = 0.0
    private var last: Instant?

    package init() {}

    /// - Parameters:
    ///   - samples: of all connections that are to yield; one that is missing is gone.
    ///   - now: later at every call.
    /// - Returns: an order for each sample, in order.
    package mutating func tick(_ samples: [YieldSample], now: Instant) -> [YieldOrder] {
        let seconds = last.map { now - $0 } ?? 0
        if last == nil { since = now }
        last = now
        measure(samples, seconds: seconds, now: now)
        guard !lines.isEmpty else { return [] }
        updateShare(now)
        switch stage {
        case .open: stayOpen(seconds: seconds, now)
        case .measuring(let measuring): measure(measuring, now)
        case .yielded(let next, let earliest): wait(next, earliest, now)
        case .probing(let probe): go(on: probe, now)
        case .sharing(let fullUntil, let next): share(fullUntil, next, now)
        }
        return lines.map { order(for: $0, now) }
    }

    mutating func enter(_ stage: Stage, _ now: Instant) {
        self.stage = stage
        since = now
        suspectSince = nil
    }

    // MARK: What is seen

    var rate: Double { lines.reduce(0) { $0 + $1.rate } }
    var window: Double { lines.reduce(0) { $0 + $1.window } }
    var base: Double { lines.compactMap(\.base.value).min() ?? 0 }
    var share: Double { min(1, rate / max(capacity.value ?? rate, 1)) }

    /// The queue that all connections have in common: a queue on the way of one of them only is
    /// that one's own affair.
    func queueing(_ now: Instant) -> Double? {
        lines.filter { $0.isFresh(now) }.compactMap(\.queueing).min()
    }

    /// Delay that is more than the clock's grain (1 ms with most kernels' timestamps) and jitter.
    var noticeable: Double { 0.0012 + min(0.008, base / 10) }

    private mutating func measure(_ samples: [YieldSample], seconds: Double, now: Instant) {
        let known = lines
        var hasChanged = known.count != samples.count
        // Time with a foreign queue counts less for the path's delay, but it counts: a route that
        // has become longer looks like a queue that never ends.
        if case .open = stage { openTime += seconds } else { openTime += seconds / 3 }
        lines = samples.enumerated().map { index, sample in
            var found: YieldLine?
            if index < known.count, known[index].connection == sample.connection {
                found = known[index]
            } else {
                hasChanged = true
                found = known.first { $0.connection == sample.connection }
            }
            guard var line = found else {
                var line = YieldLine(sample, window: 0, now: now)
                line.window = newWindow(line)
                if let trip = sample.roundTrip { line.base.record(trip, at: openTime) }
                return line
            }
            if line.add(sample, seconds: seconds, baseTime: openTime, now: now) { lastLoss = now }
            return line
        }
        if hasChanged { settledAt = now + max(0.25, 4 * (base + (queueing(now) ?? 0))) }
    }

    private func newWindow(_ line: YieldLine) -> Double {
        switch stage {
        case .open, .sharing: Self.firstWindow * line.segment
        case .measuring, .yielded, .probing: Self.floor * line.segment
        }
    }

    /// Notices when round trips are missing, or no window is kept.
    private mutating func updateShare(_ now: Instant) {
        if case .sharing = stage { return }
        let moving = lines.filter { now - $0.lastBytes < 0.2 }
        let isBlind =
            !moving.isEmpty
            && (moving.allSatisfy { $0.roundTrip == nil }
                || moving.contains {
                    let trip = $0.roundTrip ?? 0
                    return trip > 0.005 && $0.inFlight > 4 * $0.window + 65_536
                })
        guard isBlind else {
            blindSince = nil
            return
        }
        blindSince = blindSince ?? now
        blindRate = max(blindRate, rate)
        if let blindSince, now - blindSince > 1 {
            enter(.sharing(fullUntil: now + 1, next: now + Self.measureEvery), now)
        }
    }

    // MARK: What is ordered

    private func order(for line: YieldLine, _ now: Instant) -> YieldOrder {
        let count = Double(lines.count)
        var order = YieldOrder(
            connection: line.connection, window: Int(min(line.window, Self.windowMax)))
        let trickle = Int64(
            bounding: max(Self.trickle * (capacity.value ?? 0), Self.trickleMin) / count)
        switch stage {
        case .open, .measuring: break
        case .yielded:
            // Bytes under way are still let in.
            order.isGated = now - since > max(0.1, 2 * (line.roundTrip ?? 0))
        case .probing(let probe):
            order.isGated = line.connection != probe.connection
        case .sharing(let fullUntil, _):
            if now >= fullUntil {
                order.rate = Int64(bounding: max(blindRate * Self.blindShare, 1) / count)
            }
        }
        if order.isGated { order.rate = max(trickle, 1) }
        return order
    }

    /// The state for display, as of the last tick.
    package func report(_ now: Instant) -> YieldReport {
        let state: YieldReport.State =
            switch stage {
            case .open: .open
            case .measuring: .measuring
            case .yielded: .yielded
            case .probing: .probing
            case .sharing: .sharing
            }
        return YieldReport(
            state: state, queueingDelay: queueing(now), window: Int(window), rate: rate,
            share: share)
    }
}
