internal import LonghaulCore

/// The bounds of the transport. Moments and spans of the loop are in nanoseconds of the monotonic
/// clock.
extension Limits {
    // Connections.
    /// Wait of a request within libcurl for a connection, and then in its queue.
    static let pendingNanoseconds: Int64 = 1_000_000_000
    /// Between two runs while a connection is made. libcurl 7.88 gives up an address in one run and
    /// tries the next one only in the run after it, which it requests no sooner than the next
    /// address, too, should have answered (lib/connect.c).
    static let connectingNanoseconds: Int64 = 250_000_000
    /// After this silence a new connection is better.
    static let silenceNanoseconds: Int64 = 3_000_000_000
    /// libcurl does not reuse a connection that was idle for longer (CURLOPT_MAXAGE_CONN).
    static let idleConnectionNanoseconds: Int64 = 118_000_000_000
    /// The least difference that counts as sleep: the two clocks are not read at the same moment.
    static let suspendNanoseconds: Int64 = 1_000_000_000
    /// A server sends fewer bytes merely to keep its connection alive.
    static let keepAliveBytes: UInt64 = 512

    // The loop.
    /// In this time a fast sender refills a socket that was emptied.
    static let socketRefillMilliseconds: Int32 = 5
    /// If memory is short, continuing at once would make it worse.
    static let pollFailureMilliseconds: Int32 = 100

    // Yielding.
    /// Between two samples of the yielding connections.
    static let yieldTickNanoseconds: Int64 = 20_000_000
    /// Without a byte for so long, sampling wakes the loop no more.
    static let yieldQuietNanoseconds: Int64 = 1_000_000_000
    /// A connection without a request, or without bodies (FTP's control connection), is left out
    /// after this time.
    static let yieldIdleNanoseconds: Int64 = 3_000_000_000
    static let yieldReportNanoseconds: Int64 = 200_000_000

    // Heads.
    /// The year 9999, where the date format ends.
    static let fileTimeSeconds: Int64 = 253_402_300_799
}
