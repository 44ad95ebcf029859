internal import LonghaulCore

/// A job as people see it.
package struct JobRecord: Sendable {
    package enum State: String, Sendable, CaseIterable {
        /// The job waits for its moment, its conditions or an event.
        case waiting
        /// A run of it is under way.
        case running
        /// No run begins until it is resumed.
        case paused
        /// The job has had its run, or was cancelled; its history is left.
        case ended
    }

    package var name: String
    /// The command by absolute path, and its arguments.
    package var argv: [String]
    package var settings: JobSettings
    /// The schedule; `nil` = the job has ended.
    package var request: TaskRequest?
    package var state: State
    /// `job run` has asked for a run, which has not begun.
    package var isAsked = false
    package var waitingFor: [WaitReason] = []
    package var forecast: Forecast
    /// Runs in a row that failed.
    package var failures = 0
    /// The last runs, newest first.
    package var runs: [TaskRun] = []

    /// The run that a log is shown of unless another is named; `nil` = there was none.
    package var lastRun: Int64? { runs.first { $0.launch > 0 }?.launch }
}

extension JobRecord {
    /// The forecast, made from the job's wait reasons.
    ///
    /// - Parameter shown: Formats a moment.
    package func forecast(now: Timestamp, shown: (Timestamp) -> String) -> Forecast {
        guard state == .waiting, let request else { return forecast }
        let task = TaskRecord(
            request: request, state: .waiting, submittedAt: now, waitingFor: waitingFor,
            forecast: forecast)
        return task.forecast(now: now, shown: shown)
    }
}

extension TaskRun {
    /// The reason for the run of a job, as passed to the command.
    package var cause: String? { reason?.text(triggers: triggers.map(\.rawValue)) }
}
