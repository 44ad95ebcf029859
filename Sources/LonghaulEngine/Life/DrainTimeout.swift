internal import LonghaulCore

/// How long an engine without a box waits while nothing but back-offs is left.
struct DrainTimeout {
    /// What counts as being of use.
    struct Gain: Equatable {
        var bytes: Int64 = 0
        var ended = 0
        /// Of the store, by others.
        var changes: Int64 = 0
    }

    /// Since when nothing but room on a disk is missing.
    private var fullSince: Instant?
    private var gain: Gain?
    private var gainedAt: Instant

    init(started: Instant) {
        gainedAt = started
    }

    static let waitedOutSeconds: Double = 60
    /// Of many servers that are down there is always one that is to be asked again within the
    /// minute. Back-offs that double up to a minute take two together.
    static let inVainSeconds: Double = 120

    /// Whether what is left is not waited for.
    mutating func isOver(_ outcome: TurnOutcome, _ gain: Gain, now: Moment) -> Bool {
        if gain != self.gain {
            if self.gain != nil { gainedAt = now.monotonic }
            self.gain = gain
        }
        guard let next = outcome.nextReady else { return true }
        let most = DrainTimeout.waitedOutSeconds
        let end = gainedAt + DrainTimeout.inVainSeconds
        if let other = outcome.nextReadyBesidesStorage, other - now.wall <= most {
            fullSince = nil
            return now.monotonic + (other - now.wall) > end
        }
        if next - now.wall > most { return true }
        // A disk stays full until somebody makes room, however often it is looked at.
        let since = fullSince ?? now.monotonic
        fullSince = since
        return next - now.wall > since + most - now.monotonic
    }
}
