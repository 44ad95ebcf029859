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
