/// One connection in the eyes of ``YieldControl``.
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

    /// Whether its round trip is of now and not left over from when it was last used.
    func isFresh(_ now: Instant) -> Bool {
        now - lastBytes < max(0.2, 3 * (roundTrip ?? 0))
    }

    mutating func take(
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
            base.note(trip, at: baseTime)
        }
        return hasLost
    }
}
