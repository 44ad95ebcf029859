/// What a running fetch is, be it a download or an upload: what it is for, what is held of it, and
/// how it leaves.
package struct FetchFrame: Sendable {
    package internal(set) var target: FetchTarget
    package internal(set) var bytes: FetchBytes
    package internal(set) var stage: FetchStage = .preparing
    package internal(set) var leaving: FetchLeaving?
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
        assert(stage == .moving, "requests are sent between opening and leaving")
        let key = SegmentKey(fetch: bytes.state.id, serial: nextSerial)
        nextSerial += 1
        run.requested(at: now)
        bytes.state.attempts += 1
        return key
    }

    /// A cancel is under way, and may still be taken back.
    var isBeingCancelled: Bool { leaving?.isCancel ?? false }

    /// The leader from now on, and what is to be heeded of all.
    mutating func serve(_ subscribers: Subscribers) {
        if subscribers.leader.id != target.transfer { bytes.state.publication = nil }
        target.serve(subscribers)
    }

    /// Another transfer may still join. None may while the file is, or may be, under its leader's
    /// name: it is not looked for there once another transfer leads.
    var isJoinable: Bool {
        if bytes.state.publication != nil || leaving?.isForNow == false { return false }
        return switch stage {
        case .preparing, .checking, .moving, .settling, .verifying, .securing, .sharing: true
        case .publishing, .left: false
        }
    }

    /// What the head of an answer means for the bytes held.
    func judgement(of head: ResponseHead, for ask: RangeRequest) -> ResumeJudgement {
        judge(ask, head, pinned: bytes.state.validator, maxSize: target.request.options.maxSize)
    }

    /// The request as it goes to the source in use.
    func addressed(_ ask: RangeRequest) -> RangeRequest {
        var ask = ask
        ask.isForMirror = !isAtOwnOrigin
        ask.isForNoPage = ask.proof != .nothingHeld && FileNaming.isOfNoPage(target.destination)
        ask.names = bytes.names(of: target.request)
        return ask
    }
}
