/// How long a queue keeps ended transfers, so that one used for years stays small.
///
/// BITS cancels a job that has not been completed for 90 days (`JobInactivityTimeout`); the same
/// length is the default here.
public struct Retention: Hashable, Sendable {
    /// Seconds from the end of a transfer until its row and its events go; default 90 days. A
    /// completed file always stays. A transfer stays longer while its host has not acknowledged
    /// its events, and while bytes are kept for `retry`.
    public var ended: Double = 90 * 86_400
    /// Seconds that the bytes of a failed or cancelled transfer are kept for `retry`, from its
    /// deadline or its end, whichever is later; default 30 days. An event announces their end
    /// three days before.
    public var parts: Double = 30 * 86_400
    /// Seconds from its acknowledgement until an event goes; default 7 days.
    public var events: Double = 7 * 86_400

    /// The defaults.
    public init() {}
}
