/// How much a background task may do in one launch, and how it is planned.
public enum TaskKind: String, Codable, Sendable, CaseIterable {
    /// A short refresh of what the program shows: 30 seconds a launch. The counterpart of
    /// `BGAppRefreshTask`.
    case refresh
    /// Longer work, such as cleaning a database: ten minutes a launch. The counterpart of
    /// `BGProcessingTask`.
    case processing
    /// Work that a person began and may leave: no time limit while it reports progress. The
    /// counterpart of `BGContinuedProcessingTask`.
    case continued
}

/// How often a task is repeated. The counterpart of `XPC_ACTIVITY_INTERVAL`.
public struct TaskRepetition: Hashable, Codable, Sendable {
    /// Seconds between two runs, 1 and more.
    public var interval: Double
    /// Seconds that a run may come earlier; `nil` = half of ``interval``. Two runs are never
    /// closer than the interval less the tolerance.
    public var tolerance: Double?

    /// Every `interval` seconds.
    public init(interval: Double, tolerance: Double? = nil) {
        self.interval = interval
        self.tolerance = tolerance
    }

    /// Value of ``tolerance`` within its bounds.
    package var slack: Double { min(max(tolerance ?? interval / 2, 0), interval) }

    /// Seconds between two runs after a number of empty runs in a row: whole intervals.
    package func interval(afterEmpty runs: Int) -> Double {
        let most = (Limits.emptyIntervalSeconds / interval).rounded(.down)
        return interval * max(1, min(Double(1 + runs), most))
    }
}

/// How a task ended, as its host says.
public enum TaskResult: String, Codable, Sendable, CaseIterable {
    /// The run is done.
    case success
    /// The run failed, and is tried again after a delay that grows.
    case failure
    /// The run could not be done now: it comes again soon, without counting as a failure.
    case deferred
    /// The run is done, and there was nothing new.
    case noData
}

/// Why a launch was asked to end before it had ended by itself.
public enum ExpirationReason: String, Codable, Sendable, CaseIterable {
    /// The run's time budget was used up.
    case time
    /// A requirement of a task that it carried does not hold any more.
    case requirement
    /// The launch used more than 80 % of a processor for a minute.
    case processor
    /// The expiration was asked for, as a test.
    case simulated
    /// The run was cancelled.
    case cancelled
    /// A continued task has reported no progress for 60 seconds.
    case progress
}

/// A run of a task: its part of a launch.
public struct TaskRun: Hashable, Sendable {
    /// The kind of its request.
    public var kind: TaskKind
    /// The launch that carried it, by its number.
    public var launch: Int64
    /// Triggers of the launch, for a standing request: all that had happened, in order.
    public var triggers: [TaskTrigger]
    /// When the launch began.
    public var startedAt: Timestamp
    /// When it ended; `nil` = it runs.
    public var endedAt: Timestamp?
    /// How it ended; `nil` = it runs, it expired, or its end is not known and it comes again.
    public var result: TaskResult?
    /// Why it was asked to end; `nil` = it was not.
    public var expiration: ExpirationReason?
    /// The exit status of the launch; `nil` = it runs, did not end by itself, or is not kept.
    public var exitStatus: Int?
    /// The signal that ended it; `nil` = none, or it is not kept.
    package var signal: Int?
    /// Its processes together exceeded their memory.
    package var hasExceededMemory = false
    /// Seconds of processor time; `nil` = not known.
    package var processorSeconds: Double?
    /// The reason why a run of a job began; `nil` = a run of a host.
    package var reason: RunReason?
    /// The transfer without which the job ended before its run; `nil` = it did not.
    package var missedTransfer: TransferID?

    /// The result is a failure, or the end counts as one.
    package var hasFailed: Bool {
        switch expiration {
        case .time, .processor, .simulated, .progress: result != .success && result != .noData
        case .requirement, .cancelled, nil: result == .failure
        }
    }

    /// Why a job has failed without a run; `nil` = it had one.
    package var miss: String? {
        if let missedTransfer { return "transfer \(missedTransfer) did not complete" }
        return launch == 0 ? "its deadline passed before it could run" : nil
    }

    /// The last of ``triggers``.
    public var trigger: TaskTrigger? { triggers.last }

    package init(
        kind: TaskKind = .refresh, launch: Int64, trigger: TaskTrigger? = nil,
        triggers: [TaskTrigger]? = nil,
        startedAt: Timestamp, endedAt: Timestamp? = nil, result: TaskResult? = nil,
        expiration: ExpirationReason? = nil
    ) {
        self.kind = kind
        self.launch = launch
        self.triggers = triggers ?? trigger.map { [$0] } ?? []
        self.startedAt = startedAt
        self.endedAt = endedAt
        self.result = result
        self.expiration = expiration
    }
}

/// A piece of work that a host is to be launched for. The counterpart of `BGTaskRequest`.
public struct TaskRequest: Hashable, Sendable {
    /// Names the task. At most one request of an identifier waits for a host.
    public var identifier: String
    /// Bounds of a launch, see ``TaskKind``.
    public var kind: TaskKind
    /// The host; `nil` = the one that ``identifier`` is permitted to.
    public var host: String?
    /// Earliest begin; `nil` = at once.
    public var earliestBegin: Timestamp?
    /// Conditions that must hold for the task to begin.
    public var requirements = ConditionNeeds()
    /// `nil` = once.
    public var repetition: TaskRepetition?
    /// A standing request: a launch each time one of these happens. Empty = none.
    public var triggers: [TaskTrigger] = []
    /// A JSON text that is handed to the host; `nil` = none.
    public var payload: String?
    /// A launch expires when a requirement is lost meanwhile. True by default.
    public var expiresWhenRequirementIsLost = true
    /// The request waits again after such an expiration. True by default.
    public var returnsAfterExpiration = true
    /// Preferences of a wake-up; `nil` = the defaults. A job has them in ``job``.
    package var prefers: ConditionNeeds?
    /// The part that the request of a continued task alone has; `nil` = another kind.
    public var continued: ContinuedWork?
    /// The part that the request of a job alone has; `nil` = the request of a program.
    package var job: JobSchedule?

    /// Once, at once, without requirements.
    public init(identifier: String, kind: TaskKind = .refresh, host: String? = nil) {
        self.identifier = identifier
        self.kind = kind
        self.host = host
    }

    /// A continued task, without requirements.
    public init(identifier: String, continued: ContinuedWork, host: String? = nil) {
        self.init(identifier: identifier, kind: .continued, host: host)
        self.continued = continued
    }

    /// The request waits for changes of the machine, and stays after a launch.
    package var isStanding: Bool { !triggers.isEmpty }

    /// A single limit of pending requests covers both.
    package func counts(with other: TaskRequest) -> Bool {
        isStanding == other.isStanding && (isStanding || kind == other.kind)
    }

    /// Fault of the request, in a sentence; `nil` = none.
    package var defect: String? {
        let bytes = identifier.utf8.count
        if bytes == 0 || bytes > Limits.taskIdentifierBytes
            || identifier.unicodeScalars.contains(where: { $0.value < 0x21 || $0 == "," })
        {
            return "a task's identifier has 1 to \(Limits.taskIdentifierBytes) bytes,"
                + " without spaces and commas"
        }
        if let defect = continuedDefect ?? requirements.defect { return defect }
        if let defect = triggers.lazy.compactMap(\.defect).first { return defect }
        if let repetition {
            if isStanding { return "a task repeats or has triggers, not both" }
            if job?.hasMoments ?? false {
                return "a job repeats after an interval or at a time of day"
            }
            guard (1...Limits.taskIntervalMaximumSeconds).contains(repetition.interval) else {
                return "an interval is 1s to 365d"
            }
            if let tolerance = repetition.tolerance,
                !(0...repetition.interval).contains(tolerance)
            {
                return "a tolerance is no longer than the interval"
            }
        }
        if let payload, payload.utf8.count > Limits.taskPayloadBytes {
            return "a payload has 64 KiB at most"
        }
        return nil
    }

    private var continuedDefect: String? {
        guard let continued else {
            return kind == .continued ? "a continued task has a title" : nil
        }
        if kind != .continued { return "only a continued task has a title" }
        if repetition != nil || isStanding || earliestBegin != nil {
            return "a continued task begins at once: it has no interval, no trigger and no"
                + " earliest moment"
        }
        return continued.defect
    }

    /// Conditions of the request, besides time, windows and its host. A request that repeats
    /// prefers a good moment as long as its tolerance lasts.
    package var eligibility: EligibilityKey {
        var schedule = TransferSchedule()
        schedule.requires = requirements
        schedule.prefers = job?.prefers ?? prefers
        let isDiscretionary = job?.isDiscretionary ?? false
        if schedule.prefers == nil, !isDiscretionary, repetition.map({ $0.slack > 0 }) ?? false {
            schedule.prefers = .discretionary
            schedule.prefers?.idle = kind == .processing
        }
        return EligibilityKey(
            schedule, isDiscretionary: isDiscretionary, usesNetwork: requirements.network)
    }
}

extension TaskRequest: CustomStringConvertible {
    /// The request as text, without the payload, which may be secret.
    public var description: String {
        var parts = ["\(kind.rawValue) \(identifier)"]
        if let host { parts.append("of \(host)") }
        if let earliestBegin { parts.append("not before \(RFC3339.format(earliestBegin))") }
        if let repetition {
            parts.append("every \(repetition.interval) s, up to \(repetition.slack) s earlier")
        }
        if !triggers.isEmpty { parts.append("on " + Self.list(triggers.map(\.rawValue))) }
        if !requirements.isEmpty { parts.append("requires " + Self.list(requirements.names)) }
        if payload != nil { parts.append("with a payload") }
        return parts.joined(separator: ", ")
    }

    private static func list(_ names: [String]) -> String { names.joined(separator: " and ") }
}
