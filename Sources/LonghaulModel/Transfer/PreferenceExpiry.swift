/// When preferences stop to count: the deadline comes near, or they have kept a transfer waiting
/// for long enough.
///
/// The needed time is a guess, and an origin's rate changes; so the transfer is examined again
/// whenever half of the time that seems left has passed.
package struct PreferenceExpiry: Hashable, Sendable {
    /// Seconds from when it may begin.
    package static let defaultSeconds: Double = 86_400
    /// Factor on the time that the bytes should take.
    static let margin = 2.0
    static let fixedSeconds: Double = 300
    /// Seconds for an unknown number of bytes, at most half of the whole time.
    static let unknownSizeSeconds: Double = 3600
    /// Before the origin's throughput was measured.
    static let assumedBytesPerSecond: Double = 262_144
    /// Least time between two looks.
    static let checkSeconds: Double = 60
    /// Preferences that end so soon after waived ones are waived too: the work is done together.
    package static let batchSeconds: Double = 30 * 60

    /// Moment of the next check.
    package var checkAt: Timestamp
    /// When they have kept it waiting for long enough.
    package var by: Timestamp

    package init(checkAt: Timestamp, by: Timestamp) {
        self.checkAt = checkAt
        self.by = by
    }

    /// The facts about a transfer known only by its request.
    package init(begin: Timestamp, after seconds: Double, deadline: Timestamp, bytes: Int64?) {
        by = begin + min(seconds, 1e11)
        let needs = PreferenceExpiry.seconds(bytes: bytes, rate: nil, span: deadline - begin)
        switch PreferenceExpiry.decide(waiveBy: by, deadline: deadline, needs: needs, now: begin) {
        case .waive: checkAt = begin
        case .look(let at): checkAt = at
        }
    }

    package enum Verdict: Hashable, Sendable {
        case waive
        case look(at: Timestamp)
    }

    /// - Parameters:
    ///   - waiveBy: When they have kept it waiting for long enough.
    ///   - needs: Seconds that the transfer still takes, see ``seconds(bytes:rate:span:)``.
    package static func decide(
        waiveBy: Timestamp, deadline: Timestamp, needs: Double, now: Timestamp
    ) -> Verdict {
        let slack = (deadline - now) - needs
        if now >= waiveBy || slack <= 0 { return .waive }
        let next = now + max(slack / 2, min(slack, checkSeconds))
        return .look(at: min(waiveBy, next))
    }

    /// How long before the deadline a transfer has to begin.
    ///
    /// - Parameters:
    ///   - bytes: That remain; `nil` = unknown.
    ///   - rate: Measured of its origin, bytes per second.
    ///   - span: Seconds from when it may begin to its deadline.
    package static func seconds(bytes: Int64?, rate: Double?, span: Double) -> Double {
        let short = max(0, span / 2)
        guard let bytes else { return min(unknownSizeSeconds, short) }
        var speed = assumedBytesPerSecond
        if let rate, rate > 0 { speed = rate }
        return Double(max(0, bytes)) / speed * margin + min(fixedSeconds, short)
    }
}
