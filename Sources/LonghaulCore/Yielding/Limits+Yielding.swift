/// The bounds of yielding.
extension YieldControl {
    /// Seconds of queueing that our own packets may cause.
    static let target = 0.022
    /// Below this part of the line's rate, with a queue, there is other traffic.
    static let freeShare = 0.8
    /// The first window of a connection, in packets (RFC 6928).
    static let firstWindow = 10.0
    /// Packets that keep a connection alive.
    static let floor = 2.0
    /// Share of the line's rate while it is not ours, all connections together.
    static let trickle = 0.01
    /// Bytes per second below which a trickle might pass for a stall.
    static let trickleMin = 4096.0
    /// Longest time between probes, seconds: a free line must not lie idle.
    static let probeMax = 3.0
    /// Between two looks at the path's own delay, seconds.
    static let measureEvery = 20.0
    /// The part of the rate that is taken if no round trips are known.
    static let blindShare = 0.5
    static let windowMax = 16_777_216.0
}
