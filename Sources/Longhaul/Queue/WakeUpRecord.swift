public import LonghaulCore
internal import LonghaulStore

/// A wake-up that was not handed over, or not handled.
public struct WakeUpRecord: Sendable {
    /// State of a wake-up.
    public enum State: String, Sendable, CaseIterable {
        /// The wake-up is handed over as soon as its conditions hold.
        case waiting
        /// The wake-up expired before it could be handed over.
        case dropped
        /// The wake-up's launch did not end well: the wake-up has come again as one that is not
        /// urgent.
        case failed
    }

    /// `nil` = it has none.
    public var identifier: String?
    /// State of the wake-up.
    public var state: State
    /// The wake-up passes the delays of its host.
    public var isUrgent: Bool
    /// When it was asked for.
    public var submittedAt: Timestamp
    /// When it is dropped; `nil` = it waits as long as it takes.
    public var expiresAt: Timestamp?
    /// All wait reasons; empty unless the wake-up waits.
    public var waitingFor: [WaitReason] = []
    /// When it is handed over; `nil` unless it waits.
    public var forecast: Forecast?
    /// When it was dropped, or its launch ended; `nil` = it waits.
    public var endedAt: Timestamp?
    /// The launch that has not handled it.
    public var launch: Int64?
    /// Why it was not handed over until it was dropped: `backoff`, `host`, `budget`, `engine`, or a
    /// condition.
    public var droppedFor: WaitReason.Reason?
}

extension TaskReader {
    /// Waiting and unhandled wake-ups.
    func wakeUps(of host: StoredHost) throws(LonghaulError) -> [WakeUpRecord] {
        var records: [WakeUpRecord] = []
        for task in try queue.store.tasks.waiting(for: host.name) where task.kind == .wakeUp {
            let waiting = try record(task)
            let identifier = task.request.identifier
            records.append(
                WakeUpRecord(
                    identifier: identifier.isEmpty ? nil : identifier, state: .waiting,
                    isUrgent: task.isUrgent, submittedAt: task.submittedAt,
                    expiresAt: task.expiresAt, waitingFor: waiting.waitingFor,
                    forecast: waiting.forecast))
        }
        return records
            + (try queue.store.tasks.wakeUpEnds(of: host.name)).map { end in
                WakeUpRecord(
                    identifier: end.identifier.isEmpty ? nil : end.identifier,
                    state: end.launch == nil ? .dropped : .failed, isUrgent: end.isUrgent,
                    submittedAt: end.submittedAt, endedAt: end.at, launch: end.launch?.rawValue,
                    droppedFor: end.obstacle)
            }
    }
}
