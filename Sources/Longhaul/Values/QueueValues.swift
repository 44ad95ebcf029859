public import LonghaulCore

/// The transfers that a change is about.
public enum TransferSelection: Sendable {
    /// The transfers of the ids, in this order.
    case ids([TransferID])
    /// All transfers of the session of this name.
    case session(String)
    /// All transfers to which the change applies.
    case all
}

/// The outcome of a change of one transfer.
public struct ChangeOutcome: Sendable {
    /// The transfer.
    public var id: TransferID
    /// `nil` = changed, or already so.
    public var error: LonghaulError?
    /// Why nothing was changed although nothing is wrong.
    public var remark: Remark?

    /// The reason why a transfer was not changed.
    public enum Remark: Hashable, Sendable {
        /// The transfer was to be resumed, and is completed.
        case isCompleted
        /// `retry` of many: a newer one has replaced it (`--on-duplicate replace`).
        case replaced(by: TransferID)
    }
}

/// The transfers that are listed.
public struct TransferFilter: Sendable {
    /// `nil` = any.
    public var states: Set<TransferState>?
    /// `nil` = any.
    public var session: String?
    /// Newest first; `nil` = all.
    public var limit: Int? = 50
    /// Ended ones too, however old; else unfinished and recently ended ones.
    public var includeAll = false
    /// Shows only transfers older than this one: the next page of a list by state, or of all; `nil`
    /// = from the newest on.
    public var below: TransferID?

    /// The 50 newest among unfinished and recently ended ones.
    public init() {}
}

/// An entry of the event log.
public struct EventRecord: Sendable {
    /// The order of the events; a number is never reused.
    public var sequence: Int64
    /// When it was recorded.
    public var at: Timestamp
    /// The session that it belongs to.
    public var session: String
    /// `transferCompleted` and so on: ``SessionEvent/Kind``.
    public var type: String
    /// `nil` = it is about the session.
    public var transferID: TransferID?
    /// More about it, as JSON; `nil` = there is no more.
    public var detail: String?
    /// `nil` = it waits.
    public var acknowledgedAt: Timestamp?
    /// The transfer's present record, not the record at that time; `nil` when the event is about
    /// its session, when the transfer was removed since, and where the events of one transfer are
    /// read.
    public var transfer: Transfer?
    /// Absolute path of the transfer's file; it stays when the transfer is removed. `nil` when the
    /// event is about its session.
    public var path: String?
}

/// The state of the queue at one moment.
public struct QueueStatus: Sendable {
    /// The process that is the engine.
    public struct Engine: Sendable {
        /// The process id.
        public var pid: Int32
        /// The kind of process.
        public var mode: EngineMode
        /// The moment since which it holds the lease.
        public var since: Timestamp
        /// The engine holds the lease and does nothing until it is continued (SIGCONT): something
        /// has stopped it (SIGSTOP, a debugger).
        public var isStopped = false
    }

    /// `nil` = no engine runs.
    public var engine: Engine?
    /// Transfers of each state; a state without any may be missing.
    public var counts: [TransferState: Int]
    /// Hosts whose last launch failed, jobs included.
    public var hostsFailed = 0
    /// The names of failing hosts that are not jobs.
    public var failingHosts: [String] = []
    /// The names of jobs whose last run failed.
    public var failingJobs: [String] = []
    /// Bytes per second of all transfers together, over the last seconds.
    public var bytesPerSecond: Double
    /// When the engine acts next by itself; `nil` = not known, or none runs.
    public var nextWake: Timestamp?
    /// The rate limit that was set by hand; `nil` = the limits of the configuration hold.
    public var rateLimit: RateOverride?
    /// The configuration file of commands and new engines; `nil` = no file.
    public var configuration: String?
}
