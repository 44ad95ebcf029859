/// A failure while an engine ran, told once it is recorded.
public enum EngineFailure: Hashable, Sendable {
    /// A transfer, and why.
    case transfer(TransferID, LonghaulError)
    /// A launch of a host; its events, if any, are handed over again.
    case host(String, LaunchFailure)
    /// A run of a job.
    case job(String, LaunchFailure)
    /// A task that a launch of this host carried.
    case task(String, host: String)
}

/// How a launch of a host failed.
public struct LaunchFailure: Hashable, Sendable {
    /// How it ended.
    public var ending: LaunchEnding
    /// Exit status or signal.
    public var status: Int?
    /// Why it was asked to end; `nil` = it was not.
    public var expiration: ExpirationReason?
    /// The last part of its output.
    public var output: String?

    package init(
        ending: LaunchEnding, status: Int?, expiration: ExpirationReason?, output: String?
    ) {
        self.ending = ending
        self.status = status
        self.expiration = expiration
        self.output = output
    }
}

extension LaunchFailure {
    /// How it failed, as a clause.
    package var how: String { ending.text(status: status, expiration) }
}

extension LaunchEnding {
    /// How a launch ended.
    package func text(status: Int?, _ expiration: ExpirationReason?) -> String {
        switch self {
        case .exited: "exit status \(status ?? 0)"
        case .signalled: "ended by signal \(status ?? 0)"
        case .expired: (expiration ?? .time).text
        case .exceededMemory: "ended because it exceeded its memory"
        case .notStarted: "could not be started"
        case .unknown: "ended, and no engine saw how"
        }
    }
}

extension ExpirationReason {
    /// Reason for the end of a launch, as a clause.
    package var text: String {
        switch self {
        case .time: "ended because its time was over"
        case .requirement: "ended because a requirement was lost"
        case .processor: "ended because it used a processor for too long"
        case .simulated: "ended by simulate-expiration"
        case .cancelled: "cancelled"
        case .progress: "ended because it reported no progress for 60 s"
        }
    }
}
