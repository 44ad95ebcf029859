/// Where the yielding connections stand, for people to see.
public struct YieldReport: Hashable, Sendable {
    /// The numbers are stored where other processes read them.
    public enum State: UInt8, Sendable, CaseIterable {
        /// The line is ours as far as can be seen.
        case open = 1
        /// Somebody else uses the line; only a trickle is taken.
        case yielded = 2
        /// Trying whether the line is free again.
        case probing = 3
        /// Holding back for a moment, to see the path's delay without a queue.
        case measuring = 4
        /// No round trips are to be had: a share of the rate is taken.
        case sharing = 5
    }

    public var state: State
    /// Seconds that bytes wait in queues on the way; `nil` = not known.
    public var queueingDelay: Double?
    /// Bytes that all senders together may have under way.
    public var window: Int
    /// Bytes per second of all of them.
    public var rate: Double
    /// That rate against the best of late, 0 … 1.
    public var share: Double

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
