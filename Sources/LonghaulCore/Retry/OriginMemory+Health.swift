extension OriginMemory {
    /// Cools the origin down for all its transfers when the failure is its own: at once where it
    /// asked for a pause (429, 503, Retry-After), else from the third failure in a row.
    package mutating func afterFailure(
        _ failure: Failure, gained: Int64, now: Timestamp,
        using random: inout some RandomNumberGenerator
    ) {
        // A line that brings bytes before it breaks is bad, not dead.
        guard failure.blamesOrigin, gained == 0 || failure.retryAfter != nil else { return }
        failures += 1
        let asksForPause =
            failure.retryAfter != nil || failure.error.httpStatus == 429
            || failure.error.httpStatus == 503
        guard asksForPause || failures >= Limits.originFailures else { return }
        let step = asksForPause ? failures : failures - Limits.originFailures + 1
        var wait = BackOff.seconds(afterFailures: step, using: &random)
        if let wish = failure.retryAfter {
            wait = max(wait, min(wish, Limits.retryAfterMaximumSeconds))
        }
        // A failure that is reported late never shortens the pause.
        coolDownUntil = max(coolDownUntil ?? now, now + wait)
        coolDownSince = now
    }

    /// The clock was set back: a pause that began at a moment that is yet to come begins now.
    package mutating func resumePause(at now: Timestamp) {
        guard let since = coolDownSince, since > now, let until = coolDownUntil else { return }
        coolDownUntil = now + (until - since)
        coolDownSince = now
    }

    /// An answer or bytes came: the origin is well.
    package mutating func afterSuccess() {
        failures = 0
        coolDownUntil = nil
        coolDownSince = nil
    }

    package enum Health: Hashable, Sendable {
        case well
        case cooling(until: Timestamp)
        /// The pause is over and nothing has succeeded since: one transfer goes first (half-open).
        case probing
    }

    package func health(at now: Timestamp) -> Health {
        guard let coolDownUntil else { return .well }
        // A clock set back must not stretch the pause beyond what can have been meant.
        let longest = now + Limits.retryAfterMaximumSeconds
        return now < coolDownUntil && coolDownUntil <= longest
            ? .cooling(until: coolDownUntil) : .probing
    }
}
