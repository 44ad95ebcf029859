internal import LonghaulCore

/// Back-offs up to this are waited out by an engine that leaves when nothing can start.
private let drainWaitSeconds: Double = 60
/// Such an engine leaves after so long without gain: of many servers that are down one is
/// always to be asked again within the minute. Two back-offs of a minute fit.
private let drainInVainSeconds: Double = 120

/// How long an engine without a box waits while only back-offs are left.
struct DrainTimeout {
    /// The counters that show progress.
    struct Gain: Equatable {
        var bytes: Int64 = 0
        var ended = 0
        /// Changes of the store by other processes.
        var changes: Int64 = 0
    }

    /// The moment since which only room on a disk is missing.
    private var fullSince: Instant?
    private var gain: Gain?
    private var gainedAt: Instant

    init(started: Instant) {
        gainedAt = started
    }

    /// Tells whether the engine leaves now.
    mutating func isOver(_ outcome: TurnOutcome, _ gain: Gain, now: Moment) -> Bool {
        if gain != self.gain {
            if self.gain != nil { gainedAt = now.monotonic }
            self.gain = gain
        }
        guard let next = outcome.nextReady else { return true }
        let most = drainWaitSeconds
        let end = gainedAt + drainInVainSeconds
        if let other = outcome.nextReadyBesidesStorage, other - now.wall <= most {
            fullSince = nil
            return now.monotonic + (other - now.wall) > end
        }
        if next - now.wall > most { return true }
        // A disk stays full until room is made, however often it is checked.
        let since = fullSince ?? now.monotonic
        fullSince = since
        return next - now.wall > since + most - now.monotonic
    }
}
