/// A transfer as people see it: what was asked and what has become of it, one consistent snapshot.
/// Its fields are those of the JSON that every command prints.
public struct Transfer: Hashable, Sendable {
    public enum Kind: String, Codable, Sendable { case download, upload }

    public var id: TransferID
    public var kind: Kind = .download
    public var state: TransferState
    public var url: String
    /// Absolute path.
    public var destination: String
    public var session: String
    public var host: String?
    public var priority: Priority
    public var isDiscretionary: Bool
    public var schedule = TransferSchedule()
    /// When it is next looked at whether its preferences still count; `nil` = it has none, or they
    /// do not count any more (``arePreferencesWaived``).
    public var waiverCheck: Timestamp?
    /// When its preferences end at the latest.
    public var waivesBy: Timestamp?
    public var arePreferencesWaived = false
    /// Seconds without a byte that end an attempt.
    public var stallTimeout: Double = 60
    public var earliestBegin: Timestamp?
    public var deadline: Timestamp?
    public var expectedBytes: Int64?
    public var bytesTotal: Int64?
    /// Bytes that are kept and count towards the file.
    public var bytesDone: Int64
    /// Body bytes ever received on the wire, retries included. Never goes down.
    public var bytesFetched: Int64
    public var bytesPerSecond: Double?
    public var createdAt: Timestamp
    public var startedAt: Timestamp?
    public var finishedAt: Timestamp?
    public var attempts: Int
    public var restarts: Int
    /// Served, or last served, by the same fetch; at most 1,000.
    public var sharedWith: [TransferID] = []
    public var waitingFor: [WaitReason]
    /// Of one that has completed: the file that stands there is not its own, and was kept
    /// (`--if-exists skip`).
    public var error: LonghaulError?
    public var checksum: Checksum?
    public var metadata: String?
    /// What the server said of the file, where the request keeps it
    /// (``TransferOptions/keepsResponse``).
    public var response: TransferResponse?
    /// In which the server sent the file although it was asked not to: it is kept so.
    public var contentCoding: String?
    /// What holds it besides time and its turn, as the store has it.
    package var lane = ScheduleClass.plain
    /// Since when it may begin as far as time goes.
    package var readySince: Timestamp?
    /// How its connections stand to other traffic on the line; `nil` unless it runs and yields.
    public var yielding: YieldReport?
    /// What the store knows of the bytes held, for those who also see the progress board.
    package var held: HeldBytes?
    package var sharedFetch: FetchID?

    package init(
        id: TransferID, state: TransferState, url: String, destination: String, session: String,
        priority: Priority, isDiscretionary: Bool, createdAt: Timestamp
    ) {
        self.id = id
        self.state = state
        self.url = url
        self.destination = destination
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

/// The bytes of a fetch that were durable at its last checkpoint.
package struct HeldBytes: Hashable, Sendable {
    package var fetch: FetchID
    package var generation: Int64
    package var durable: ByteRanges
    /// Another transfer leads the fetch: what was received counts with that one.
    package var isAnothers: Bool
    /// The file that they are in, until it is published.
    package var partPath: String

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

/// The state that is shown, derived from what is wanted and what the engine recorded.
public enum TransferState: String, Codable, Sendable, CaseIterable {
    case waiting, running, paused, completed, failed, cancelled

    public var hasEnded: Bool {
        switch self {
        case .completed, .failed, .cancelled: true
        case .waiting, .running, .paused: false
        }
    }
}

/// One thing that a waiting transfer waits for.
public struct WaitReason: Hashable, Codable, Sendable {
    public enum Reason: String, Codable, Sendable, CaseIterable {
        case earliestBegin, window, power, battery, network, unmetered, idle, storage, backoff
        case originCooldown, concurrency, originLimit, engine, input
    }

    public var reason: Reason
    /// What would end it; of a back-off ``retryAfter``, or nothing.
    public var required: String?
    public var current: String?
    public var since: Timestamp?
    public var nextCheck: Timestamp?

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

    /// What a back-off waits for where the server has asked for it (RFC 9110 §10.2.3): neither
    /// another network nor anybody's hurry shortens it.
    public static let retryAfter = "Retry-After"
}

extension Transfer {
    /// Completed without a file of its own: another one stood there by then, and was kept.
    package var isSkipped: Bool { state == .completed && error != nil }
}
