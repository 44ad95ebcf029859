internal import LonghaulCore
internal import Synchronization

/// The time of a simulated world: it stands still until the world advances.
final class VirtualClock: Sendable {
    /// Long after the machine has started.
    private static let begin = Instant(nanoseconds: 1_000_000_000_000)

    private let start: Timestamp
    private let instant = Mutex(VirtualClock.begin)

    init(startingAt start: Timestamp) {
        self.start = start
    }

    var now: Moment {
        let instant = instant.withLock { $0 }
        return Moment(wall: start + (instant - VirtualClock.begin), monotonic: instant)
    }

    /// Never back.
    func advance(to next: Instant) {
        instant.withLock { $0 = max($0, next) }
    }
}
