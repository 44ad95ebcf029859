package import LonghaulCore

/// What an engine is started for, and when it ends by itself.
package struct StopConditions: Sendable {
    package var scope = EngineScope()
    package var maxSeconds: Double?
    /// What becomes of unresumable downloads at the end of that time.
    package var unresumable = UnresumablePolicy.wait
    package var maxBytes: Int64?
    /// When nothing can start any more. Back-offs of up to a minute, or to the end of the time box,
    /// are waited out; a full disk for a minute.
    package var untilDrained = false
    /// Seconds without anything to do or to wait for, after which the engine ends.
    package var exitWhenIdle: Double?
    /// When all of these have ended.
    package var until: [TransferID]?
    package var tuning = EngineTuning()

    package init() {}
}

/// What this engine may start.
package struct EngineScope: Sendable {
    /// Only discretionary (`true`) or only immediate (`false`) transfers; `nil` = both.
    package var onlyDiscretionary: Bool?
    /// Apply the intents of clients to the store, and start nothing.
    package var startsNothing = false

    package init() {}
}

/// What may be changed while an engine runs.
package struct EngineTuning: Hashable, Sendable {
    package var limits = SchedulerLimits()
    package var rates = RatePlan()

    package init() {}
}

/// What an engine has done, and why it ended.
package struct EngineReport: Hashable, Sendable {
    package enum StoppedBy: String, Hashable, Sendable {
        case drained, maxTime, maxBytes, signal
    }

    package var completed: Int
    package var failed: Int
    package var bytes: Int64
    package var seconds: Double
    package var stoppedBy: StoppedBy
}
