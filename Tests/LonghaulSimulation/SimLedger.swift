import LonghaulCore

/// What is expected of one transfer, from the outside.
struct SimTransfer {
    /// The one that it asks for now, first.
    var url: String
    /// Other files that it asked for before: a change may come too late.
    var formerURLs: Set<String> = []
    var destination: String
    var policy: ExistingFilePolicy
    /// Asked for, now or before: a change may come too late.
    var checksums: [Checksum] = []
    var hasMirrors = false
    /// As the reference model has it.
    var state = ModelState.waiting
    /// Times that a client had it taken up again after its end, or about then.
    var rearms = 0
    var terminalEvents = 0
    var lastTerminal: String?
    var bytesFetched: Int64 = 0
    var flow = SimFlow()
    /// The one that it had a part in last.
    var lastFetch: FetchID?
    /// Its bytes may have to be fetched again: its servers are not what they should be, or a client
    /// gave it another URL.
    var isExempt = false
    var isVerified = false
    /// Its file goes to a server: see ``SimUpload``.
    var isUpload = false
    /// A server has asked for so much time.
    var notBefore: Instant?
    /// It waits for the end of these.
    var after: [TransferID] = []
    var afterAny = false
    /// It was claimed once.
    var hasBegun = false
    /// A retry was refused: the answer to its POST was lost.
    var isAnswerLost = false
    /// The end of the bytes that it keeps was announced.
    var expiryToldAt: Timestamp?
    /// It was last cancelled, and not to keep its bytes.
    var givesUpBytes = false
    /// It runs, was discretionary when it began, and is that no more: it is being taken off the
    /// wire, and counts as before until then.
    var beganDiscretionary = false
    /// When it was asked for, if it has the deadline that nobody asked for: of days that pass,
    /// whatever the clock is set to.
    var mayTakeDaysSince: Instant?
}

/// Bytes that really came, and those of them that were lost by no fault of the engine.
struct SimFlow {
    var received: Int64 = 0
    var allowance: Int64 = 0
    /// See ``SimTransfer/isExempt``.
    var isExempt = false
}

/// What the checkers know of the fetches and events, as of the last look at the store.
struct SimLedger {
    struct Held {
        var transfer: TransferID
        var generation: Int64
        var durable: ByteRanges
        /// See ``SimWire/didOverrun``.
        var overrun = ByteRanges()
        /// How many bytes were recorded as durable, and since when.
        var history: [(at: Instant, count: Int64)] = []
        /// What was written and is not recorded is given up: a sync has failed.
        var isDistrusted = false
    }

    var held: [FetchID: Held] = [:]
    var flow: [FetchID: SimFlow] = [:]
    /// Fetches whose file was called wrong and moved aside, which the store need not know yet.
    var setAside: Set<FetchID> = []
    var lastSeq: Int64 = 0
    /// Acknowledged events that went with their transfers.
    var removed: Set<Int64> = []
    var lastEventAt = Timestamp.distantFuture
    /// When a fetch was last opened or synced.
    var lastSync: [FetchID: Instant] = [:]
    /// Since when a checkpoint of it is due.
    var dueSince: [FetchID: Instant] = [:]
    /// Durable or written when the process died.
    var heldAtCrash: [TransferID: Int64] = [:]
    var diedByPower = false
}

/// What happened in a life, so that one in which nothing happens is noticed.
struct SimTally {
    var lives = 0
    var kills = 0
    var powerCuts = 0
    var givenUp = 0
    var forgotten = 0
    var storeFaults = 0
    var diskFaults = 0
    var stalls = 0
    var redirects = 0
    var requests = 0
    var transfers = 0
    var completed = 0
    var failures = 0
    var cancelled = 0
    var restarts = 0
    var mismatches = 0
    var goodbyes = 0
    var clockJumps = 0
    var clientActs = 0
    var waitsExplained = 0
    var resources = 0
    var uploaded = 0
    var forbidden = 0
    var readers = 0
    var bundlesReady = 0
    var bundlesFailed = 0
    var bytes: Int64 = 0

    /// Moments at which the engine's process ended without a word.
    var crashPoints: Int { kills + powerCuts }

    static func += (left: inout SimTally, right: SimTally) {
        for field in fields { left[keyPath: field.path] += right[keyPath: field.path] }
        left.bytes += right.bytes
    }

    private static var fields: [(name: String, path: WritableKeyPath<SimTally, Int>)] {
        [
            ("lives", \.lives), ("kills", \.kills), ("power cuts", \.powerCuts),
            ("engines given up", \.givenUp), ("claims forgotten", \.forgotten),
            ("failed commits", \.storeFaults), ("disk faults", \.diskFaults), ("stalls", \.stalls),
            ("redirects", \.redirects),
            ("requests", \.requests), ("transfers", \.transfers), ("completed", \.completed),
            ("failed", \.failures), ("cancelled", \.cancelled), ("restarts", \.restarts),
            ("wrong digests", \.mismatches), ("engines that left", \.goodbyes),
            ("clock jumps", \.clockJumps), ("acts of clients", \.clientActs),
            ("waits explained", \.waitsExplained), ("resources of uploads", \.resources),
            ("files published by them", \.uploaded),
            ("answers to one too many", \.forbidden), ("readers", \.readers),
            ("versions ready", \.bundlesReady), ("bundles failed", \.bundlesFailed),
        ]
    }

    var description: String {
        Self.fields.map { "\(self[keyPath: $0.path]) \($0.name)" }.joined(separator: ", ")
            + ", \(bytes >> 20) MiB"
    }
}
