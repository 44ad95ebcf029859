/// The rate and the time left of something that moves, from samples of how far it has come.
/// Smoothed over some seconds: steady enough to be read, quick enough to show a change.
package struct ProgressEstimate: Hashable, Sendable {
    /// Weight of the past falls to a third in this time.
    private static let memorySeconds: Double = 3

    private struct Sample: Hashable {
        var at: Instant
        var bytes: Int64
    }

    private var last: Sample?
    /// Smoothed bytes per second; `nil` before the second sample.
    package private(set) var bytesPerSecond: Double?

    package init() {}

    /// Samples at one instant, and those of a clock that stands still, count as one.
    package mutating func sample(bytes: Int64, at now: Instant) {
        guard let last else {
            self.last = Sample(at: now, bytes: bytes)
            return
        }
        let seconds = now - last.at
        guard seconds > 0 else { return }
        self.last = Sample(at: now, bytes: bytes)
        // Bytes that were given up are no negative rate.
        let rate = Double(max(0, bytes - last.bytes)) / seconds
        guard let old = bytesPerSecond else {
            bytesPerSecond = rate
            return
        }
        let weight = seconds / (seconds + ProgressEstimate.memorySeconds)
        bytesPerSecond = old + (rate - old) * weight
    }

    /// Seconds until so many more bytes have come; `nil` while nothing moves.
    package func secondsLeft(bytesLeft: Int64) -> Double? {
        guard let bytesPerSecond, bytesPerSecond >= 1 else { return nil }
        return Double(max(0, bytesLeft)) / bytesPerSecond
    }
}
