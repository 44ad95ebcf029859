/// A fetch on the wire: what it is for, what it holds, its requests and what they bring. It decides
/// what is asked next; when the wire is left is for the machine to say.
package struct FetchWire: Sendable {
    package internal(set) var target: FetchTarget
    package internal(set) var bytes: FetchBytes
    var connections = ConnectionPolicy()
    var run = FetchRun()
    package internal(set) var segments: [ActiveSegment] = []
    /// A request whose body waits until what its head means has been committed.
    var held: HeldBody?
    /// The part file is about to be emptied: what is written before that has happened is lost.
    var isEmptying = false
    /// Why the next request starts from zero whatever is held.
    var fromZero: RestartReason?
    var nextSerial: Int64
    package internal(set) var upload = UploadRun()

    init(_ target: FetchTarget, _ state: FetchState, firstSerial: Int64) {
        self.target = target
        bytes = FetchBytes(state)
        nextSerial = firstSerial
        bytes.findSource(in: target)
        if !state.mayHaveItsName { bytes.state.publication = nil }
        // A file that was about to have its name was whole, so its length is sure.
        bytes.isLengthAdvice =
            bytes.state.publication == nil && ResponseHead.Scheme(of: url) == .ftp
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

    // MARK: - Bytes

    /// Records the progress board's numbers for a request of this fetch, before any event that
    /// depends on them.
    mutating func moved(
        _ key: SegmentKey, written: Int64, received: Int64, now: Instant
    ) {
        guard let index = segments.firstIndex(where: { $0.key == key }) else { return }
        let segment = segments[index]
        if received > segment.received { heard(index, at: now) }
        count(received, of: index)
        if segment.isWriting, segment.isOpen, written > segment.written {
            segments[index].written = written
            bytes.have.insert(segment.start..<written)
            bytes.learnVersion(segments[index], askedFor: target.request.url)
        }
    }

    /// Counts the body bytes that a request has received by now.
    mutating func count(_ received: Int64, of index: Int) {
        let more = max(0, received - segments[index].received)
        segments[index].received += more
        bytes.state.bytesFetched = bytes.state.bytesFetched + more
    }

    /// See ``FetchBytes/void(_:of:_:)``.
    mutating func voidBytes(_ reason: RestartReason, _ step: inout FetchStep) {
        bytes.void(reason, of: target.transfer, &step)
    }

    /// Back to what is durable, under a new generation so that the board's word for the rest is
    /// void too.
    mutating func distrustWritten(_ step: inout FetchStep) {
        bytes.state.generation += 1
        ignoreWritten()
        step.writes.append(.save(bytes.state))
        step.durable = true
    }

    /// Back to what is durable; requests still under way no longer count.
    mutating func ignoreWritten() {
        bytes.distrust()
        for index in segments.indices {
            segments[index].judgement = nil
            segments[index].isOpen = false
        }
    }
}
