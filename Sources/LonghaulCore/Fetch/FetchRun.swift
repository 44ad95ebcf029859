internal import LonghaulModel

/// Results of a run: from the part file's opening until the fetch leaves the wire.
struct FetchRun: Sendable {
    private(set) var startedMoving: Instant?
    private var receivedAtStart: Int64 = 0
    /// Bytes held when the file was opened.
    private var heldAtStart: Int64 = 0
    /// When the last request went out.
    private var lastRequest: Instant?
    /// Sources that have failed; each gets its chance before the transfer backs off or fails.
    private(set) var sourcesFailed = 0
    /// Sources that have brought bytes beside the one in use, or were asked for some.
    private(set) var sourcesAside: Set<String> = []
    /// Those of them that are left alone for the rest of the run.
    private var sourcesRefused: Set<String> = []
    /// Failure of a source that may fare better later, as the transfer then does; of several the
    /// one with the shortest wait.
    private var passingFailure: Failure?
    /// Failure of the transfer's own URL, reported when no source is left.
    private var ownFailure: Failure?
    /// The server has asked for time beside an answer that went on.
    private(set) var pause: AskedPause?
    var lastHTTPVersion = 0
    /// Why the run gained nothing although bytes came, for people.
    var hindrance: String?
    var recentRate = RecentRate()

    mutating func start(_ bytes: FetchBytes, at now: Instant) {
        startedMoving = now
        receivedAtStart = bytes.state.bytesFetched
        heldAtStart = bytes.have.count
    }

    /// Another source is asked from now on, and measured by itself.
    mutating func moved(received: Int64, at now: Instant) {
        startedMoving = now
        receivedAtStart = received
        recentRate.reset()
    }

    mutating func requested(at now: Instant) {
        lastRequest = now
    }

    func sinceRequest(at now: Instant) -> Double {
        lastRequest.map { now - $0 } ?? 0
    }

    /// Bytes that the run has added to those held before. Bytes in the place of others that were
    /// given up during it are none: a server whose answers disagree would be asked for ever.
    func progress(_ bytes: FetchBytes) -> Int64 {
        max(0, bytes.have.count - heldAtStart)
    }

    /// The bytes gained are enough, see ``RetryPolicy/isGain(_:of:)``.
    func hasGained(_ bytes: FetchBytes) -> Bool {
        RetryPolicy.isGain(progress(bytes), of: bytes.state.bytesTotal)
    }

    /// Bytes per second, for planning; `nil` where the run was too short to tell.
    func throughput(received: Int64, at now: Instant) -> Double? {
        guard let startedMoving else { return nil }
        let seconds = now - startedMoving
        let bytes = received - receivedAtStart
        guard seconds > 1, bytes > 1 << 20 else { return nil }
        return Double(bytes) / seconds
    }

    /// Record about the origin when the run ends well.
    func worked(at origin: OriginMemory, _ bytes: FetchBytes, now: Instant) -> StoreWrite? {
        throughput(received: bytes.state.bytesFetched, at: now).map {
            .originWorked(
                origin: origin.origin, bytesPerSecond: $0, http2: lastHTTPVersion >= 20)
        }
    }

    // MARK: - Pauses

    /// A second connection that is refused with a time to wait (RFC 9110 §10.2.3): the first goes
    /// on, and nothing new is asked before that time is over.
    mutating func askedPause(by failure: Failure, at now: Timestamp) {
        guard let requested = failure.retryAfter else { return }
        let until = now + min(requested, Limits.retryAfterMaximumSeconds)
        pause = AskedPause(until: max(until, pause?.until ?? until), error: failure.error)
    }

    /// The time that the server has asked for is not over yet.
    func isToPause(at now: Timestamp) -> Bool {
        pause.map { $0.until > now } ?? false
    }

    // MARK: - Sources

    mutating func sourceFailed(_ failure: Failure) {
        sourcesFailed += 1
        // The shortest wait of all sources counts.
        guard failure.kind == .transient else { return }
        if let passingFailure, passingFailure.retryAfter ?? 0 < failure.retryAfter ?? 0 { return }
        passingFailure = failure
    }

    mutating func setAside(_ url: String) { sourcesAside.insert(url) }
    mutating func refuse(aside url: String) { sourcesRefused.insert(url) }
    func isRefused(_ url: String) -> Bool { sourcesRefused.contains(url) }

    mutating func ownURLFailed(_ failure: Failure) {
        ownFailure = failure
    }

    /// Each source has been blamed for its own failure.
    mutating func exemptOrigin() {
        passingFailure?.blamesOrigin = false
    }

    /// Outcome when no source is left. A passing failure is waited out.
    func leaving(after failure: Failure) -> FetchLeaving {
        if let passingFailure { return .retry(passingFailure) }
        let failure = ownFailure ?? failure
        return failure.kind == .needsInput ? .needInput(failure.error) : .fail(failure.error)
    }
}
