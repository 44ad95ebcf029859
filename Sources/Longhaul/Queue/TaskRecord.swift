public import LonghaulCore
internal import LonghaulStore

/// A task request as people see it.
public struct TaskRecord: Sendable {
    /// State of a request.
    public enum State: String, Sendable, CaseIterable {
        /// The request waits for its moment, its conditions, its host or a trigger.
        case waiting
        /// A launch carries it.
        case running
        /// The request has been carried out: only its runs are left.
        case done
    }

    /// The request as it was submitted, with its host.
    public var request: TaskRequest
    /// State of the request: waiting, running or done.
    public var state: State
    /// When it was submitted; of one that is done, when its last run began.
    public var submittedAt: Timestamp
    /// Title, subtitle and strategy of a continued task, as its program has changed them.
    public var continued: ContinuedWork?
    /// Progress of a continued task that runs; `nil` = none was reported.
    public var progress: TaskProgress?
    /// All wait reasons; empty unless the task waits.
    public var waitingFor: [WaitReason] = []
    /// The expected beginning, as far as known.
    public var forecast: Forecast
    /// Runs in a row that failed.
    public var failures = 0
    /// Runs in a row of a repeating refresh that brought nothing: it comes more rarely.
    public var emptyRuns = 0
    /// The last runs, newest first.
    public var runs: [TaskRun] = []
}
