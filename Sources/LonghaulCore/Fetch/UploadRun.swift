/// Results of a run of an upload.
package struct UploadRun: Sendable {
    /// The requests that are out and whose answers count.
    private(set) var exchanges: [SegmentKey: UploadExchange] = [:]
    /// The bytes that the server had when each of them went out.
    private var heldBefore: [SegmentKey: Int64] = [:]
    /// The failure after which the server is asked how far it is.
    private var unsettled: UnsettledFailure?
    private(set) var lastFailure: Failure?
    /// Answers since the last gain that told another offset.
    private var conflicts = 0
    /// Requests since the last gain: none of them is repeated in this run.
    private var sinceGain: Set<UploadExchange> = []
    private var heldAtGain: Int64 = 0
    /// See ``EndedExchange/floor``.
    var floor: Int64 = 0
    /// Another request is wanted, perhaps to another URL.
    var isSuperseded = false
    /// Directories that the server has missed.
    var directories: MissingDirectories?
    /// Parts that were refused once while others went on.
    private var refused: Set<Int> = []
    /// A part was refused again: nothing new is asked, and this is why.
    private(set) var draining: Failure?

    var underWay: [UploadExchange] { Array(exchanges.values) }

    /// - Parameter held: The bytes that the server has.
    mutating func start(held: Int64, floor: Int64) {
        assert(held >= 0 && floor >= 0, "a server has no fewer bytes than none")
        heldAtGain = held
        self.floor = floor
    }

    mutating func sent(_ exchange: UploadExchange, as key: SegmentKey, held: Int64) {
        assert(exchanges.isEmpty || exchange.part != nil, "only parts are sent beside each other")
        exchanges[key] = exchange
        heldBefore[key] = held
        // A part that is refused has a rule of its own.
        if exchange.part == nil { sinceGain.insert(exchange) }
    }

    /// `nil` = what its answer says does not count any more.
    mutating func ended(_ key: SegmentKey) -> (exchange: UploadExchange, heldBefore: Int64)? {
        let held = heldBefore.removeValue(forKey: key) ?? 0
        return exchanges.removeValue(forKey: key).map { ($0, held) }
    }

    // MARK: - Gains

    /// The server has so many bytes by now. Bytes that it had before and has lost since are no
    /// gain.
    mutating func acknowledged(_ held: Int64, of total: Int64?) {
        guard RetryPolicy.isGain(held - heldAtGain, of: total) else { return }
        heldAtGain = held
        sinceGain = []
        conflicts = 0
    }

    /// The same request went out in this run, and nothing was gained since.
    func isRepeated(_ exchange: UploadExchange) -> Bool {
        sinceGain.contains(exchange)
    }

    /// What made the request fail is mended: it may go out once more in this run.
    mutating func mayRepeat(_ exchange: UploadExchange) { sinceGain.remove(exchange) }

    mutating func askAfter(_ failure: Failure, heldBefore: Int64) {
        lastFailure = failure
        unsettled = UnsettledFailure(failure: failure, heldBefore: heldBefore)
    }

    /// The server has said how far it is. Returns the failure before that, if the request that
    /// failed has gained too little.
    mutating func settle(held: Int64, of total: Int64?) -> Failure? {
        defer { unsettled = nil }
        guard let unsettled, !RetryPolicy.isGain(held - unsettled.heldBefore, of: total)
        else { return nil }
        return unsettled.failure
    }

    /// Returns whether there were too many of them.
    mutating func conflict(_ failure: Failure) -> Bool {
        lastFailure = failure
        conflicts += 1
        return conflicts > Limits.uploadConflicts
    }

    /// The resource that they are for is gone.
    ///
    /// Returns the requests to stop.
    mutating func forgetAll() -> [SegmentKey] {
        defer { (exchanges, heldBefore) = ([:], [:]) }
        return Array(exchanges.keys)
    }

    /// A part was refused while others go on: it is sent once more in this run.
    mutating func refused(part: Int, by failure: Failure) {
        if !refused.insert(part).inserted { draining = draining ?? failure }
    }
}

/// A failure that may have gained something, and the bytes that the server had before.
private struct UnsettledFailure: Sendable {
    let failure: Failure
    let heldBefore: Int64
}

extension UploadMachine {
    /// How long a file needs in one go is known by its throughput, the next time.
    mutating func noteStop(_ leaving: FetchLeaving, _ context: FetchContext) {
        guard case .requeue = leaving, isSendingWhole(once: false) else { return }
        frame.noteThroughput(context)
    }
}

/// A request of an upload that is out.
struct ActiveExchange: Sendable {
    let key: SegmentKey
    let number: Int
    let exchange: UploadExchange
    let startedAt: Timestamp
    /// Body bytes that were handed to the wire.
    var received: Int64 = 0
    var head: ResponseHead?

    /// Record of the request, which has ended.
    func outcome(_ end: SegmentEnd, _ verdict: UploadVerdict, at now: Timestamp) -> AttemptRecord {
        var (word, message): (String, String?) = ("completed", nil)
        switch verdict {
        case .goOn, .done:
            if exchange.purpose == .create, let head, UploadAddress.isDowngrade(in: head) {
                message = UploadFailure.hiddenTLS + "; https is used"
            }
        case .askAfter(let failure), .conflict(let failure), .failed(let failure):
            word = failure.error.code.rawValue
            message = failure.error.message
        }
        if end.failure == .stopped { (word, message) = ("stopped", nil) }
        return AttemptRecord(
            number: number, startedAt: startedAt, endedAt: now,
            url: head?.effectiveURL ?? exchange.url, bytes: end.bytesSent, httpStatus: head?.status,
            httpVersion: end.httpVersion == 0 ? head?.httpVersion : end.httpVersion,
            outcome: word, message: message, phases: end.phases)
    }
}
