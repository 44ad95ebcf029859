/// Failures in a row that cool an origin down for all its transfers.
private let originFailures = 3
/// The weight of a new measurement of an origin's throughput against the remembered rate.
private let originRateWeight = 0.3

/// Knowledge about an origin (scheme, host, port). Shared by all its transfers and kept in the
/// store.
package struct OriginMemory: Hashable, Sendable {
    package var origin: String
    /// Answers 200 to ranges although it sends a validator: one connection for a file. Ranges are
    /// requested all the same: bytes held can be skipped then, and one good answer disproves it.
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
    /// Failures in a row, for the cool-down's length. Requests under way at its begin count as one.
    package var failures = 0
    /// The last of those failures, for output.
    package var lastFailure: String?
    /// Measured throughput of one transfer, bytes per second, smoothed.
    package var bytesPerSecond: Double?
    /// The origin's certificate was accepted once: a later rejection is the fault of a clock or of
    /// the network rather than of the origin.
    package var isVerified = false
    /// Upload protocol that the origin speaks; `nil` = unknown.
    package var uploads: SpokenUploads?

    package init(origin: String) {
        self.origin = origin
    }
}

extension OriginMemory {
    /// A transfer was completed. `rate` only where it ran long enough to tell.
    package mutating func worked(at rate: Double?, http2: Bool, now: Timestamp) {
        afterSuccess(now: now)
        speaksHTTP2 = http2
        guard let rate else { return }
        assert(rate >= 0, "a throughput is not negative")
        let old = bytesPerSecond ?? rate
        bytesPerSecond = old + (rate - old) * originRateWeight
    }
}

extension OriginMemory {
    /// Cools the origin down for all its transfers when the failure is its own: at once where it
    /// asked for a pause (429, 503, Retry-After), else from the third failure in a row.
    package mutating func afterFailure(
        _ failure: Failure, gained: Int64, now: Timestamp,
        using random: inout some RandomNumberGenerator
    ) {
        // A line that brings bytes before it breaks is bad, not dead.
        guard failure.blamesOrigin, gained == 0 || failure.retryAfter != nil else { return }
        lastFailure = failure.error.message
        // Failures of requests that were out when a pause began tell nothing new: a server that is
        // away for a moment fails all its requests.
        if !isCooling(at: now) {
            failures += 1
            let step = failure.asksForPause ? failures : failures - originFailures + 1
            if step > 0 {
                cool(until: now + BackOff.seconds(afterFailures: step, using: &random), now: now)
            }
        }
        if let requested = failure.retryAfter {
            let end = now + min(requested, Limits.retryAfterMaximumSeconds)
            pauseUntil = max(pauseUntil ?? end, end)
            cool(until: end, now: now)
        }
    }

    /// The server has stated that the next request should not begin before these seconds are over.
    /// No failure, and no answer to an earlier request ends it.
    package mutating func pause(for seconds: Double, now: Timestamp) {
        let end = now + min(seconds, Limits.retryAfterMaximumSeconds)
        pauseUntil = max(pauseUntil ?? end, end)
        lastFailure = "its rate limit (RateLimit)"
        cool(until: end, now: now)
    }

    /// A failure that is reported late never shortens the pause.
    private mutating func cool(until end: Timestamp, now: Timestamp) {
        coolDownUntil = max(coolDownUntil ?? end, end)
        coolDownSince = now
    }

    /// The clock was set back: a pause that began at a moment that is yet to come begins now.
    package mutating func resumePause(at now: Timestamp) {
        guard let since = coolDownSince, since > now, let until = coolDownUntil else { return }
        coolDownUntil = now + (until - since)
        pauseUntil = pauseUntil.map { now + ($0 - since) }
        coolDownSince = now
    }

    /// An answer or bytes came: the origin is well. A pause that it has requested stays (RFC 9110
    /// §10.2.3): answers during the pause belong to earlier requests.
    package mutating func afterSuccess(now: Timestamp) {
        failures = 0
        lastFailure = nil
        if isPaused(at: now) {
            coolDownUntil = pauseUntil
        } else {
            coolDownUntil = nil
            coolDownSince = nil
            pauseUntil = nil
        }
    }

    /// There is a reason to ask it again at this moment: one transfer goes first then. A pause that
    /// it has asked for stays.
    package mutating func endCoolDown(at moment: Timestamp) {
        guard let until = coolDownUntil, until > moment else { return }
        coolDownUntil = max(moment, pauseUntil ?? moment)
    }

    /// A user will not wait: one transfer goes first at this moment, despite the server's requested
    /// pause. Never sooner than a second after the pause began.
    package mutating func endPause(at moment: Timestamp) {
        guard let until = coolDownUntil, until > moment else { return }
        pauseUntil = nil
        let earliest = (coolDownSince ?? moment) + Limits.backOffMinimumSeconds
        coolDownUntil = min(until, max(moment, earliest))
    }

    /// A success would change the memory.
    package func mayRecover(at now: Timestamp) -> Bool {
        failures > 0 || (coolDownUntil != nil && !isPaused(at: now))
    }

    private func isPaused(at now: Timestamp) -> Bool {
        pauseUntil.map { Self.isAhead($0, at: now) } ?? false
    }

    /// A clock set back must not stretch a pause beyond the longest possible one.
    private static func isAhead(_ end: Timestamp, at now: Timestamp) -> Bool {
        now < end && end <= now + Limits.retryAfterMaximumSeconds
    }

    package func isCooling(at now: Timestamp) -> Bool {
        if case .cooling = health(at: now) { true } else { false }
    }

    package enum Health: Hashable, Sendable {
        case well
        case cooling(until: Timestamp)
        /// The pause is over and nothing has succeeded since: one transfer goes first (half-open).
        case probing
    }

    package func health(at now: Timestamp) -> Health {
        guard let coolDownUntil else { return .well }
        return Self.isAhead(coolDownUntil, at: now) ? .cooling(until: coolDownUntil) : .probing
    }
}

/// The way of uploads that an origin speaks. Raw values are stored.
package enum SpokenUploads: String, Hashable, Sendable {
    /// Neither tus nor the draft: a request carries the whole file.
    case plain
    /// draft-ietf-httpbis-resumable-upload, by interop version.
    case ietf9, ietf8, ietf6
    /// tus 1.0.0, without its extension `checksum`.
    case tus
    /// tus 1.0.0, with it.
    case tusWithChecksum

    var isTus: Bool { self == .tus || self == .tusWithChecksum }
}
