internal import LonghaulModel

/// The bounds of the transport. Moments and spans of the loop are in nanoseconds of the monotonic
/// clock.
extension Limits {
    // Connections.
    /// After this silence a new connection is better.
    static let silenceNanoseconds: Int64 = 3_000_000_000
    /// libcurl does not reuse a connection that was idle for longer (CURLOPT_MAXAGE_CONN).
    static let idleConnectionNanoseconds: Int64 = 118_000_000_000
}
