/// How fast all transfers together may be, by the time of day.
public struct RatePlan: Hashable, Sendable {
    /// The rate in a window; `nil` = as fast as it goes.
    public struct Part: Hashable, Sendable {
        /// When it holds, in local time.
        public var window: TimeWindow
        /// All transfers together; `nil` = as fast as it goes.
        public var bytesPerSecond: Int64?

        /// A bound for one window.
        public init(window: TimeWindow, bytesPerSecond: Int64?) {
            self.window = window
            self.bytesPerSecond = bytesPerSecond
        }
    }

    /// At all other times; `nil` = as fast as it goes.
    public var bytesPerSecond: Int64?
    /// The parts of the plan. If windows overlap, the first one counts.
    public var parts: [Part] = []

    /// Without a bound.
    public init() {}

    package struct Now: Hashable, Sendable {
        package var bytesPerSecond: Int64?
        /// When to look again; `nil` = it is always the same.
        package var until: Timestamp?
    }

    package func now(_ now: Timestamp, _ time: LocalTime) -> Now {
        var found = Now(bytesPerSecond: bytesPerSecond)
        var isFound = false
        for part in parts {
            let phase = part.window.phase(at: now, time)
            found.until = min(found.until ?? phase.until, phase.until)
            if phase.isOpen, !isFound {
                found.bytesPerSecond = part.bytesPerSecond
                isFound = true
            }
        }
        return found
    }
}
