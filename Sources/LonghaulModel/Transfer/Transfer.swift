/// A transfer as shown to users: its request and its state in one consistent snapshot. Its fields
/// are the fields of the JSON that every command prints.
public struct Transfer: Hashable, Sendable {
    /// Direction of a transfer.
    public enum Kind: String, Codable, Sendable {
        /// A server's file is moved to this machine.
        case download
        /// A file of this machine is moved to a server.
        case upload
    }

    /// Never used again, not even after a removal or a repair of the store.
    public var id: TransferID
    /// Derived from the wanted and the recorded state; without an engine no transfer runs.
    public var state: TransferState
    /// URL as it was asked for; secrets in it are hidden where it is shown.
    public var url: String
    /// URL of the transfer's requests; differs from ``url`` only for an upload to an `s3:` URL.
    package var requestURL: String
    /// Kind and path in one: a download has a destination, an upload a source.
    package var file: LocalFile
    /// The session that it belongs to, and that gets its events.
    public var session: String
    /// The host that the session belongs to; `nil` = none.
    public var host: String?
    /// Rank among the transfers that may start.
    public var priority: Priority
    /// The engine picks the moment: external power, an unmetered network, an idle machine are
    /// preferred.
    public var isDiscretionary: Bool
    /// Window, requirements and preferences.
    public var schedule = TransferSchedule()
    /// Next check whether its preferences still count; `nil` = it has none, or they do not count
    /// any more (``arePreferencesWaived``).
    public var waiverCheck: Timestamp?
    /// When its preferences end at the latest.
    public var waivesBy: Timestamp?
    /// The preferences have kept the transfer waiting for too long, and do not count any more.
    public var arePreferencesWaived = false
    /// A user asked that it runs now: its earliest begin, its window, its requirements and its
    /// preferences are set aside until the attempt ends. Holds after a crash.
    public var runsNow = false
    /// Seconds without a byte that end an attempt.
    public var stallTimeout: Double {
        get { options.stallTimeout }
        set { options.stallTimeout = newValue }
    }
    /// Earliest begin; `nil` = at once.
    public var earliestBegin: Timestamp?
    /// When it gives up. Its bytes are kept.
    public var deadline: Timestamp?
    /// Size in bytes that the user expects.
    public var expectedBytes: Int64?
    /// Size in bytes that the server reported; `nil` = not told, or not asked yet.
    public var bytesTotal: Int64?
    /// Bytes that are kept and count towards the file.
    public var bytesDone: Int64
    /// Bytes of a running upload: acknowledged by the server, or sent by the present requests.
    /// Shown to users as progress.
    package var bytesSent: Int64?
    /// Requests of a running transfer that are under way; `nil` = unknown.
    package var requests: Int?
    /// Bytes of the source that were read so far, for an upload whose source is compared with its
    /// digest before anything is sent.
    package var bytesChecked: Int64?
    /// Body bytes ever received on the wire, retries included. Never goes down.
    public var bytesFetched: Int64
    /// Over the last seconds; `nil` unless it runs.
    public var bytesPerSecond: Double?
    /// When it was enqueued.
    public var createdAt: Timestamp
    /// When its first attempt began; `nil` = it has not.
    public var startedAt: Timestamp?
    /// When it completed, failed or was cancelled.
    public var finishedAt: Timestamp?
    /// Requests sent for it, parallel ones included.
    public var attempts: Int
    /// How often bytes were given up, as the file had changed or they could not be proven.
    public var restarts: Int
    /// Served, or last served, by the same fetch; at most 1,000.
    public var sharedWith: [TransferID] = []
    /// All reasons that a waiting transfer waits for; empty unless it waits.
    public var waitingFor: [WaitReason]
    /// Why it failed; of one that waits or is paused: why its last attempt gained nothing, `nil` =
    /// it had none, or has gained bytes. Of one that has completed: the file that stands there is
    /// not its own, and was kept (`--if-exists skip`).
    public var error: LonghaulError?
    /// Other options of the request; secrets in them are hidden where they are shown.
    public var options = TransferOptions()
    /// The expected digest; `nil` = none was given.
    public var checksum: Checksum? {
        get { options.checksum }
        set { options.checksum = newValue }
    }
    /// The caller's own JSON.
    public var metadata: String? {
        get { options.metadata }
        set { options.metadata = newValue }
    }
    /// The server's answer about the file, where the request keeps it
    /// (``TransferOptions/keepsResponse``).
    public var response: TransferResponse?
    /// Content coding of the file that the server sent despite the request: the file is kept so.
    public var contentCoding: String?
    /// Conditions of the transfer besides time and its turn, as the store has them.
    package var eligibility = EligibilityKey.plain
    /// Moment from which the transfer's times allow it to begin.
    package var readySince: Timestamp?
    /// Bytes received so far cannot be continued: the server has given no proof for the rest, or it
    /// sends no parts of a file.
    package var isUnresumable = false
    /// How its connections stand to other traffic on the line; `nil` unless it runs and yields.
    public var yielding: YieldReport?
    /// The store's knowledge of the bytes held, for readers that also see the progress board.
    package var held: HeldBytes?
    package var sharedFetch: FetchID?

    package init(
        id: TransferID, state: TransferState, url: String, file: LocalFile, session: String,
        priority: Priority, isDiscretionary: Bool, createdAt: Timestamp
    ) {
        self.id = id
        self.state = state
        self.url = url
        requestURL = url
        self.file = file
        self.session = session
        self.priority = priority
        self.isDiscretionary = isDiscretionary
        self.createdAt = createdAt
        bytesDone = 0
        bytesFetched = 0
        attempts = 0
        restarts = 0
        waitingFor = []
    }
}

extension Transfer {
    /// The file on this machine, by its absolute path.
    package enum LocalFile: Hashable, Sendable {
        case destination(String)
        case source(String)
    }

    /// A download or an upload.
    public var kind: Kind {
        switch file {
        case .destination: .download
        case .source: .upload
        }
    }

    /// Absolute path of a download's file; `nil` for an upload.
    public var destination: String? {
        switch file {
        case .destination(let path): path
        case .source: nil
        }
    }

    /// Absolute path of the file that an upload sends; `nil` for a download.
    public var source: String? {
        switch file {
        case .destination: nil
        case .source(let path): path
        }
    }

    /// Absolute path of the file, whichever way its bytes go.
    package var path: String {
        switch file {
        case .destination(let path), .source(let path): path
        }
    }
}

/// The bytes of a fetch that were durable at its last checkpoint.
package struct HeldBytes: Hashable, Sendable {
    package var fetch: FetchID
    package var generation: Int64
    package var durable: ByteRanges
    /// Another transfer leads the fetch: the bytes received count with that one.
    package var isAnothers: Bool
    /// The file that they are in, until it is published.
    package var partPath: String
    /// See ``FetchState/isPrefetched``.
    package var isPrefetched = false
    /// The version of the bytes is recorded.
    package var hasVersion = false

    package init(
        fetch: FetchID, generation: Int64, durable: ByteRanges, isAnothers: Bool = false,
        partPath: String = ""
    ) {
        self.fetch = fetch
        self.partPath = partPath
        self.generation = generation
        self.durable = durable
        self.isAnothers = isAnothers
    }
}

/// The shown state, derived from the wanted and the recorded state.
public enum TransferState: String, Codable, Sendable, CaseIterable {
    /// The transfer has not begun, or is between attempts; ``Transfer/waitingFor`` tells the
    /// reasons.
    case waiting
    /// An engine moves it.
    case running
    /// Stopped by a command until `resume`; its bytes are kept.
    case paused
    /// The file is there, whole and durable.
    case completed
    /// Given up, with ``Transfer/error``; its bytes are kept for `resume` or `retry`.
    case failed
    /// Ended by a command.
    case cancelled

    /// Nothing changes any more without a command.
    public var hasEnded: Bool {
        switch self {
        case .completed, .failed, .cancelled: true
        case .waiting, .running, .paused: false
        }
    }
}

/// A reason why a transfer waits.
public struct WaitReason: Hashable, Codable, Sendable {
    /// The words of `waitingFor` in JSON; `why` explains each.
    public enum Reason: String, Codable, Sendable, CaseIterable {
        /// ``Transfer/earliestBegin`` has not come.
        case earliestBegin
        /// The time is outside of ``TransferSchedule/windows``.
        case window
        /// External power is missing.
        case power
        /// The battery has less charge than is required.
        case battery
        /// There is no network, or it is none of those that are named.
        case network
        /// The network costs by volume, or that is unknown.
        case unmetered
        /// The machine is in use, or that is unknown.
        case idle
        /// The machine is set to save power.
        case saver
        /// A file system is not mounted.
        case mounted
        /// The disk of the destination is full.
        case storage
        /// The pause after a failed attempt, or one that the server asked for.
        case backoff
        /// The pause after failures of several transfers from its server.
        case originCooldown
        /// The largest number of transfers runs.
        case concurrency
        /// The largest number of connections to the transfer's server is open.
        case originLimit
        /// No engine runs, or the engine was stopped.
        case engine
        /// An answer of the session's host.
        case input
        /// The host of a task runs already, or cannot be run.
        case host
        /// A standing request waits for the machine to change.
        case trigger
        /// Other jobs of its slot run.
        case slot
        /// A host has had its launches for plain wake-ups for now.
        case budget
        /// A transfer or a job waits for the end of transfers (``TransferOptions/after``).
        case transfers
    }

    /// Kind of the reason.
    public var reason: Reason
    /// Value that would end the wait; for a back-off ``retryAfter``, or nothing.
    public var required: String?
    /// How that stands now; `nil` = it has no reading.
    public var current: String?
    /// First moment of this wait.
    public var since: Timestamp?
    /// Latest moment of the next check; `nil` = when it changes.
    public var nextCheck: Timestamp?

    /// A reason without a reading by default.
    public init(
        _ reason: Reason, required: String? = nil, current: String? = nil, since: Timestamp? = nil,
        nextCheck: Timestamp? = nil
    ) {
        self.reason = reason
        self.required = required
        self.current = current
        self.since = since
        self.nextCheck = nextCheck
    }

    /// Requirement of a back-off that the server has asked for (RFC 9110 §10.2.3): neither another
    /// network nor `resume` shortens it.
    public static let retryAfter = "Retry-After"
}

extension Transfer {
    /// The transfer with the shown progress: sent bytes count before they are acknowledged.
    package var asShown: Transfer {
        var transfer = self
        transfer.bytesDone = max(bytesDone, bytesSent ?? 0)
        return transfer
    }

    /// Completed without a separate file: another one stood there at the end, and was kept.
    package var isSkipped: Bool { state == .completed && error != nil }
}
