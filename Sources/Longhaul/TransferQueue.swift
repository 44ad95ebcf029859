public import LonghaulCore

/// One store of transfers, shared with every other process that opens the same state directory.
///
/// Everything here is a read, or changes what is *wanted*; what becomes of it is the engine's to record. All calls are
/// synchronous, short, and safe from any thread. They throw ``LonghaulError``.
public final class TransferQueue: Sendable {
    /// The state directory in use.
    public let directory: String

    /// Opens the store, creating it if asked.
    ///
    /// - Parameter directory: default `$LONGHAUL_HOME`, else `$XDG_STATE_HOME/longhaul`, else `~/.local/state/longhaul`.
    public init(directory: String? = nil) throws(LonghaulError) {
        preconditionFailure("contract")
    }

    // MARK: - Wants

    /// Records the requests, all or none, and returns what became of each in order. What has an id when this returns
    /// survives a power cut. With `keepGoing` the good ones are recorded and the others report their error.
    ///
    /// Refusals (`invalidRequest`, `unsupported`, `conflict`, `permission`, `destinationExists`) throw when not `keepGoing`.
    public func enqueue(_ requests: [TransferRequest], keepGoing: Bool = false)
        throws(LonghaulError) -> [EnqueueOutcome]
    {
        preconditionFailure("contract")
    }

    /// The same for any number of requests in bounded memory and one transaction: `next` is called until it returns `nil`; throwing records nothing.
    public func enqueue(
        keepGoing: Bool, next: () throws -> TransferRequest?, report: (EnqueueOutcome) -> Void
    ) throws {
        preconditionFailure("contract")
    }

    public func pause(_ selection: TransferSelection) throws(LonghaulError) -> [ChangeOutcome] {
        preconditionFailure("contract")
    }

    /// Also re-arms failed transfers.
    public func resume(_ selection: TransferSelection) throws(LonghaulError) -> [ChangeOutcome] {
        preconditionFailure("contract")
    }

    public func cancel(_ selection: TransferSelection, keepingBytes: Bool = false)
        throws(LonghaulError) -> [ChangeOutcome]
    {
        preconditionFailure("contract")
    }

    /// Re-arms failed and cancelled transfers from the bytes that are kept.
    public func retry(_ selection: TransferSelection) throws(LonghaulError) -> [ChangeOutcome] {
        preconditionFailure("contract")
    }

    /// Forgets ended transfers and deletes their part files; never a completed file.
    public func remove(_ ids: [TransferID]) throws(LonghaulError) -> [ChangeOutcome] {
        preconditionFailure("contract")
    }

    /// Forgets all that ended more than `seconds` ago. Returns how many.
    public func clean(endedBefore seconds: Double) throws(LonghaulError) -> Int {
        preconditionFailure("contract")
    }

    public func change(_ id: TransferID, _ change: TransferChange) throws(LonghaulError) {
        preconditionFailure("contract")
    }

    // MARK: - Reads

    /// With live numbers where an engine is moving it, in this process or another.
    public func transfer(_ id: TransferID) throws(LonghaulError) -> Transfer? {
        preconditionFailure("contract")
    }

    public func transfers(_ filter: TransferFilter) throws(LonghaulError) -> [Transfer] {
        preconditionFailure("contract")
    }

    /// Every transfer that the filter lets through, in pages, in bounded memory.
    public func forEachTransfer(_ filter: TransferFilter, _ body: (Transfer) throws -> Void) throws {
        preconditionFailure("contract")
    }

    public func attempts(of id: TransferID) throws(LonghaulError) -> [AttemptRecord] {
        preconditionFailure("contract")
    }

    public func events(of id: TransferID) throws(LonghaulError) -> [EventRecord] {
        preconditionFailure("contract")
    }

    public func status() throws(LonghaulError) -> QueueStatus {
        preconditionFailure("contract")
    }

    /// Blocks until something in the store may have changed, or the time is over. A hint: look again either way.
    public func waitForChange(timeout seconds: Double) {
        preconditionFailure("contract")
    }

    // MARK: - Engine

    /// Whether some process is the engine now.
    public var isEngineRunning: Bool { preconditionFailure("contract") }

    /// Starts `longhaul daemon --exit-when-idle` of this executable, detached, unless an engine runs.
    public func startBackgroundEngine() throws(LonghaulError) {
        preconditionFailure("contract")
    }

    /// If no engine runs: takes the lease for one housekeeping turn that starts no transfer, so that what was just
    /// wanted is what `list` shows.
    public func settle() throws(LonghaulError) {
        preconditionFailure("contract")
    }

    /// Checks store, files, permissions, clock, limits and libraries; works without an open queue, because the store may be what is broken.
    public static func doctor(directory: String?, repair: Bool, report: (DoctorFinding) -> Void) {
        preconditionFailure("contract")
    }
}
