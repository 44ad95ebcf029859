/// What has been learned of an origin (scheme, host, port). Shared by all its transfers and kept in
/// the store.
package struct OriginMemory: Hashable, Sendable {
    package var origin: String
    /// Answers 200 to ranges although it sends a validator: one connection for a file. Ranges are
    /// asked for all the same: what is held can be skipped then, and one good answer disproves it.
    package var ignoresRanges = false
    /// Answers 200 to If-Range although the validator is unchanged (or 206 although it changed):
    /// use a plain Range with overlap.
    package var mishandlesIfRange = false
    package var speaksHTTP2 = false
    /// No request before this moment, for any transfer of the origin (`Retry-After`, repeated
    /// failures).
    package var coolDownUntil: Timestamp?
    /// When that was decided: a clock that was set back since must not make it longer.
    package var coolDownSince: Timestamp?
    /// The part of it that the server has asked for: no good answer ends that.
    package var pauseUntil: Timestamp?
    /// Failures in a row, for the cool-down's length. Those of requests that were out when it began
    /// are one.
    package var failures = 0
    /// Measured throughput of one transfer, bytes per second, smoothed.
    package var bytesPerSecond: Double?

    package init(origin: String) {
        self.origin = origin
    }
}
