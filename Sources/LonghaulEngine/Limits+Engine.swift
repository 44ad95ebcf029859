internal import LonghaulCore

/// Bounds and defaults of the engine. Units are in the names or the types.
extension Limits {
    // Turns.
    /// Transactions of one turn. Each round needs a cause; the bound is for a cause that would feed
    /// itself.
    static let roundsPerTurn = 8
    /// How often an idle engine polls the store: a hint of a client may have been lost.
    static let storePollSeconds: Double = 60
    /// Rows of each kind that one transaction reads to apply intents.
    static let intentsPerTransaction = newcomersPerTransaction
    /// Waiting transfers whose pauses may end early at once; transfers that are due come first.
    static let pausesEndedAtOnce = 10_000
    /// Newest queued transfers of a URL that one transaction examines for joining a fetch.
    static let newcomersPerTransaction = 512
    /// Origins kept in memory; the store keeps them all.
    static let originsInMemory = 1024
    /// Serials of requests that each start of a fetch reserves.
    static let serialsPerFetch: Int64 = 1 << 20
    /// After a disk was found full, each transfer checks for room for so long: longer than it takes
    /// until the transfer that found it full checks again.
    static let spaceIsShortSeconds = 2 * storageCheckSeconds
    /// Share of the limit for all transfers, from which on it counts as used up.
    static let usedRateShare = 0.8

    // Prefetching.
    /// How long a transfer that was made ready may wait for its connection.
    static let surplusSeconds: Double = 1
    /// Requests that wait in the transport: enough to keep it busy for a moment without the engine.
    static let busyRequests = 32
    /// Rows of the queue that a plan reads beyond its places while transfers are prefetched.
    static let rowsBeyondPlaces = 32

    // The store.
    /// After a failed commit the same writes are tried again.
    static let commitRetrySeconds: Double = 1
    /// Failed commits after which the engine gives up; the queue stays as it was last committed.
    static let commitFailures = 30
    /// Several tries of a writer that waits.
    static let writerYieldMinimumSeconds: Double = 0.02
    /// Longest gap between turns that work off a backlog.
    static let writerYieldMaximumSeconds: Double = 0.2
    /// The share of a turn's time reserved for other writers.
    static let writerYieldShare: Double = 0.125
    /// An engine that ends before copies nothing meanwhile.
    static let firstCopySeconds: Double = 2
    /// How often it is checked whether a copy is due; a copy that failed for want of room is tried
    /// again.
    static let copyCheckSeconds: Double = 3600
    /// A store up to this size is copied by an engine that leaves before its first check.
    static let copiedAtEndBytes: Int64 = 4 << 20

    // Life.
    /// Bytes must move for this long before sleep is inhibited: a transfer without unsaved bytes is
    /// no reason, and neither are many short transfers of small files.
    static let inhibitAfterSeconds: Double = 1
    /// Longest suspension where no event tells that the machine is awake again.
    static let suspendedMaximumSeconds: Double = 60
    /// Back-offs up to this are waited out by an engine that leaves when nothing can start.
    static let drainWaitSeconds: Double = 60
    /// Such an engine leaves after so long without gain: of many servers that are down one is
    /// always to be asked again within the minute. Two back-offs of a minute fit.
    static let drainInVainSeconds: Double = 120
    /// An engine that leaves when nothing can start stays for a host that is due within this time.
    /// Less than the delay after a failed host: that one is for a later run.
    static let hostDueSeconds: Double = 30
    /// An engine that leaves when idle stays for a host that is due within this time.
    static let hostWaitedForSeconds: Double = 900
    /// Transports, one for each file system, so that a slow disk holds up its own files only;
    /// further file systems share them.
    static let transports = 4

    // Hosts.
    /// How often hosts are checked whose changes are not reported: a program is missing, or it is
    /// attached while events wait.
    static let hostCheckSeconds: Double = 30

    // Retention.
    /// Seconds from one pass of the retention to the next.
    static let retentionCheckSeconds: Double = 600
    /// Events that one transaction deletes.
    static let eventsForgottenAtOnce = 2_000
    /// Transfers that one transaction deletes, or whose bytes it drops.
    static let transfersForgottenAtOnce = 500
}
