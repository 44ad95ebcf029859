/// A gain is this many more bytes, or a percent of the file.
private let gainBytes: Int64 = 1 << 20
/// After a pause that a server asked for, others go first: one that was refused may be refused
/// again.
private let afterPauseSeconds = 1.0...3.0

/// Decides the next state of a transfer whose attempt failed.
package enum RetryPolicy {
    package enum Verdict: Hashable, Sendable {
        /// Continue from the bytes held, not before this moment. The count is the next value of
        /// ``FetchState/fruitlessAttempts``.
        case retry(at: Timestamp, fruitlessAttempts: Int, because: LonghaulError)
        /// Begin from zero, not before this moment.
        case restart(RestartReason, at: Timestamp, fruitlessAttempts: Int)
        /// When there is room again.
        case waitForStorage(LonghaulError)
        /// When another URL or credentials are given; without a host to ask it fails.
        case needsInput(LonghaulError)
        case fail(LonghaulError)
    }

    /// The attempts so far.
    package struct Attempts: Hashable, Sendable {
        /// Attempts in a row without a gain, the failed one not counted.
        package var fruitless: Int
        /// The failed one has gained enough, see ``RetryPolicy/isGain(_:of:)``.
        package var hasGained: Bool
        /// Seconds since the last request went out.
        package var sinceRequest: Double
        /// How many retries may follow the first attempt; `nil` = until the deadline.
        package var retries: Int?
        /// How many that reach no server end it; `nil` = they are as others.
        package var unreachable: Int?

        package init(
            fruitless: Int, hasGained: Bool, sinceRequest: Double = 0, retries: Int?,
            unreachable: Int? = nil
        ) {
            self.fruitless = fruitless
            self.hasGained = hasGained
            self.sinceRequest = sinceRequest
            self.retries = retries
            self.unreachable = unreachable
        }
    }

    /// A gain: enough more bytes to continue at once, a MiB or a percent of the file. With a
    /// smaller bound, a server that gives a few bytes and breaks off would be asked endlessly.
    ///
    /// - Parameter total: The length of the file; `nil` = unknown.
    package static func isGain(_ bytes: Int64, of total: Int64?) -> Bool {
        assert(total ?? 0 >= 0, "a length is not negative")
        let percent = total.map { max(1, $0 / 100) } ?? .max
        return bytes >= min(gainBytes, percent)
    }

    /// - Parameter deadline: A back-off that would outlast it takes half of the remaining time. If
    ///   only a retry after it could respect the server's requested pause, there is no retry.
    package static func decide(
        _ failure: Failure, attempts: Attempts, now: Timestamp, deadline: Timestamp?,
        using random: inout some RandomNumberGenerator
    ) -> Verdict {
        assert(attempts.fruitless >= 0, "attempts are counted up")
        switch failure.kind {
        case .waitForStorage: return .waitForStorage(failure.error)
        case .needsInput: return .needsInput(failure.error)
        case .permanent, .localFault: return .fail(failure.error)
        case .transient, .restartFromZero: break
        }
        // A gain restarts the count: as after a first attempt, the allowed number of retries
        // follows.
        let count = attempts.hasGained ? 1 : attempts.fruitless + 1
        if let retries = attempts.retries, count > retries {
            return .fail(exhausted(failure.error, retries: retries))
        }
        if let most = attempts.unreachable, count >= most, failure.error.isUnreachable {
            return .fail(failure.error)
        }
        var wait = BackOff.seconds(
            afterFailures: attempts.hasGained ? 0 : count, using: &random)
        wait = max(wait, Limits.backOffMinimumSeconds - attempts.sinceRequest)
        if let deadline, now + wait >= deadline {
            wait = max(Limits.backOffMinimumSeconds, (deadline - now) / 2)
        }
        // A server's requested pause is a minimum (RFC 9110 §10.2.3).
        if let requested = failure.retryAfter {
            let others = Double.random(in: afterPauseSeconds, using: &random)
            wait = max(wait, min(requested + others, Limits.retryAfterMaximumSeconds))
        }
        let next = now + wait
        if let deadline, next >= deadline { return .fail(tooLate(failure.error)) }
        if let reason = failure.restart {
            return .restart(reason, at: next, fruitlessAttempts: count)
        }
        return .retry(at: next, fruitlessAttempts: count, because: failure.error)
    }

    private static func exhausted(_ error: LonghaulError, retries: Int) -> LonghaulError {
        var error = error
        let times = retries == 1 ? "1 retry" : "\(retries) retries"
        error.message += "; given up after \(times), `retry` goes on"
        return error
    }

    private static func tooLate(_ error: LonghaulError) -> LonghaulError {
        var result = error
        result.code = .timedOut
        result.message = "the deadline is too near for another try; the last one: \(error.message)"
        return result
    }
}

extension LonghaulError {
    /// The server's name is unknown, or no connections are accepted at its address (CURLcode 7).
    var isUnreachable: Bool { code == .dns || curlCode == 7 }
}

/// Exponential back-off with full jitter: a uniform draw below a doubling ceiling, so that clients
/// that failed together do not come back together.
package enum BackOff {
    /// Seconds before the next try.
    ///
    /// - Parameter failures: Tries in a row without a gain, this one included. 0 = it has gained
    ///   enough: at most one second. 1 = 1…2 s, 2 = 1…4 s, … up to 1 s…10 min.
    package static func seconds(
        afterFailures failures: Int, using random: inout some RandomNumberGenerator
    ) -> Double {
        if failures <= 0 {
            return Double.random(in: 0...Limits.backOffMinimumSeconds, using: &random)
        }
        return Double.random(
            in: Limits.backOffMinimumSeconds...ceiling(afterFailures: failures), using: &random)
    }

    package static func ceiling(afterFailures failures: Int) -> Double {
        var ceiling = Limits.backOffMinimumSeconds
        for _ in 0..<max(failures, 0) {
            ceiling *= 2
            if ceiling >= Limits.backOffMaximumSeconds { return Limits.backOffMaximumSeconds }
        }
        return ceiling
    }
}
