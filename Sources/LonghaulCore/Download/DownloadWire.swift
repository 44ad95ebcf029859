internal import LonghaulModel

/// A download on the wire: its requests, and the next ones. When the wire is left is decided by the
/// machine.
final class DownloadWire {
    let frame: FetchFrame
    var segments: [ActiveSegment] = []
    /// A request whose body waits until the meaning of its head has been committed.
    var held: HeldBody?
    /// The part file is about to be emptied: bytes written before that are lost.
    var isEmptying = false
    /// Why the next request starts from zero although bytes are held.
    var fromZero: RestartReason?
    /// Why the requests are being stopped: another source may be faster.
    private var slowness: SourceSpeed?
    var sources: DownloadSources
    var stragglers = Stragglers()
    /// The answer that named the version has promised ranges.
    var rangesOffered = false
    /// A parallel request was answered with something else: no more than one is sent.
    var rangesRefused = false

    init(_ frame: FetchFrame) {
        self.frame = frame
        sources = DownloadSources(frame)
        // A file that was about to be renamed was whole, so its length is sure.
        frame.bytes.isLengthAdvice =
            frame.bytes.state.publication == nil && ResponseHead.Scheme(of: frame.url) == .ftp
    }

    // MARK: - Bytes

    /// Records the progress board's numbers for a request of this fetch, before any event that
    /// depends on them.
    func moved(_ key: SegmentKey, written: Int64, received: Int64, now: Instant) {
        guard let index = segments.firstIndex(where: { $0.key == key }) else { return }
        if received > segments[index].received { heard(index, at: now) }
        count(received, of: index)
        if segments[index].isWriting, segments[index].isOpen, written > segments[index].written {
            segments[index].written = written
            let segment = segments[index]
            frame.bytes.prove(segment, for: frame.target.request, at: now)
            frame.bytes.have.insert(segment.start..<written)
            frame.bytes.learnVersion(segment, askedFor: frame.target.request.url)
        }
    }

    /// Counts the body bytes that a request has received.
    private func count(_ received: Int64, of index: Int) {
        let more = max(0, received - segments[index].received)
        segments[index].received += more
        frame.bytes.state.bytesFetched += more
    }

    func heard(_ index: Int, at now: Instant) {
        stragglers.heard(after: now - segments[index].heardAt)
        segments[index].heardAt = now
    }

    /// Goes back to the durable bytes, under a new generation: the board's numbers for the rest are
    /// void.
    func distrustWritten() {
        frame.bytes.state.generation += 1
        ignoreWritten()
        frame.save()
        frame.step.durable = true
    }

    /// Goes back to the durable bytes; requests on the wire no longer count.
    func ignoreWritten() {
        frame.bytes.have = frame.bytes.state.durable
        for index in segments.indices {
            segments[index].judgement = nil
            segments[index].isOpen = false
        }
    }

    func proceedWithHeld() {
        guard let held else { return }
        self.held = nil
        for index in segments.indices where segments[index].key == held.key {
            segments[index].isOpen = true
        }
        frame.step.effects.append(.proceed(held.key, held.plan))
    }

    // MARK: - Ends

    /// Removes the request, and records its bytes; `nil`: it was not there.
    func remove(_ key: SegmentKey, _ end: SegmentEnd, _ context: FetchContext) -> EndedRequest? {
        guard let index = segments.firstIndex(where: { $0.key == key }) else { return nil }
        // The board may have had no cell for it.
        count(end.bytesReceived, of: index)
        var segment = segments.remove(at: index)
        frame.bytes.checkpoints.retire(key)
        if end.failure == .withdrawn {
            // The request was never sent and is no attempt.
            if segment.number == frame.bytes.state.attempts { frame.bytes.state.attempts -= 1 }
            return EndedRequest(segment, end, of: frame.target, frame.bytes)
        }
        let now = context.now.monotonic
        let hasWritten = end.writtenThrough > segment.start
        if segment.isWriting, segment.isOpen, hasWritten {
            frame.bytes.have.insert(segment.start..<end.writtenThrough)
            segment.written = end.writtenThrough
            frame.bytes.state.emptyAnswers = 0
            frame.bytes.state.validator?.doubts = nil
            if end.failure == nil { stragglers.endedWell(segment, at: now) }
        }
        let endedWell = end.failure == nil
        if segment.isOpen, hasWritten || (endedWell && end.bytesReceived >= segment.ask.overlap) {
            frame.bytes.prove(segment, for: frame.target.request, at: now)
        }
        if segment.isOpen, endedWell || hasWritten {
            frame.bytes.learnVersion(segment, askedFor: frame.target.request.url)
        }
        if held?.key == key { held = nil }
        let ended = EndedRequest(segment, end, of: frame.target, frame.bytes)
        frame.step.writes.append(
            .attempt(frame.target.transfer, ended.outcome(at: context.now.wall)))
        return ended
    }

    // MARK: - Other sources

    /// The next source takes over at once. When all have failed, a passing failure is waited out.
    func tryElsewhere(_ failure: Failure, _ context: FetchContext) -> WireOutcome? {
        sources.fail(failure, context)
        // `fromZero` applies to the source in use only.
        fromZero = nil
        if segments.isEmpty, sources.moveToNext(context) {
            askNext(context)
            return nil
        }
        return .leave(sources.leaving(after: failure))
    }

    /// The requests are being stopped since their source is slow.
    var isLeavingSlow: Bool { slowness != nil }

    /// Stops the requests if their source is too slow; ``elsewhere(_:)`` asks another one when they
    /// have ended. Returns whether requests are being stopped for that.
    func leaveSlow(_ context: FetchContext) -> Bool {
        if slowness != nil { return true }
        guard fromZero == nil, held == nil, !isEmptying, !segments.isEmpty else { return false }
        let refusesRanges = segments.contains { $0.head?.headers.refusesRanges == true }
        slowness = sources.slowness(refusesRanges: refusesRanges, context)
        if slowness != nil { frame.step.effects.append(.stop(segments.map(\.key))) }
        return slowness != nil
    }

    /// The requests of a slow source have ended.
    func elsewhere(_ context: FetchContext) -> WireOutcome? {
        guard segments.isEmpty, let slowness else { return nil }
        self.slowness = nil
        switch slowness {
        case .keep: preconditionFailure("a source that is not slow is not left")
        case .tooSlow:
            return tryElsewhere(Failure.slow(frame.target.request.options.minRate), context)
        case .leave(let index):
            sources.move(to: index, for: Failure.slow(nil), at: context.now.monotonic)
            askNext(context)
            return nil
        }
    }
}

extension Failure {
    /// The source is slower than the user's bound; `nil`: than another source.
    fileprivate static func slow(_ floor: Int64?) -> Failure {
        let bound = floor.map { "\(SizeText.shown($0))/s" } ?? "another source"
        let seconds = Int(Limits.slowSourceSeconds)
        return Failure(
            .transient,
            LonghaulError(.timedOut, "the server was slower than \(bound) for \(seconds) s"))
    }
}
