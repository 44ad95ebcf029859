/// A wall-clock instant in milliseconds since 1970-01-01T00:00:00Z. It may jump: stored facts and
/// schedules use it, running timers never do (see `Instant`).
public struct Timestamp: Hashable, Comparable, Codable, Sendable {
    /// Milliseconds since 1970-01-01T00:00:00Z; before that, negative.
    public var milliseconds: Int64

    /// - Parameter milliseconds: since 1970-01-01T00:00:00Z.
    public init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    /// True if the left one is earlier.
    public static func < (left: Timestamp, right: Timestamp) -> Bool {
        left.milliseconds < right.milliseconds
    }

    /// Moved by seconds, held at the ends of the range.
    public static func + (left: Timestamp, seconds: Double) -> Timestamp {
        Timestamp(milliseconds: left.milliseconds.addingClamped(Int64(bounding: seconds * 1000)))
    }

    /// Seconds from `right` to `left`.
    public static func - (left: Timestamp, right: Timestamp) -> Double {
        Double(left.milliseconds.subtractingClamped(right.milliseconds)) / 1000
    }

    /// The end of the year 9999, the last that RFC 3339 can write.
    public static let distantFuture = Timestamp(milliseconds: 253_402_300_799_000)  // year 9999
}

/// A point on the monotonic clock, in nanoseconds from an arbitrary origin that differs from boot
/// to boot. Rates and running timers use it; it is never stored.
package struct Instant: Hashable, Comparable, Sendable {
    package var nanoseconds: Int64

    package init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    package static func < (left: Instant, right: Instant) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    package static func + (left: Instant, seconds: Double) -> Instant {
        Instant(nanoseconds: left.nanoseconds.addingClamped(Int64(bounding: seconds * 1e9)))
    }

    /// Seconds from `right` to `left`.
    package static func - (left: Instant, right: Instant) -> Double {
        Double(left.nanoseconds.subtractingClamped(right.nanoseconds)) / 1e9
    }
}

/// Both clocks, read once a turn and passed to everything that asks for the time.
package struct Moment: Hashable, Sendable {
    package var wall: Timestamp
    package var monotonic: Instant

    package init(wall: Timestamp, monotonic: Instant) {
        self.wall = wall
        self.monotonic = monotonic
    }

    /// True if the wall clock was set back between the two moments: by more than a second, which a
    /// clock that is only slowed down does not lose at once.
    package func isSetBack(since earlier: Moment) -> Bool {
        wall - earlier.wall < monotonic - earlier.monotonic - 1
    }
}

extension Int64 {
    /// Towards zero, clamped to the range instead of trapping; NaN is 0.
    package init(bounding value: Double) {
        // The largest Int64 is no Double: 2^63 is the first that is too large.
        if value >= 0x1p63 {
            self = .max
        } else if value <= -0x1p63 {
            self = .min
        } else {
            self = value.isNaN ? 0 : Int64(value)
        }
    }

    /// The sum, held at the ends of the range instead of trapping: times given by users and servers
    /// are added here.
    package func addingClamped(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        if !overflow { return sum }
        return other > 0 ? .max : .min
    }

    package func subtractingClamped(_ other: Int64) -> Int64 {
        let (difference, overflow) = subtractingReportingOverflow(other)
        if !overflow { return difference }
        return other < 0 ? .max : .min
    }
}

/// How the wall clock stood to the time since boot: two of them, of one boot, tell by how much the
/// clock was set in between.
package struct ClockMark: Hashable, Sendable {
    package var boot: String
    /// Milliseconds of the wall clock over the time since boot.
    package var milliseconds: Int64

    /// - Parameter boot: see `BootID`; no blank in it.
    package init(boot: String, at moment: Moment) {
        self.boot = boot
        milliseconds = moment.wall.milliseconds.subtractingClamped(
            moment.monotonic.nanoseconds / 1_000_000)
    }

    /// Milliseconds the clock was set since then, negative for backwards; `nil` if it was not set,
    /// and unknown across a boot.
    package func jump(since earlier: ClockMark) -> Int64? {
        guard boot == earlier.boot else { return nil }
        let jump = milliseconds.subtractingClamped(earlier.milliseconds)
        return jump.magnitude < Limits.clockJumpMilliseconds.magnitude ? nil : jump
    }

    /// The text that is stored.
    package var text: String { "\(boot) \(milliseconds)" }

    package init?(_ text: String) {
        let words = text.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 2, let milliseconds = Int64(words[1]) else { return nil }
        boot = String(words[0])
        self.milliseconds = milliseconds
    }
}

/// Number of measured times up to each bound.
package struct TimeHistogram: Hashable, Sendable {
    package static let bounds = [0.001, 0.01, 0.1, 1, 10]

    /// Counts by the bounds; the last is the number of times longer than all bounds.
    package private(set) var counts = Array(repeating: 0, count: Self.bounds.count + 1)
    package private(set) var seconds = 0.0

    package init() {}

    package mutating func add(_ seconds: Double) {
        let place = TimeHistogram.bounds.firstIndex { seconds <= $0 }
        counts[place ?? TimeHistogram.bounds.count] += 1
        self.seconds += seconds
    }
}
