internal import LonghaulModel

/// The sources of a fetch: the transfer's own URL and its mirrors.
extension FetchFrame {
    var url: String { target.url(ofSource: bytes.state.source) }
    var isAtOwnOrigin: Bool { url == target.request.url }

    /// Memory of the source in use: lessons about a mirror are not about the own origin.
    func ownMemory(_ context: FetchContext) -> OriginMemory? { memory(of: url, context) }

    func memory(of url: String, _ context: FetchContext) -> OriginMemory? {
        url == target.request.url ? context.origin : context.mirrors[url]
    }

    mutating func blame(_ failure: Failure, _ context: FetchContext) {
        blame(failure, of: url, context)
    }

    mutating func blame(_ failure: Failure, of url: String, _ context: FetchContext) {
        guard let origin = memory(of: url, context) else { return }
        step.writes.append(
            .originFailed(origin: origin.origin, failure, gained: run.progress(bytes)))
    }

    /// The origin's throughput, for planning, from transfers long enough to tell.
    mutating func noteThroughput(_ context: FetchContext) {
        // What several have brought tells nothing about one.
        guard let origin = ownMemory(context), run.sourcesAside.isEmpty else { return }
        let write = run.worked(at: origin, bytes, now: context.now.monotonic)
        step.writes += [write].compactMap(\.self)
    }

    /// The pause that the only source has asked for, and that is not over yet.
    func pause(at now: Timestamp) -> AskedPause? {
        run.isToPause(at: now) && target.sources.count == 1 ? run.pause : nil
    }

    // MARK: - The next source

    /// Moves to the next source that may be asked. A source that is left alone for now counts as
    /// failed. Returns whether there is one.
    mutating func moveToNextSource(_ context: FetchContext) -> Bool {
        while run.sourcesFailed < target.sources.count {
            bytes.nextSource(in: target)
            guard let origin = ownMemory(context), origin.isCooling(at: context.now.wall) else {
                run.moved(received: bytes.state.bytesFetched, at: context.now.monotonic)
                return true
            }
            run.sourceFailed(FailureTable.leftAlone(origin, now: context.now.wall))
        }
        return false
    }

    /// Leaves the source in use for the one of this index.
    mutating func move(toSource index: Int, for failure: Failure, at now: Instant) {
        assert(target.sources.indices.contains(index), "a measured source is one of the transfer's")
        run.sourceFailed(failure)
        while bytes.state.source % target.sources.count != index {
            bytes.nextSource(in: target)
        }
        run.moved(received: bytes.state.bytesFetched, at: now)
    }

    // MARK: - Slow sources

    /// Measures the source in use, and records the rate of a slow one. Returns `nil` unless it is
    /// to be left.
    ///
    /// - Parameter refusesRanges: An answer has told that no part of the file may be asked for.
    mutating func slowness(refusesRanges: Bool, _ context: FetchContext) -> SourceSpeed? {
        let options = target.request.options
        // A transfer that is held back here tells nothing about its source.
        if context.isHeldBack || options.yields ?? target.request.isDiscretionary {
            run.recentRate.reset()
            return nil
        }
        guard
            let rate = run.recentRate.measure(
                received: bytes.state.bytesFetched, at: context.now.monotonic)
        else { return nil }
        let mayLeave = !refusesRanges && mayLeave(context)
        let floor = options.minRate.flatMap { $0 < options.limitRate ?? .max ? $0 : nil }
        let speed = SourceSpeed.judge(
            rate: rate, floor: floor, others: mayLeave ? ratesElsewhere(context) : [:])
        switch speed {
        case .keep: return nil
        case .tooSlow, .leave: break
        }
        if let origin = ownMemory(context) {
            step.writes.append(
                .originWorked(
                    origin: origin.origin, bytesPerSecond: rate,
                    http2: run.lastHTTPVersion >= 20))
        }
        return speed
    }

    /// A better source may take over, and nothing is lost by that. Each source is left once in a
    /// run, and the last one is kept. A transfer with a limit of its own tells nothing about its
    /// source.
    private func mayLeave(_ context: FetchContext) -> Bool {
        let options = target.request.options
        if options.limitRate != nil || !run.sourcesAside.isEmpty { return false }
        guard run.sourcesFailed + 1 < target.sources.count, let validator = bytes.state.validator
        else { return false }
        return validator.length != nil && ownMemory(context)?.ignoresRanges != true
    }

    /// A request that crawls where nothing else is left to split: its rest goes to another
    /// connection, as after silence. A transfer that holds itself back says nothing of its server.
    mutating func giveUpSlow(
        among segments: [ActiveSegment], total: Int64, _ context: FetchContext
    ) -> SegmentKey? {
        let options = target.request.options
        guard options.limitRate == nil, !(options.yields ?? target.request.isDiscretionary),
            ownMemory(context)?.isCooling(at: context.now.wall) != true
        else { return nil }
        return connections.giveUpSlow(among: segments, total: total, at: context.now.monotonic)
    }

    // MARK: - Several sources at once

    /// The source with the fewest requests of those that may bring bytes of this file now; the one
    /// in use first.
    ///
    /// - Parameter busy: The URLs of the requests on the wire.
    func leastBusySource(_ busy: [String], _ context: FetchContext) -> String {
        let others = bytes.state.isDigestRefuted ? [] : target.sources
        var best = (url: url, requests: busy.count { $0 == url })
        for other in others where other != url && !run.isRefused(other) {
            let requests = busy.count { $0 == other }
            guard requests < best.requests, ResponseHead.Scheme(of: other) == .http,
                let memory = memory(of: other, context), !memory.ignoresRanges,
                !memory.isCooling(at: context.now.wall)
            else { continue }
            best = (other, requests)
        }
        return best.url
    }

    /// The request for a piece from another source; `nil` = nothing could prove its bytes.
    mutating func askAside(
        _ piece: SegmentPlanner.Start, of source: String
    ) -> RangeRequest? {
        guard let validator = bytes.state.validator,
            var ask = RangeRequest.aside(
                piece, validator: validator, checksum: target.request.options.checksum)
        else { return nil }
        ask.heldCoding = bytes.state.contentCoding
        run.setAside(source)
        return ask
    }

    /// Another source has ended its part, or has failed: then it is left alone for the rest of the
    /// run, and what it owes is asked for again. Returns a failure that has nothing to do with it.
    mutating func settleAside(_ ended: EndedRequest, _ context: FetchContext) -> Failure? {
        let (segment, failure) = (ended.segment, ended.failure)
        if failure?.kind == .waitForStorage || failure?.kind == .localFault { return failure }
        let wasStopped = ended.end.failure == .stopped && !segment.isGivenUp
        let isOfUse =
            segment.hasWritten && failure == nil || segment.hasBroughtAPiece || wasStopped
        if !isOfUse || segment.isGivenUp {
            run.refuse(aside: segment.url)
            if let failure { blame(failure, of: segment.url, context) }
        }
        return nil
    }

    /// The rates of sources at other origins that may be asked.
    private func ratesElsewhere(_ context: FetchContext) -> [Int: Double] {
        var rates: [Int: Double] = [:]
        let own = ownMemory(context)?.origin
        for (index, url) in target.sources.enumerated() {
            guard let memory = memory(of: url, context), memory.origin != own,
                !memory.isCooling(at: context.now.wall), let rate = memory.bytesPerSecond
            else { continue }
            rates[index] = rate
        }
        return rates
    }
}
