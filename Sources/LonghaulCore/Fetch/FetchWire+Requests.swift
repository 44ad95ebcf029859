internal import LonghaulModel

/// Requests: what is asked next, and how many at a time.
extension FetchWire {
    /// Sends a request for the first missing bytes, or for the whole from zero.
    mutating func askNext(_ context: FetchContext) {
        precondition(segments.isEmpty, "the first request of a round goes out alone")
        // The body of this request may be small, and let in at once: the emptying would lose it.
        if isEmptying { return }
        let ask = frame.bytes.nextAsk(
            fromZero: fromZero, readFrom: maySplit ? frame.target.readFrom : nil,
            origin: ownMemory(context) ?? context.origin, scheme: ResponseHead.Scheme(of: url))
        send(ask, isParallel: false, context)
    }

    mutating func send(
        _ ask: RangeRequest, isParallel: Bool, to source: String? = nil, _ context: FetchContext
    ) {
        let url = source ?? url
        let ask = frame.addressed(ask, to: url)
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

    /// A part may be asked for beside another.
    private var maySplit: Bool {
        held == nil && fromZero == nil && frame.connections.maySplit(frame.bytes)
            && ResponseHead.Scheme(of: url) == .http
    }

    /// Ends the requests that bring other bytes than those that a reader needs next, which are
    /// asked for alone. Returns whether requests are on their way out.
    private mutating func followReader(_ context: FetchContext) -> Bool {
        guard maySplit, let missing = frame.bytes.nextMissing(from: frame.target.readFrom) else {
            return false
        }
        if segments.contains(where: \.isGivenUp) { return true }
        return giveUp(where: { !$0.brings(missing.start, soonAt: context.now.monotonic) })
    }

    /// Another connection, where it helps; what is slow is halved again.
    mutating func split(_ context: FetchContext) {
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
        // The request that fetches those bytes leaves them once another has proven that it brings
        // them: see `takeOver`.
        let pieces = SegmentPlanner().plan(situation)
        for piece in pieces { start(piece, context) }
        if pieces.isEmpty, let slow = frame.giveUpSlow(among: segments, total: total, context) {
            _ = giveUp(where: { $0.key == slow })
        }
    }

    /// Stops requests; what they have written is kept. Returns whether there are any.
    private mutating func giveUp(where isUseless: (ActiveSegment) -> Bool) -> Bool {
        let others = segments.indices.filter { isUseless(segments[$0]) }
        if others.isEmpty { return false }
        for index in others { segments[index].isGivenUp = true }
        frame.step.effects.append(.stop(others.map { segments[$0].key }))
        return true
    }

    private mutating func start(_ piece: SegmentPlanner.Start, _ context: FetchContext) {
        let range = piece.range
        let source = frame.leastBusySource(segments.map(\.url), context)
        if source != url, let ask = frame.askAside(piece, of: source) {
            return send(ask, isParallel: true, to: source, context)
        }
        let ask = frame.bytes.ask(
            from: range.lowerBound, to: piece.toEnd ? nil : range.upperBound,
            origin: ownMemory(context), scheme: .http)
        // Without If-Range two versions could meet in one file.
        guard ask.isConditional,
            frame.bytes.rangesProven || ownMemory(context)?.ignoresRanges != true
        else {
            frame.connections.rangesRefused = true
            return
        }
        send(ask, isParallel: true, context)
    }

    /// Another sample may lead to another connection.
    var isTryingConnections: Bool {
        guard maySplit, let total = frame.bytes.state.bytesTotal else { return false }
        return frame.connections.isTrying(for: frame.target, total: total)
    }

    /// No more than work without it, for a while.
    mutating func noteRefused(_ segment: ActiveSegment, _ context: FetchContext) {
        let working = segments.count { $0.isWriting && $0.key != segment.key }
        frame.connections.refused(
            beside: working, held: frame.bytes.have.count, at: context.now.monotonic)
    }

    mutating func heard(_ index: Int, at now: Instant) {
        frame.connections.heard(after: now - segments[index].heardAt)
        segments[index].heardAt = now
    }

    /// Ends one request that has been silent for too long. Free connections ask for what it has not
    /// written. The origin is not blamed, and nothing is backed off. Returns whether a request is
    /// on its way out: until it has ended, what is missing is not known.
    private mutating func giveUpSilent(_ context: FetchContext) -> Bool {
        if segments.contains(where: \.isGivenUp) { return true }
        guard frame.connections.hasEndedWell,
            segments.count < frame.connections.count(for: frame.target, context),
            !frame.run.isToPause(at: context.now.wall),
            ownMemory(context)?.isCooling(at: context.now.wall) != true,
            let silent = frame.connections.giveUpSilent(among: segments, at: context.now.monotonic)
        else { return false }
        return giveUp(where: { $0.key == silent })
    }
}
