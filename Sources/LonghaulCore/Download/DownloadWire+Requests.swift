internal import LonghaulModel

/// The next requests, and their number.
extension DownloadWire {
    /// Sends a request for the first missing bytes, or for the whole from zero.
    func askNext(_ context: FetchContext) {
        precondition(segments.isEmpty, "the first request of a round goes out alone")
        // The body of this request may be small, and let in at once: the emptying would lose it.
        if isEmptying { return }
        let ask = frame.bytes.nextAsk(
            fromZero: fromZero, readFrom: maySplit ? frame.target.readFrom : nil,
            origin: frame.ownMemory(context) ?? context.origin,
            scheme: ResponseHead.Scheme(of: frame.url))
        send(ask, isParallel: false, context)
    }

    func send(
        _ ask: RangeRequest, isParallel: Bool, to source: String? = nil, _ context: FetchContext
    ) {
        let url = source ?? frame.url
        let ask = addressed(ask, to: url)
        let key = frame.beginRequest(at: context.now.monotonic)
        assert(!segments.contains { $0.key == key }, "a request has a key of its own")
        segments.append(
            ActiveSegment(
                key: key, number: frame.bytes.state.attempts, ask: ask, url: url,
                startedAt: context.now, isParallel: isParallel))
        var order = SegmentAsk(
            key: key, url: url, ask: ask, pinned: frame.bytes.state.validator,
            maxSize: frame.target.request.options.maxSize, isParallel: isParallel)
        if ask.proof == .nothingHeld, frame.bytes.have.isEmpty, !order.isForMirror,
            ResponseHead.Scheme(of: url) == .http
        {
            order.condition = frame.target.kept?.condition ?? HeaderFields()
            segments[segments.count - 1].asksForChange = !order.condition.isEmpty
        }
        frame.step.effects.append(.ask(order))
    }

    /// Parallel range requests are allowed: ranges were answered, or at least promised, and a
    /// strong validator names the version.
    private var maySplit: Bool {
        held == nil && fromZero == nil && !rangesRefused && isVersionStrong
            && (frame.bytes.rangesProven || rangesOffered)
            && ResponseHead.Scheme(of: frame.url) == .http
    }

    private var isVersionStrong: Bool { frame.bytes.state.validator?.isStrong == true }

    /// A request that leaves the wire is known to cost no byte.
    var goesOnWhenAskedAgain: Bool {
        frame.bytes.rangesProven || rangesOffered && isVersionStrong
    }

    /// Stops the requests that do not bring the bytes a reader needs next; these are requested
    /// alone. Returns whether requests are being stopped.
    private func followReader(_ context: FetchContext) -> Bool {
        guard maySplit, let missing = frame.bytes.nextMissing(from: frame.target.readFrom) else {
            return false
        }
        if segments.contains(where: \.isGivenUp) { return true }
        return giveUp(where: { !$0.brings(missing.start, soonAt: context.now.monotonic) })
    }

    /// Adds connections where they help; a slow range is halved again.
    func split(_ context: FetchContext) {
        if followReader(context) { return }
        guard let total = frame.bytes.state.bytesTotal, maySplit,
            !giveUpSilent(context), !frame.run.isToPause(at: context.now.wall),
            segments.allSatisfy(\.isWriting)
        else { return }
        let held = frame.bytes.have.count
        frame.connections.observe(held: held, at: context.now.monotonic)
        if frame.target.isConnectionCountAutomatic {
            frame.connections.sample(
                held: held, total: total, running: segments.count, at: context.now.monotonic)
        }
        let allowed = frame.connections.count(for: frame.target, context)
        guard segments.count < allowed else { return }
        let situation = SegmentPlanner.Situation(
            total: total, have: frame.bytes.have,
            active: segments.map { $0.asActive(total: total, now: context.now.monotonic) },
            allowed: allowed)
        // The request that fetches these bytes leaves them once another has proven that it brings
        // them: see `takeOver`.
        let pieces = SegmentPlanner().plan(situation)
        for piece in pieces { start(piece, context) }
        if pieces.isEmpty { giveUpSlow(total: total, context) }
    }

    /// The rest of a request that crawls goes to another connection, as after silence. The rate of
    /// a transfer that holds itself back says nothing about its server.
    private func giveUpSlow(total: Int64, _ context: FetchContext) {
        guard frame.target.request.options.limitRate == nil, !frame.target.isYielding,
            frame.ownMemory(context)?.isCooling(at: context.now.wall) != true,
            let slow = stragglers.giveUpSlow(
                among: segments, total: total, at: context.now.monotonic)
        else { return }
        _ = giveUp(where: { $0.key == slow })
    }

    /// Stops requests; the bytes they have written are kept. Returns whether there are any.
    private func giveUp(where isUseless: (ActiveSegment) -> Bool) -> Bool {
        let others = segments.indices.filter { isUseless(segments[$0]) }
        if others.isEmpty { return false }
        for index in others { segments[index].isGivenUp = true }
        frame.step.effects.append(.stop(others.map { segments[$0].key }))
        return true
    }

    private func start(_ piece: SegmentPlanner.Start, _ context: FetchContext) {
        let range = piece.range
        let source = sources.leastBusy(segments.map(\.url), context)
        if source != frame.url, let ask = sources.askAside(piece, of: source) {
            return send(ask, isParallel: true, to: source, context)
        }
        let ask = frame.bytes.ask(
            from: range.lowerBound, to: piece.toEnd ? nil : range.upperBound,
            origin: frame.ownMemory(context), scheme: .http)
        // Without If-Range two versions could meet in one file.
        guard ask.isConditional,
            frame.bytes.rangesProven || frame.ownMemory(context)?.ignoresRanges != true
        else {
            rangesRefused = true
            return
        }
        send(ask, isParallel: true, context)
    }

    /// The request in the form for a source.
    private func addressed(_ ask: RangeRequest, to url: String) -> RangeRequest {
        var ask = ask
        ask.isForMirror = url != frame.target.request.url
        ask.isForNoPage =
            ask.proof != .nothingHeld && FileNaming.isOfNoPage(frame.target.destination)
        ask.names = frame.bytes.names(of: frame.target.request)
        ask.held = frame.bytes.have.prefix
        ask.errorPages = frame.errorPages
        if !ask.isForMirror, ask.proof == .restarting(.nothingToProve) {
            ask.compareWhole(with: frame.bytes.have)
        }
        return ask
    }

    /// Another sample may lead to another connection.
    var isTryingConnections: Bool {
        guard maySplit, let total = frame.bytes.state.bytesTotal else { return false }
        return frame.connections.isTrying(for: frame.target, total: total)
    }

    /// For a while, no more requests are sent than work without this one.
    func noteRefused(_ segment: ActiveSegment, _ context: FetchContext) {
        let working = segments.count { $0.isWriting && $0.key != segment.key }
        frame.connections.refused(
            beside: working, held: frame.bytes.have.count, at: context.now.monotonic)
    }

    /// Stops a request that has been silent for too long. Free connections request the rest of its
    /// range. The origin is not blamed, and nothing is backed off. Returns whether a request is
    /// being stopped: until it has ended, the missing bytes are unknown.
    private func giveUpSilent(_ context: FetchContext) -> Bool {
        if segments.contains(where: \.isGivenUp) { return true }
        guard stragglers.hasEndedWell,
            segments.count < frame.connections.count(for: frame.target, context),
            !frame.run.isToPause(at: context.now.wall),
            frame.ownMemory(context)?.isCooling(at: context.now.wall) != true,
            let silent = stragglers.giveUpSilent(among: segments, at: context.now.monotonic)
        else { return false }
        return giveUp(where: { $0.key == silent })
    }
}
