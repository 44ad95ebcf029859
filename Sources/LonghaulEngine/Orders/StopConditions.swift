package import LonghaulCore

/// Purpose of an engine, and the conditions under which it ends by itself.
package struct StopConditions: Sendable {
    package var scope = EngineScope()
    package var maxSeconds: Double?
    /// The rule for unresumable transfers at the end of that time.
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

/// Transfers that this engine may start.
package struct EngineScope: Sendable {
    /// `true` = discretionary transfers alone, `false` = immediate ones alone; `nil` = both.
    package var onlyDiscretionary: Bool?
    /// Apply the intents of clients to the store, and start nothing.
    package var startsNothing = false

    package init() {}
}

/// Settings that may change while an engine runs.
package struct EngineTuning: Hashable, Sendable {
    package var limits = SchedulerLimits()
    package var rates = RatePlan()
    package var retention = Retention()

    package init() {}
}

/// The results of an engine, and why it ended.
package struct EngineReport: Hashable, Sendable {
    package enum StoppedBy: String, Hashable, Sendable {
        case drained, maxTime, maxBytes, signal
    }

    package var totals: EngineCounters
    package var bytes: Int64
    package var seconds: Double
    package var stoppedBy: StoppedBy
}

/// Counts of transfers that have ended since the engine began.
package struct EngineCounters: Hashable, Sendable {
    package private(set) var completed = 0
    package private(set) var failed = 0
    /// Launches of hosts that failed.
    package var hostsFailed = 0
    /// Requests that have ended.
    private(set) var requests = 0
    /// Requests among them that ended with an error or with an unusable answer.
    private(set) var failedRequests = 0
    /// Transfers that restarted because their bytes were useless.
    private(set) var restarts = 0
    /// Body bytes received or sent by fetches that have left; excludes active fetches.
    private(set) var bytesOfGone: Int64 = 0
    /// The sent bytes among ``bytesOfGone``.
    private(set) var sentByGone: Int64 = 0
    /// The part of the bytes that the store's totals have.
    var recorded = MovedBytes()

    /// Counts committed writes; no others count.
    mutating func count(_ writes: [StoreWrite]) {
        for write in writes {
            switch write {
            case .completed, .skipped: completed += 1
            case .failed: failed += 1
            case .restarted: restarts += 1
            case .attempt(_, let attempt):
                requests += 1
                if !attempt.isWell { failedRequests += 1 }
            case .queued, .lastError, .save, .needsInput, .cancelled, .abandonUpload, .dropFetch,
                .give, .leave, .discard, .orphan, .forget, .learn, .originFailed, .originWorked,
                .saveOrigin:
                break
            }
        }
    }

    /// The bytes by direction, including active fetches.
    func moved(withActive bytes: Int64, sent: Int64) -> MovedBytes {
        let sent = sentByGone + sent
        return MovedBytes(received: bytesOfGone + bytes - sent, sent: sent)
    }

    mutating func count(completed more: Int) { completed += more }

    mutating func count(failed more: Int) { failed += more }

    mutating func countGone(_ bytes: Int64, sent: Bool) {
        precondition(bytes >= 0, "what was received is not taken back")
        bytesOfGone += bytes
        if sent { sentByGone += bytes }
    }
}

/// Body bytes by their direction.
struct MovedBytes: Hashable, Sendable {
    var received: Int64 = 0
    var sent: Int64 = 0

    func since(_ earlier: MovedBytes) -> MovedBytes {
        MovedBytes(
            received: max(0, received - earlier.received), sent: max(0, sent - earlier.sent))
    }

    /// A count that goes down, as when a transfer leaves a shared fetch, does not count twice.
    mutating func raise(to other: MovedBytes) {
        received = max(received, other.received)
        sent = max(sent, other.sent)
    }
}
