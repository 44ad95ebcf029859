public import LonghaulCore
internal import LonghaulStore

/// A task request as people see it.
public struct TaskRecord: Sendable {
    /// What a request is doing.
    public enum State: String, Sendable, CaseIterable {
        /// It waits for its moment, its conditions, its host or a trigger.
        case waiting
        /// A launch carries it.
        case running
        /// It has been carried out: only its runs are left.
        case done
    }

    /// What was asked for, with its host.
    public var request: TaskRequest
    /// Whether it waits, runs or is done.
    public var state: State
    /// When it was submitted; of one that is done, when its last run began.
    public var submittedAt: Timestamp
    /// All that it waits for; empty unless it waits.
    public var waitingFor: [WaitReason] = []
    /// When it begins, as far as that can be told.
    public var forecast: Forecast
    /// Runs in a row that failed.
    public var failures = 0
    /// The last runs, newest first.
    public var runs: [TaskRun] = []
}

/// One run of a task: its part of a launch.
public struct TaskRun: Hashable, Sendable {
    /// The launch that carried it, see ``LaunchRecord/id``.
    public var launch: Int64
    /// What it was launched for, of a standing request.
    public var trigger: TaskTrigger?
    /// When the launch began.
    public var startedAt: Timestamp
    /// When it ended; `nil` = it runs.
    public var endedAt: Timestamp?
    /// How it ended; `nil` = it runs, it expired, or its end is not known and it comes again.
    public var result: TaskResult?
    /// Why it was asked to end; `nil` = it was not.
    public var expiration: ExpirationReason?
}

extension TaskRun {
    init(_ run: StoredTaskRun) {
        self.init(
            launch: run.launch.rawValue, trigger: run.trigger, startedAt: run.startedAt,
            endedAt: run.endedAt, result: run.result, expiration: run.expiration)
    }
}
