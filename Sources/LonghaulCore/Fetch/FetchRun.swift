internal import LonghaulModel

/// Results of a run: from the part file's opening until the fetch leaves the wire.
struct FetchRun: Sendable {
    private(set) var startedMoving: Instant?
    private var receivedAtStart: Int64 = 0
    /// Bytes held when the file was opened.
    private var heldAtStart: Int64 = 0
    /// When the last request went out.
    private var lastRequest: Instant?
    /// The server has asked for time beside an answer that went on.
    private(set) var pause: AskedPause?
    var lastHTTPVersion = 0
    /// Why the run gained nothing although bytes came, for people.
    var hindrance: String?

    mutating func start(_ bytes: FetchBytes, at now: Instant) {
        startedMoving = now
        receivedAtStart = bytes.state.bytesFetched
        heldAtStart = bytes.have.count
    }

    /// Another source is asked from now on, and measured from zero.
    mutating func moved(received: Int64, at now: Instant) {
        startedMoving = now
        receivedAtStart = received
    }

    mutating func requested(at now: Instant) {
        lastRequest = now
    }

    func sinceRequest(at now: Instant) -> Double {
        lastRequest.map { now - $0 } ?? 0
    }

    /// Bytes that the run has added to those held before. Bytes in place of others that were given
    /// up in the run do not count: a server whose answers disagree would be asked for ever.
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

    /// A second connection was refused with a time to wait (RFC 9110 §10.2.3): the first continues,
    /// and no request is sent before that time is over.
    mutating func askedPause(by failure: Failure, at now: Timestamp) {
        guard let requested = failure.retryAfter else { return }
        let until = now + min(requested, Limits.retryAfterMaximumSeconds)
        pause = AskedPause(until: max(until, pause?.until ?? until), error: failure.error)
    }

    /// The time that the server has asked for is not over yet.
    func isToPause(at now: Timestamp) -> Bool {
        pause.map { $0.until > now } ?? false
    }
}
