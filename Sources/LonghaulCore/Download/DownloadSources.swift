internal import LonghaulModel

/// The sources of a download in one run: which have failed, which bring bytes beside the one in
/// use, and which one is asked next.
struct DownloadSources {
    private let frame: FetchFrame
    /// Sources that have failed; each is tried once before the transfer backs off or fails.
    private var failed = 0
    /// Sources that were asked for bytes beside the one in use.
    private var aside: Set<String> = []
    /// Members of `aside` that are not asked again in this run.
    private var refused: Set<String> = []
    /// Failure of a source that may succeed later; of several the one with the shortest wait.
    private var passingFailure: Failure?
    /// Failure of the transfer's own URL, reported when no source is left.
    private var ownFailure: Failure?
    private var recentRate = RecentRate()

    init(_ frame: FetchFrame) {
        self.frame = frame
    }

    // MARK: - The next source

    /// Records that the source in use has failed. What its own URL said is reported at the end.
    mutating func fail(_ failure: Failure, _ context: FetchContext) {
        count(failure)
        if frame.isAtOwnOrigin { ownFailure = failure }
        if frame.target.sources.count > 1 {
            frame.blame(failure, context)
            // Each source has been blamed for its own failure.
            passingFailure?.blamesOrigin = false
        }
    }

    /// The shortest wait of all sources counts.
    private mutating func count(_ failure: Failure) {
        failed += 1
        guard failure.kind == .transient else { return }
        if let passingFailure, passingFailure.retryAfter ?? 0 < failure.retryAfter ?? 0 { return }
        passingFailure = failure
    }

    /// Moves to the next source that may be asked. A source in its cool-down counts as failed.
    /// Returns whether there is one.
    mutating func moveToNext(_ context: FetchContext) -> Bool {
        while failed < frame.target.sources.count {
            frame.bytes.nextSource(in: frame.target)
            guard let origin = frame.ownMemory(context), origin.isCooling(at: context.now.wall)
            else {
                moved(at: context.now.monotonic)
                return true
            }
            count(FailureTable.leftAlone(origin, now: context.now.wall))
        }
        return false
    }

    /// Leaves the source in use for the one of this index.
    mutating func move(to index: Int, for failure: Failure, at now: Instant) {
        assert(index < frame.target.sources.count, "a measured source is one of the transfer's")
        count(failure)
        while frame.bytes.state.source % frame.target.sources.count != index {
            frame.bytes.nextSource(in: frame.target)
        }
        moved(at: now)
    }

    private mutating func moved(at now: Instant) {
        frame.run.moved(received: frame.bytes.state.bytesFetched, at: now)
        recentRate.reset()
    }

    /// Outcome when no source is left. A passing failure is waited out.
    func leaving(after failure: Failure) -> FetchLeaving {
        if let passingFailure { return .retry(passingFailure) }
        let failure = ownFailure ?? failure
        return failure.kind == .needsInput ? .needInput(failure.error) : .fail(failure.error)
    }

    /// The throughput of several sources says nothing about one.
    func noteThroughput(_ context: FetchContext) {
        if aside.isEmpty { frame.noteThroughput(context) }
    }

    // MARK: - Slow sources

    /// Measures the source in use, and records the rate of a slow one. Returns `nil` unless it is
    /// to be left.
    ///
    /// - Parameter refusesRanges: The server sends no parts of the file.
    mutating func slowness(refusesRanges: Bool, _ context: FetchContext) -> SourceSpeed? {
        let options = frame.target.request.options
        // The rate of a transfer that is held back here says nothing about its source.
        if context.isHeldBack || frame.target.isYielding {
            recentRate.reset()
            return nil
        }
        let received = frame.bytes.state.bytesFetched
        guard let rate = recentRate.measure(received: received, at: context.now.monotonic) else {
            return nil
        }
        let mayLeave = !refusesRanges && mayLeave(context)
        let floor = options.minRate.flatMap { $0 < options.limitRate ?? .max ? $0 : nil }
        let speed = SourceSpeed.judge(
            rate: rate, floor: floor, others: mayLeave ? ratesElsewhere(context) : [:])
        if speed == .keep { return nil }
        if let origin = frame.ownMemory(context) {
            frame.step.writes.append(
                .originWorked(
                    origin: origin.origin, bytesPerSecond: rate,
                    http2: frame.run.lastHTTPVersion >= 20))
        }
        return speed
    }

    /// A better source may take over, and no byte is lost by that. Each source is left once in a
    /// run, and the last one is kept. The rate of a limited transfer says nothing about its source.
    private func mayLeave(_ context: FetchContext) -> Bool {
        guard frame.target.request.options.limitRate == nil, aside.isEmpty,
            failed + 1 < frame.target.sources.count
        else { return false }
        return frame.bytes.state.validator?.length != nil
            && frame.ownMemory(context)?.ignoresRanges != true
    }

    /// The rates of sources at other origins that may be asked.
    private func ratesElsewhere(_ context: FetchContext) -> [Int: Double] {
        var rates: [Int: Double] = [:]
        let own = frame.ownMemory(context)?.origin
        for (index, url) in frame.target.sources.enumerated() {
            guard let memory = frame.memory(of: url, context), memory.origin != own,
                !memory.isCooling(at: context.now.wall), let rate = memory.bytesPerSecond
            else { continue }
            rates[index] = rate
        }
        return rates
    }

    // MARK: - Several sources at once

    /// The source with the fewest requests of those that may bring bytes of this file now; the one
    /// in use first.
    ///
    /// - Parameter busy: The URLs of the requests on the wire.
    func leastBusy(_ busy: [String], _ context: FetchContext) -> String {
        let url = frame.url
        let others = frame.bytes.state.isDigestRefuted ? [] : frame.target.sources
        var best = (url: url, requests: busy.count { $0 == url })
        for other in others where other != url && !refused.contains(other) {
            let requests = busy.count { $0 == other }
            guard requests < best.requests, ResponseHead.Scheme(of: other) == .http,
                let memory = frame.memory(of: other, context), !memory.ignoresRanges,
                !memory.isCooling(at: context.now.wall)
            else { continue }
            best = (other, requests)
        }
        return best.url
    }

    /// The request for a piece from another source; `nil`: no validator could prove its bytes.
    mutating func askAside(_ piece: SegmentPlanner.Start, of source: String) -> RangeRequest? {
        guard let validator = frame.bytes.state.validator,
            var ask = RangeRequest.aside(
                piece, validator: validator, checksum: frame.target.request.options.checksum)
        else { return nil }
        ask.heldCoding = frame.bytes.state.contentCoding
        aside.insert(source)
        return ask
    }

    /// Another source has ended its part. If it failed, it is not asked again in this run, and the
    /// rest of its part is requested elsewhere. Returns a failure that another source would not
    /// avoid.
    mutating func settleAside(_ ended: EndedRequest, _ context: FetchContext) -> Failure? {
        let (segment, failure) = (ended.segment, ended.failure)
        if failure?.kind == .waitForStorage || failure?.kind == .localFault { return failure }
        let wasStopped = ended.end.failure == .stopped && !segment.isGivenUp
        let isUseful =
            segment.hasWritten && failure == nil || segment.hasBroughtAPiece || wasStopped
        if !isUseful || segment.isGivenUp {
            refused.insert(segment.url)
            if let failure { frame.blame(failure, of: segment.url, context) }
        }
        return nil
    }
}
