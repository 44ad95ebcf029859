internal import LonghaulModel

/// What a running fetch is, be it a download or an upload: what it is for, and what is
/// held of it.
package struct FetchFrame: Sendable {
    package internal(set) var target: FetchTarget
    package internal(set) var bytes: FetchBytes
    var connections = ConnectionPolicy()
    var run = FetchRun()
    /// Consequences of the event so far, see ``endStep()``.
    var step = FetchStep()
    private var nextSerial: Int64

    init(_ target: FetchTarget, _ state: FetchState, firstSerial: Int64) {
        assert(firstSerial >= 0, "keys of requests are counted up")
        self.target = target
        bytes = FetchBytes(state)
        nextSerial = firstSerial
        bytes.findSource(in: target)
        if !state.mayHaveItsName { bytes.state.publication = nil }
    }

    /// The consequences of the event, which is handled.
    mutating func endStep() -> FetchStep {
        defer { step = FetchStep() }
        return step
    }

    mutating func save() {
        step.writes.append(.save(bytes.state))
    }

    /// The key of a new request, which is counted.
    mutating func beginRequest(at now: Instant) -> SegmentKey {
        assert(run.startedMoving != nil, "requests are sent once the file is open")
        let key = SegmentKey(fetch: bytes.state.id, serial: nextSerial)
        nextSerial += 1
        run.requested(at: now)
        bytes.state.attempts += 1
        return key
    }

    /// The leader from now on, and what is to be heeded of all.
    mutating func serve(_ subscribers: Subscribers) {
        if subscribers.leader.id != target.transfer { bytes.state.publication = nil }
        target.serve(subscribers)
    }

    /// What the head of an answer means for the bytes held.
    func judgement(of head: ResponseHead, for ask: RangeRequest) -> ResumeJudgement {
        judge(ask, head, pinned: bytes.state.validator, maxSize: target.request.options.maxSize)
    }

    /// The request as it goes to a source.
    func addressed(_ ask: RangeRequest, to url: String) -> RangeRequest {
        var ask = ask
        ask.isForMirror = url != target.request.url
        ask.isForNoPage = ask.proof != .nothingHeld && FileNaming.isOfNoPage(target.destination)
        ask.names = bytes.names(of: target.request)
        ask.held = bytes.have.prefix
        if !ask.isForMirror, ask.proof == .restarting(.nothingToProve) {
            ask.compareWhole(with: bytes.have)
        }
        return ask
    }
}
