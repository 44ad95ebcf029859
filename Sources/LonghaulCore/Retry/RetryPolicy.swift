/// What becomes of a transfer whose attempt failed.
package enum RetryPolicy {
    package enum Verdict: Hashable, Sendable {
        /// Not before this moment, from the bytes held. The count is what
        /// ``FetchState/fruitlessAttempts`` becomes.
        case retry(at: Timestamp, fruitlessAttempts: Int, because: LonghaulError)
        /// Not before this moment, from zero.
        case restart(RestartReason, at: Timestamp, fruitlessAttempts: Int)
        /// When there is room again.
        case waitForStorage(LonghaulError)
        /// When another URL or credentials are given; without a host to ask it fails.
        case needsInput(LonghaulError)
        case fail(LonghaulError)
    }

    /// What is known of the attempts so far.
    package struct Attempts: Hashable, Sendable {
        /// Attempts in a row that gained nothing, the failed one not counted.
        package var fruitless: Int
        /// Bytes that the failed one gained.
        package var gained: Int64
        /// How many retries may follow the first attempt; `nil` = until the deadline.
        package var retries: Int?

        package init(fruitless: Int, gained: Int64, retries: Int?) {
            self.fruitless = fruitless
            self.gained = gained
            self.retries = retries
        }
    }

    /// - Parameter deadline: A back-off that would outlast it takes half of the time that is left.
    ///   Where only a retry after it could respect what the server asks for, there is none.
    package static func decide(
        _ failure: Failure, attempts: Attempts, now: Timestamp, deadline: Timestamp?,
        using random: inout some RandomNumberGenerator
    ) -> Verdict {
        switch failure.kind {
        case .waitForStorage: return .waitForStorage(failure.error)
        case .needsInput: return .needsInput(failure.error)
        case .permanent, .localFault: return .fail(failure.error)
        case .transient, .restartFromZero: break
        }
        // Gained bytes start the count anew: as after a first attempt, as many retries follow as
        // are allowed.
        let count = attempts.gained > 0 ? 1 : attempts.fruitless + 1
        if let retries = attempts.retries, count > retries {
            return .fail(exhausted(failure.error, retries: retries))
        }
        var wait = BackOff.seconds(
            afterFailures: attempts.gained > 0 ? 0 : count, using: &random)
        if let deadline, now + wait >= deadline {
            wait = max(Limits.backOffMinimumSeconds, (deadline - now) / 2)
        }
        // The server's wish is a minimum (RFC 9110 §10.2.3).
        if let wish = failure.retryAfter {
            let others = Double.random(in: Limits.afterPauseSeconds, using: &random)
            wait = max(wait, min(wish + others, Limits.retryAfterMaximumSeconds))
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

/// Exponential back-off with full jitter: a uniform draw below a doubling ceiling, so that clients
/// that failed together do not come back together.
package enum BackOff {
    /// Seconds before the next try.
    ///
    /// - Parameter failures: Tries in a row that gained nothing, this one included. 0 = it gained
    ///   bytes: at most one second. 1 = 1…2 s, 2 = 1…4 s, … up to 1 s…10 min.
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
