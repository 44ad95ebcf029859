/// A connection in the eyes of ``YieldControl``.
struct YieldLine: Hashable, Sendable {
    let connection: UInt64
    var window: Double
    var segment: Double
    var roundTrip: Double?
    var bytes: UInt64
    /// Bytes per second of late.
    var rate: Double = 0
    var outOfOrder: UInt32
    var lastBytes: Instant
    /// The path's delay without a queue: the least of the last minute in which the line was ours (a
    /// foreign queue must not wear it away), so that a route that got longer is believed in time.
    var base = RecentExtreme(least: true, seconds: 60, parts: 6)
    var nextCut: Instant

    init(_ sample: YieldSample, window: Double, now: Instant) {
        connection = sample.connection
        self.window = window
        segment = Double(max(sample.segment, 256))
        roundTrip = sample.roundTrip
        bytes = sample.bytes
        outOfOrder = sample.outOfOrder
        lastBytes = now
        nextCut = now
    }

    var queueing: Double? {
        guard let roundTrip, let base = base.value else { return nil }
        return max(0, roundTrip - base)
    }

    /// Bytes that are under way, by Little's law.
    var inFlight: Double { rate * max(roundTrip ?? 0, 0.001) }

    /// True if its round trip is of now and not left over from when it was last used.
    func isFresh(_ now: Instant) -> Bool {
        now - lastBytes < max(0.2, 3 * (roundTrip ?? 0))
    }

    mutating func add(
        _ sample: YieldSample, seconds: Double, baseTime: Double, now: Instant
    ) -> Bool {
        let gained = Double(sample.bytes &- bytes)
        let hasLost = sample.outOfOrder != outOfOrder
        bytes = sample.bytes
        outOfOrder = sample.outOfOrder
        segment = Double(max(sample.segment, 256))
        if gained > 0 { lastBytes = now }
        // A dozen packets make a rate; fewer would make it noise.
        let smoothing = min(0.5, max(0.06, 2 * (roundTrip ?? 0), 12 * segment / max(rate, 1)))
        if seconds > 0 {
            rate += (gained / seconds - rate) * min(1, seconds / max(smoothing, seconds))
        }
        if let trip = sample.roundTrip, gained > 0 {
            roundTrip = trip
            base.record(trip, at: baseTime)
        }
        return hasLost
    }
}

/// The state of the yielding connections, for people to see.
public struct YieldReport: Hashable, Sendable {
    /// The numbers are stored where other processes read them.
    public enum State: UInt8, Sendable, CaseIterable {
        /// The line is ours as far as can be seen.
        case open = 1
        /// Other traffic uses the line; only a trickle is taken.
        case yielded = 2
        /// Trying whether the line is free again.
        case probing = 3
        /// Holding back for a moment, to see the path's delay without a queue.
        case measuring = 4
        /// No round trips are to be had: a share of the rate is taken.
        case sharing = 5
    }

    /// The present action of the control.
    public var state: State
    /// Seconds that bytes wait in queues on the way; `nil` = not known.
    public var queueingDelay: Double?
    /// Bytes that all senders together may have under way.
    public var window: Int
    /// Bytes per second of all of them.
    public var rate: Double
    /// The rate against the best of late, 0 … 1.
    public var share: Double

    /// A reading of the control.
    public init(
        state: State, queueingDelay: Double?, window: Int, rate: Double, share: Double
    ) {
        self.state = state
        self.queueingDelay = queueingDelay
        self.window = window
        self.rate = rate
        self.share = share
    }
}

extension YieldReport {
    /// All of it in one word of the progress board, which is written and read whole: state 8 bits,
    /// share in percent 8, queueing delay in tenths of a millisecond 16 (all ones = unknown),
    /// window in KiB 32, from the lowest bit on. The rate is on the board already. 0 = nothing to
    /// tell.
    package var packed: UInt64 {
        let delay = queueingDelay.map { UInt64(max(0, min($0 * 10_000, 65_534))) } ?? 65_535
        let percent = UInt64(max(0, min(share * 100, 100)))
        let kilobytes = UInt64(max(0, min(window / 1024, Int(UInt32.max))))
        return UInt64(state.rawValue) | percent << 8 | delay << 16 | kilobytes << 32
    }

    /// - Parameter packed: data: another process, of another version perhaps, wrote it.
    package init?(packed: UInt64) {
        guard let state = State(rawValue: UInt8(truncatingIfNeeded: packed)) else { return nil }
        let delay = packed >> 16 & 0xFFFF
        self.init(
            state: state, queueingDelay: delay == 0xFFFF ? nil : Double(delay) / 10_000,
            window: Int(packed >> 32) * 1024, rate: 0, share: Double(packed >> 8 & 0xFF) / 100)
    }
}
