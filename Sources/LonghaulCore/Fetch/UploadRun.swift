/// What one run of an upload has come to.
package struct UploadRun: Sendable {
    /// The requests that are out and whose answers count.
    private(set) var exchanges: [SegmentKey: UploadExchange] = [:]
    /// The failure after which the server is asked how far it is.
    var unsettled: Failure?
    /// Answers in a row that told another offset.
    var conflicts = 0
    /// See ``UploadJudge``.
    var floor: Int64 = 0
    /// Another request is wanted, perhaps to another URL.
    var isSuperseded = false
    /// Parts that were refused once while others went on.
    private var refused: Set<Int> = []
    /// A part was refused again: nothing new is asked, and this is why.
    private(set) var draining: Failure?

    var underWay: [UploadExchange] { Array(exchanges.values) }

    /// Whether a file is on its way in one request, and the server has no resource to continue it
    /// in: leaving the wire would cost all that was sent.
    ///
    /// - Parameter once: Only one that may not be repeated, whose end that would be.
    package func isSendingWhole(_ state: UploadState?, once: Bool) -> Bool {
        guard let state, state.address == nil else { return false }
        return underWay.contains { $0.purpose == .whole && !(once && $0.body.mayRepeat) }
    }

    mutating func sent(_ exchange: UploadExchange, as key: SegmentKey) {
        assert(
            exchanges.isEmpty || exchange.part != nil, "only parts are sent beside each other")
        exchanges[key] = exchange
    }

    /// `nil` = what its answer says does not count any more.
    mutating func ended(_ key: SegmentKey) -> UploadExchange? {
        exchanges.removeValue(forKey: key)
    }

    /// The resource that they are for is gone.
    ///
    /// Returns the requests to stop.
    mutating func forgetAll() -> [SegmentKey] {
        defer { exchanges = [:] }
        return Array(exchanges.keys)
    }

    /// A part was refused while others go on: it is sent once more in this run.
    mutating func refused(part: Int, by failure: Failure) {
        if !refused.insert(part).inserted { draining = draining ?? failure }
    }
}

extension UploadMachine {
    /// How long a file needs in one go is known by its throughput, the next time.
    func noteStop(_ leaving: FetchLeaving, _ context: FetchContext, _ step: inout FetchStep) {
        guard case .requeue = leaving,
            wire.upload.isSendingWhole(wire.bytes.state.upload, once: false)
        else { return }
        wire.noteThroughput(context, &step)
    }
}

extension ActiveSegment {
    /// What is recorded of a request of an upload.
    func outcome(
        _ exchange: UploadExchange, _ end: SegmentEnd, _ verdict: UploadVerdict,
        at now: Timestamp
    ) -> AttemptRecord {
        var (word, message): (String, String?) = ("completed", nil)
        switch verdict {
        case .goOn, .done: break
        case .askAfter(let failure), .conflict(let failure), .failed(let failure):
            word = failure.error.code.rawValue
            message = failure.error.message
        }
        if end.failure == .stopped { (word, message) = ("stopped", nil) }
        return AttemptRecord(
            number: number, startedAt: startedAt, endedAt: now, url: head?.effectiveURL ?? url,
            bytes: end.bytesSent, httpStatus: head?.status,
            httpVersion: end.httpVersion == 0 ? head?.httpVersion : end.httpVersion,
            outcome: word, message: message)
    }
}
