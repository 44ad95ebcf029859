public import LonghaulCore

/// Which transfers a change is about.
public enum TransferSelection: Sendable {
    case ids([TransferID])
    case session(String)
    case all
}

/// What became of a change of one transfer.
public struct ChangeOutcome: Sendable {
    public var id: TransferID
    /// `nil` = changed, or already so.
    public var error: LonghaulError?
    /// Why nothing was changed although nothing is wrong.
    public var remark: Remark?

    public enum Remark: Hashable, Sendable {
        /// It was to go on, and its file is there.
        case isCompleted
        /// `retry` of many: a newer one has replaced it (`--on-duplicate replace`).
        case replaced(by: TransferID)
    }
}

/// Which transfers are listed.
public struct TransferFilter: Sendable {
    /// `nil` = any.
    public var states: Set<TransferState>?
    public var session: String?
    /// Newest first; `nil` = all.
    public var limit: Int? = 50
    /// Ended ones too, however old; else unfinished and recently ended ones.
    public var includeAll = false

    public init() {}
}

/// What `set` may change. `nil` = leave as it is.
public struct TransferChange: Equatable, Sendable {
    public var url: String?
    public var priority: Priority?
    /// `.some(nil)` removes it.
    public var earliestBegin: Timestamp??
    public var deadline: Deadline?
    /// Fields to set; an empty value removes the field.
    public var headers: [HeaderFields.Field] = []
    /// Of this and what follows, `.some(nil)` removes it.
    public var user: String??
    public var proxy: String??
    /// Files are given by absolute paths.
    public var caCertificate: String??
    public var clientCertificate: String??
    public var clientKey: String??
    public var usesNetrc: Bool?
    /// The server's certificate is not verified.
    public var isInsecure: Bool?
    public var limitRate: Int64??
    /// Whether it takes only what other traffic leaves of the line; `.some(nil)` = if
    /// discretionary.
    public var yields: Bool??
    public var connections: ConnectionCount?
    public var checksum: Checksum??
    public var stallTimeout: Double?
    public var retries: Int??
    public var expectedBytes: Int64??
    public var isDiscretionary: Bool?
    /// `.some(nil)` = at any time.
    public var window: TimeWindow??
    public var requires: ConditionNeeds?
    /// `.some(nil)` = the default.
    public var prefers: ConditionNeeds??
    public var waiveAfter: Double?
    public var maxSize: Int64??
    public var mirrors: [String]?
    public var metadata: String??
    public var ifExists: ExistingFilePolicy?

    public init() {}
}

/// One request that went out for a transfer, and what came of it.
public struct AttemptRecord: Sendable {
    public var startedAt: Timestamp
    public var endedAt: Timestamp?
    public var url: String
    public var bytes: Int64
    public var httpStatus: Int?
    public var httpVersion: Int?
    /// `completed`, `stopped`, or an error code.
    public var outcome: String
    public var message: String?
}

/// One entry of the event log.
public struct EventRecord: Sendable {
    public var sequence: Int64
    public var at: Timestamp
    public var session: String
    public var type: String
    public var transferID: TransferID?
    /// JSON.
    public var detail: String?
    public var acknowledgedAt: Timestamp?
    /// As it is now, not as it was then; `nil` when the event is about its session, when the
    /// transfer was removed since, and where the events of one transfer are read.
    public var transfer: Transfer?
}

/// How the queue is doing, at one moment.
public struct QueueStatus: Sendable {
    /// The process that is the engine.
    public struct Engine: Sendable {
        public var pid: Int32
        public var mode: EngineMode
        public var since: Timestamp
        /// It holds the lease and does nothing until it is continued (SIGCONT): something has
        /// stopped it (SIGSTOP, a debugger).
        public var isStopped = false
    }

    /// `nil` = no engine runs.
    public var engine: Engine?
    public var counts: [TransferState: Int]
    public var bytesPerSecond: Double
    public var nextWake: Timestamp?
    /// The configuration file that commands and new engines go by; `nil` = there is none.
    public var configuration: String?
}
