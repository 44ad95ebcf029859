/// What a running fetch is, be it a download or an upload: what it is for, what is held of it, and
/// how it leaves.
package struct FetchFrame: Sendable {
    package internal(set) var target: FetchTarget
    package internal(set) var bytes: FetchBytes
    package internal(set) var stage: FetchStage = .preparing
    package internal(set) var leaving: FetchLeaving?
    var connections = ConnectionPolicy()
    var run = FetchRun()
    private var nextSerial: Int64

    init(_ target: FetchTarget, _ state: FetchState, firstSerial: Int64) {
        assert(firstSerial >= 0, "keys of requests are counted up")
        self.target = target
        bytes = FetchBytes(state)
        nextSerial = firstSerial
        bytes.findSource(in: target)
        if !state.mayHaveItsName { bytes.state.publication = nil }
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

    // MARK: - Sources

    var url: String { target.url(ofSource: bytes.state.source) }
    var isAtOwnOrigin: Bool { url == target.request.url }

    /// Memory of the source in use: lessons about a mirror are not about the own origin.
    func asked(_ context: FetchContext) -> OriginMemory? {
        isAtOwnOrigin ? context.origin : context.mirrors[url]
    }

    func blame(_ failure: Failure, _ context: FetchContext, _ step: inout FetchStep) {
        guard let origin = asked(context) else { return }
        step.writes.append(
            .originFailed(origin: origin.origin, failure, gained: run.progress(bytes)))
    }

    /// The origin's throughput, for planning, from transfers long enough to tell.
    func noteThroughput(_ context: FetchContext, _ step: inout FetchStep) {
        guard let origin = asked(context) else { return }
        let write = run.worked(at: origin, bytes, now: context.now.monotonic)
        step.writes += [write].compactMap(\.self)
    }
}
