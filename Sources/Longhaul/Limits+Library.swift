internal import LonghaulCore

/// The bounds and defaults of this module.
extension Limits {
    // Reads.
    /// Interval of reading the store without a notification, since one may have been lost.
    static let storePollSeconds: Double = 30

    // Activities.
    /// A longer budget is refused: such work is no finite one.
    static let activitySecondsMaximum: Double = 86_400

    // The engine.
    /// Lead of the request to stop before the end of a launch.
    static let deferralNoticeSeconds: Double = 5
    /// ``EngineOptions/leavingSeconds``.
    static let leavingSeconds: Double = 30
}
