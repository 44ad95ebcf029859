/// Several requests for one file: all under the same strong validator, each for its own range.
extension FetchMachine {
    /// Requests that this fetch may have on the wire at a time, whatever the origin's budget.
    package var connectionsMax: Int {
        switch request.options.connections {
        // A limited transfer gains nothing by more.
        case .automatic: request.options.limitRate == nil ? Limits.automaticSegments : 1
        case .exactly(let count): min(max(1, count), Limits.segmentsPerFetch)
        }
    }

    /// Whether a part may be asked for beside another: ranges were answered, or at least promised,
    /// and a strong validator says that the parts belong together.
    private var maySplit: Bool {
        guard !rangesRefused, held == nil, fromZero == nil, state.validator?.isStrong == true,
            ResponseHead.Scheme(of: url) == .http
        else { return false }
        return rangesProven || rangesOffered
    }

    /// Whether a request that is taken off the wire is known to cost no byte.
    package var goesOnWhenAskedAgain: Bool {
        rangesProven || rangesOffered && state.validator?.isStrong == true
    }

    /// Another connection, where it helps; what is slow is halved again.
    mutating func split(_ context: FetchContext, _ step: inout FetchStep) {
        guard stage == .moving, leaving == nil, let total = state.bytesTotal, maySplit,
            !giveUpSilent(context, &step), !isToPause(context), segments.allSatisfy(\.isWriting)
        else { return }
        ceiling.look(held: have.count, now: context.now.monotonic)
        let allowed = connectionsNow(total: total, context)
        guard segments.count < allowed else { return }
        let situation = SegmentPlanner.Situation(
            total: total, have: have,
            active: segments.map { $0.asActive(total: total, now: context.now.monotonic) },
            allowed: allowed)
        // Who fetches those bytes leaves them once another has proven that it brings them: see
        // `takeOver`.
        for piece in SegmentPlanner().plan(situation) { start(piece, context, &step) }
    }

    private mutating func start(
        _ piece: SegmentPlanner.Start, _ context: FetchContext, _ step: inout FetchStep
    ) {
        let range = piece.range
        let ask = RangeRequest.plan(
            from: range.lowerBound, to: piece.toEnd ? nil : range.upperBound, held: have,
            validator: state.validator, origin: asked(context), scheme: .http,
            heldCoding: state.contentCoding)
        // Without If-Range two versions could meet in one file.
        guard ask.isConditional, rangesProven || asked(context)?.ignoresRanges != true else {
            rangesRefused = true
            return
        }
        send(ask, isParallel: true, context, &step)
    }

    private mutating func connectionsNow(total: Int64, _ context: FetchContext) -> Int {
        if case .automatic = request.options.connections { sampleThroughput(total: total, context) }
        return connectionsNow(context)
    }

    /// As many as the last sample has left it at, and as the server has not refused.
    func connectionsNow(_ context: FetchContext) -> Int {
        let most = min(
            connectionsMax, max(1, context.connectionsAllowed), ceiling.allowed ?? .max)
        return switch request.options.connections {
        case .exactly: most
        case .automatic: min(most, auto.allowed)
        }
    }

    /// No more than work without it, for a while.
    mutating func noteRefused(_ segment: ActiveSegment, _ context: FetchContext) {
        let working = segments.count { $0.isWriting && $0.key != segment.key }
        ceiling.refused(
            beside: working, held: have.count, now: context.now.monotonic)
    }

    /// Whether another sample may lead to another connection.
    var isTryingConnections: Bool {
        guard case .automatic = request.options.connections, connectionsMax > 1, !auto.isSettled,
            ceiling.allowed ?? .max >= auto.allowed, let total = state.bytesTotal,
            total >= 2 * Limits.minSplitBytes
        else { return false }
        return maySplit
    }

    private mutating func sampleThroughput(total: Int64, _ context: FetchContext) {
        let now = context.now.monotonic
        guard let last = lastSample else {
            lastSample = ThroughputSample(at: now, bytes: have.count)
            return
        }
        let seconds = now - last.at
        guard seconds >= Limits.splitTickSeconds / 2 else { return }
        auto.sample(
            bytesPerSecond: Double(have.count - last.bytes) / seconds,
            remaining: total - have.count, running: segments.count, now: now)
        lastSample = ThroughputSample(at: now, bytes: have.count)
    }
}

/// How many bytes were held at a moment.
struct ThroughputSample: Hashable, Sendable {
    var at: Instant
    var bytes: Int64
}

extension ActiveSegment {
    /// Enough to say that it was let in, and merely cut off when it ended early.
    var hasBroughtAPiece: Bool { isWriting && written - start >= Limits.minPieceBytes }

    func asActive(total: Int64, now: Instant) -> SegmentPlanner.Active {
        let seconds = now - begunAt
        return SegmentPlanner.Active(
            range: start..<max(start, end ?? total), written: written,
            bytesPerSecond: seconds > 0.5 ? Double(written - start) / seconds : nil)
    }
}

/// A completed file in the place of a transfer.
extension FetchMachine {
    mutating func filled(_ step: inout FetchStep) {
        guard stage == .moving, segments.isEmpty, have.isEmpty, let kept else { return }
        self.kept = nil
        fromZero = nil
        state.validator = kept.validator
        state.validator?.length = kept.length
        state.bytesTotal = kept.length
        state.askedURL = request.url
        have = ByteRanges(0..<kept.length)
        state.durable = have
        step.writes.append(.save(state))
        finish(&step)
    }

    /// The file is not what it was, or cannot be read: asked for as if there were none.
    mutating func fillFailed(
        _ fault: LocalFault, _ context: FetchContext, _ step: inout FetchStep
    ) {
        guard stage == .moving, segments.isEmpty, kept != nil else { return }
        kept = nil
        if fault.code == .noSpace {
            failedLocally(fault, context, &step)
        } else {
            askNext(context, &step)
        }
    }
}
