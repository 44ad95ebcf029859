package import LonghaulCore

/// When an engine is to leave by itself.
package struct StopConditions: Sendable {
    package var scope = EngineScope()
    package var maxSeconds: Double?
    /// What runs at the end of that time and cannot be resumed.
    package var unresumable = UnresumablePolicy.wait
    package var maxBytes: Int64?
    /// When nothing can start any more; back-offs of up to a minute, or to the end of the box, are
    /// waited out, a full disk for a minute.
    package var untilDrained = false
    /// When nothing has been left to do or to wait for during so many seconds.
    package var exitWhenIdle: Double?
    /// When all of these have ended.
    package var until: [TransferID]?
    package var tuning = EngineTuning()

    package init() {}
}

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
