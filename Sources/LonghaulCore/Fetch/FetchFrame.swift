internal import LonghaulModel

/// The part of a running fetch that downloads and uploads have in common: its target, its bytes,
/// and the consequences of the event at hand. A reference: its machine and its wire change it in
/// place.
package final class FetchFrame {
    package internal(set) var target: FetchTarget
    package internal(set) var bytes: FetchBytes
    var connections = ConnectionPolicy()
    var run = FetchRun()
    /// Consequences of the event so far, see ``endStep(_:)``.
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

    /// The consequences of the event, and the fetch after it.
    func endStep(_ status: FetchStatus) -> FetchStep {
        defer { step = FetchStep() }
        step.status = status
        return step
    }

    func save() {
        step.writes.append(.save(bytes.state))
    }

    /// The key of a new request, which is counted.
    func beginRequest(at now: Instant) -> SegmentKey {
        assert(run.startedMoving != nil, "requests are sent once the file is open")
        let key = SegmentKey(fetch: bytes.state.id, serial: nextSerial)
        nextSerial += 1
        run.requested(at: now)
        bytes.state.attempts += 1
        return key
    }

    /// Sets the leader, and the settings merged from all subscribers.
    package func serve(_ subscribers: Subscribers) {
        if subscribers.leader.id != target.transfer { bytes.state.publication = nil }
        target.serve(subscribers)
    }
}

/// The source in use: the transfer's own URL or a mirror.
extension FetchFrame {
    package var url: String { target.url(ofSource: bytes.state.source) }
    var isAtOwnOrigin: Bool { url == target.request.url }

    /// Memory of the source in use: lessons about a mirror are not about the own origin.
    func ownMemory(_ context: FetchContext) -> OriginMemory? { memory(of: url, context) }

    func memory(of url: String, _ context: FetchContext) -> OriginMemory? {
        url == target.request.url ? context.origin : context.mirrors[url]
    }

    func blame(_ failure: Failure, of url: String? = nil, _ context: FetchContext) {
        guard let origin = memory(of: url ?? self.url, context) else { return }
        step.writes.append(
            .originFailed(origin: origin.origin, failure, gained: run.progress(bytes)))
    }

    /// The origin's throughput, for planning, from transfers long enough to tell.
    func noteThroughput(_ context: FetchContext) {
        guard let origin = ownMemory(context) else { return }
        let write = run.worked(at: origin, bytes, now: context.now.monotonic)
        if let write { step.writes.append(write) }
    }

    /// The pause that the only source has asked for, and that is not over yet.
    func pause(at now: Timestamp) -> AskedPause? {
        run.isToPause(at: now) && target.sources.count == 1 ? run.pause : nil
    }
}
