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

    /// The rate at a moment: that of a limit that was set by hand, else that of the plan.
    package func now(_ now: Timestamp, _ time: LocalTime, limit: RateOverride?) -> Now {
        guard let limit, limit.holds(at: now) else { return self.now(now, time) }
        return Now(bytesPerSecond: limit.bytesPerSecond, until: limit.until)
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

/// A rate limit of all transfers together that was set by hand. While it holds, it replaces the
/// limit of the configuration, for every engine of the queue.
public struct RateOverride: Hashable, Sendable {
    /// `nil` = as fast as it goes.
    public var bytesPerSecond: Int64?
    /// When it ends; `nil` = it holds until another one is set.
    public var until: Timestamp?

    /// A limit that holds from now on.
    public init(bytesPerSecond: Int64?, until: Timestamp? = nil) {
        self.bytesPerSecond = bytesPerSecond
        self.until = until
    }

    package func holds(at now: Timestamp) -> Bool { until.map { now < $0 } ?? true }

    /// Its form in the store: the rate or `off`, then the end in milliseconds if it has one.
    package var stored: String {
        (bytesPerSecond.map { "\($0)" } ?? "off") + (until.map { " \($0.milliseconds)" } ?? "")
    }

    /// `nil` = the text is not understood.
    package init?(stored text: String) {
        let words = text.split(separator: " ")
        guard let first = words.first, words.count <= 2 else { return nil }
        let rate = Int64(first)
        guard first == "off" || (rate ?? 0) > 0 else { return nil }
        bytesPerSecond = rate
        guard words.count == 2 else { return }
        guard let end = Int64(words[1]) else { return nil }
        until = Timestamp(milliseconds: end)
    }
}
