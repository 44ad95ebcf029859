internal import LonghaulCore

/// Bounds and defaults of the engine. Units are in the names or the types.
extension Limits {
    // Turns.
    /// How often an idle engine polls the store: a hint of a client may have been lost.
    static let storePollSeconds: Double = 60
    /// Newest queued transfers of a URL that one transaction examines for joining a fetch.
    static let newcomersPerTransaction = 512

    // The store.
    /// After a failed commit the same writes are tried again.
    static let commitRetrySeconds: Double = 1
    /// Failed commits after which the engine gives up; the queue stays as it was last committed.
    static let commitFailures = 30

    // Hosts.
    /// How often hosts are checked whose changes are not reported: a program is missing, or it is
    /// attached while events wait.
    static let hostCheckSeconds: Double = 30
}
