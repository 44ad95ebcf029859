/// Requests: what is asked next, and how many at a time.
extension FetchWire {
    /// Sends a request for the first missing bytes, or for the whole from zero.
    mutating func askNext(_ context: FetchContext, _ step: inout FetchStep) {
        precondition(segments.isEmpty, "the first request of a round goes out alone")
        // The body of this request may be small, and let in at once: the emptying would lose it.
        if isEmptying { return }
        if let fromZero {
            let ask = RangeRequest.wholeFile(
                because: fromZero, held: bytes.have, validator: bytes.state.validator,
                // Answers without a byte say nothing against those that are held.
                trustHeld: fromZero == .noBytes, heldCoding: bytes.state.contentCoding)
            send(ask, isParallel: false, context, &step)
            return
        }
        let gap = (maySplit ? bytes.nextMissing(from: target.readFrom) : nil) ?? bytes.firstGap
        let ask = RangeRequest.plan(
            from: gap.start, to: gap.end, held: bytes.have, validator: bytes.state.validator,
            origin: bytes.ways(of: asked(context) ?? context.origin),
            scheme: ResponseHead.Scheme(of: url),
            heldCoding: bytes.state.contentCoding)
        send(ask, isParallel: false, context, &step)
    }

    mutating func send(
        _ ask: RangeRequest, isParallel: Bool, _ context: FetchContext, _ step: inout FetchStep
    ) {
        var ask = ask
        ask.isForMirror = !isAtOwnOrigin
        ask.isForNoPage = ask.proof != .nothingHeld && FileNaming.isOfNoPage(target.destination)
        ask.names = bytes.names(of: target.request)
        let key = SegmentKey(fetch: bytes.state.id, serial: nextSerial)
        assert(!segments.contains { $0.key == key }, "a request has a key of its own")
        nextSerial += 1
        run.requested(at: context.now.monotonic)
        bytes.state.attempts += 1
        segments.append(
            ActiveSegment(
                key: key, number: bytes.state.attempts, ask: ask, url: url,
                startedAt: context.now, isParallel: isParallel))
        var order = SegmentAsk(
            key: key, url: url, ask: ask, pinned: bytes.state.validator,
            maxSize: target.request.options.maxSize, isParallel: isParallel)
        if ask.proof == .nothingHeld, bytes.have.isEmpty, !order.isForMirror,
            ResponseHead.Scheme(of: url) == .http
        {
            order.condition = target.kept?.condition ?? HeaderFields()
            segments[segments.count - 1].asksForChange = !order.condition.isEmpty
        }
        step.effects.append(.ask(order))
    }

    /// A part may be asked for beside another.
    private var maySplit: Bool {
        held == nil && fromZero == nil && connections.maySplit(bytes)
            && ResponseHead.Scheme(of: url) == .http
    }

    /// Ends the requests that bring other bytes than those that a reader needs next, which are
    /// asked for alone. Returns whether requests are on their way out.
    private mutating func followReader(_ context: FetchContext, _ step: inout FetchStep) -> Bool {
        guard maySplit, let missing = bytes.nextMissing(from: target.readFrom) else { return false }
        if segments.contains(where: \.isGivenUp) { return true }
        return segments.giveUp(
            where: { !$0.brings(missing.start, soonAt: context.now.monotonic) }, &step)
    }

    /// Another connection, where it helps; what is slow is halved again.
    mutating func split(_ context: FetchContext, _ step: inout FetchStep) {
        if followReader(context, &step) { return }
        guard let total = bytes.state.bytesTotal, maySplit,
            !giveUpSilent(context, &step), !run.isToPause(at: context.now.wall),
            segments.allSatisfy(\.isWriting)
        else { return }
        let held = bytes.have.count
        connections.observe(held: held, at: context.now.monotonic)
        if target.isConnectionCountAutomatic {
            connections.sample(
                held: held, total: total, running: segments.count, at: context.now.monotonic)
        }
        let allowed = connections.count(for: target, context)
        guard segments.count < allowed else { return }
        let situation = SegmentPlanner.Situation(
            total: total, have: bytes.have,
            active: segments.map { $0.asActive(total: total, now: context.now.monotonic) },
            allowed: allowed)
        // The request that fetches those bytes leaves them once another has proven that it brings
        // them: see `takeOver`.
        for piece in SegmentPlanner().plan(situation) { start(piece, context, &step) }
    }

    private mutating func start(
        _ piece: SegmentPlanner.Start, _ context: FetchContext, _ step: inout FetchStep
    ) {
        let range = piece.range
        let ask = RangeRequest.plan(
            from: range.lowerBound, to: piece.toEnd ? nil : range.upperBound, held: bytes.have,
            validator: bytes.state.validator, origin: asked(context), scheme: .http,
            heldCoding: bytes.state.contentCoding)
        // Without If-Range two versions could meet in one file.
        guard ask.isConditional, bytes.rangesProven || asked(context)?.ignoresRanges != true
        else {
            connections.rangesRefused = true
            return
        }
        send(ask, isParallel: true, context, &step)
    }

    /// Another sample may lead to another connection.
    var isTryingConnections: Bool {
        bytes.state.bytesTotal.map { connections.isTrying(for: target, total: $0) } == true
            && maySplit
    }

    /// No more than work without it, for a while.
    mutating func noteRefused(_ segment: ActiveSegment, _ context: FetchContext) {
        let working = segments.count { $0.isWriting && $0.key != segment.key }
        connections.refused(beside: working, held: bytes.have.count, at: context.now.monotonic)
    }

    mutating func heard(_ index: Int, at now: Instant) {
        connections.heard(after: now - segments[index].heardAt)
        segments[index].heardAt = now
    }

    /// Ends one request that has been silent for too long. Free connections ask for what it has not
    /// written. The origin is not blamed, and nothing is backed off. Returns whether a request is
    /// on its way out: until it has ended, what is missing is not known.
    private mutating func giveUpSilent(_ context: FetchContext, _ step: inout FetchStep) -> Bool {
        if segments.contains(where: \.isGivenUp) { return true }
        guard connections.hasEndedWell,
            segments.count < connections.count(for: target, context),
            !run.isToPause(at: context.now.wall),
            asked(context)?.isCooling(at: context.now.wall) != true,
            let silent = connections.giveUpSilent(among: segments, at: context.now.monotonic)
        else { return false }
        let key = segments[silent].key
        return segments.giveUp(where: { $0.key == key }, &step)
    }
}
