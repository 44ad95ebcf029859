/// The life of an upload: open the source, converse with the server, and leave. What is asked and
/// what answers mean is for its ``UploadConversation`` to say. Only parts are sent beside each
/// other; any other request goes out alone.
struct UploadMachine {
    var stage: FetchStage
    var leaving: FetchLeaving?
    var wire: FetchWire

    static func begin(_ target: FetchTarget) -> FetchStep {
        var step = FetchStep()
        let snapshot = target.request.options.upload?.snapshotPath
        step.effects.append(.openSource(path: snapshot ?? target.destination))
        return step
    }

    /// Handles an event of a fetch that is an upload.
    static func step(
        _ fetch: inout FetchMachine, _ event: FetchEvent, _ context: FetchContext
    ) -> FetchStep {
        var step = FetchStep()
        var machine = UploadMachine(stage: fetch.stage, leaving: fetch.leaving, wire: fetch.wire)
        machine.react(to: event, context, &step)
        (fetch.stage, fetch.leaving, fetch.wire) = (machine.stage, machine.leaving, machine.wire)
        step.nextTick = fetch.nextTick
        return step
    }

    var transfer: TransferID { wire.target.transfer }
    var request: TransferRequest { _read { yield wire.target.request } }
    var state: FetchState { _read { yield wire.bytes.state } }
    var have: ByteRanges { wire.bytes.have }

    private mutating func react(
        to event: FetchEvent, _ context: FetchContext, _ step: inout FetchStep
    ) {
        switch event {
        case .opened(let version): opened(version, context, &step)
        case .prepareFailed(let fault):
            guard stage == .preparing else { return }
            let isLost = request.options.upload?.snapshotPath != nil && fault.code == .sourceChanged
            leaving =
                leaving
                ?? (isLost
                    ? .fail(.snapshotLost)
                    : wire.target.leaving(after: fault, bytesKept: have.count))
            stage = .settling
            settleUpload(context, &step)
        case .head(let key, let head): noteHead(key, head, at: context.now.monotonic)
        case .interim(let key, let head): interim(key, head, context, &step)
        case .ended(let key, let end): uploadEnded(key, end, context, &step)
        case .leave(let departure): departUpload(departure, context, &step)
        case .tick: ticked(context, &step)
        case .verified: verified(context, &step)
        case .mismatched(let expected, let actual, _):
            notChecked(.fail(UploadFailure.otherSource(expected, actual).error), context, &step)
        case .verifyFailed(let fault):
            notChecked(leaving(after: fault), context, &step)
        case .progress, .prepared, .reserved, .reserveFailed, .truncated, .truncateFailed, .synced,
            .syncFailed, .secured, .secureFailed,
            .published, .occupied, .publishFailed, .displaced, .foundPublished, .filled,
            .fillFailed, .copied, .copyFailed, .handedOut, .handOutFailed:
            break
        }
    }

    // MARK: - The conversation

    /// The budget of the origin may allow another part by now.
    private mutating func ticked(_ context: FetchContext, _ step: inout FetchStep) {
        wire.bytes.checkpoints.ticked(at: context.now.monotonic)
        guard stage == .moving, wire.upload.underWay.contains(where: { $0.part != nil })
        else { return }
        wire.connections.observe(held: have.count, at: context.now.monotonic)
        converse(context, &step)
    }

    /// The upload in its protocol, once the source is open.
    var conversation: any UploadConversation {
        guard let upload = state.upload, let job = UploadJob(request, upload, transfer) else {
            preconditionFailure("an upload converses once its source is open")
        }
        return upload.conversation(job, offset: have.prefix)
    }

    /// Asks what is to be asked next, and parts as often as the budgets allow.
    mutating func converse(_ context: FetchContext, _ step: inout FetchStep) {
        if wire.segments.isEmpty, let reason = reasonToPause(context) {
            return leaveUpload(reason, context, &step)
        }
        while stage == .moving, mayAsk(context), let exchange = nextExchange(context) {
            if wire.upload.isRepeated(exchange) {
                let failure = wire.upload.lastFailure ?? UploadFailure.noGain
                return leaveUpload(leaving(after: failure), context, &step)
            }
            if state.upload?.forbids(exchange) == true {
                return leaveUpload(.fail(UploadFailure.unknownEnd(nil).error), context, &step)
            }
            send(exchange, context, &step)
        }
        if stage == .moving, wire.segments.isEmpty { completeUpload(nil, [], context, &step) }
    }

    private func mayAsk(_ context: FetchContext) -> Bool {
        if wire.segments.isEmpty { return true }
        return wire.segments.count < wire.connections.most(for: wire.target, context)
            && wire.upload.draining == nil && !wire.run.isToPause(at: context.now.wall)
    }

    /// Parts were refused, and those beside them have come to their ends.
    private func reasonToPause(_ context: FetchContext) -> FetchLeaving? {
        if let pause = wire.run.pause, wire.run.isToPause(at: context.now.wall) {
            return .pause(pause)
        }
        return wire.upload.draining.map { leaving(after: $0) }
    }

    private mutating func nextExchange(_ context: FetchContext) -> UploadExchange? {
        let job = conversation.standing.job
        wire.bytes.state.upload?.start(job, known: context.origin.uploads)
        return conversation.next(beside: wire.upload.underWay)
    }

    private mutating func uploadEnded(
        _ key: SegmentKey, _ end: SegmentEnd, _ context: FetchContext, _ step: inout FetchStep
    ) {
        guard let segment = remove(key, end, &step) else { return }
        let ended = wire.upload.ended(key)
        if end.failure == .withdrawn {
            noteWithdrawn(ended?.exchange)
            if leaving == nil { return leaveUpload(.requeue, context, &step) }
        }
        guard let (exchange, heldBefore) = ended, end.failure != .withdrawn else {
            if stage == .moving { converse(context, &step) }
            return settleUpload(context, &step)
        }
        if isAboutDirectories(exchange, end, segment, context, &step) { return }
        var conversation = conversation
        let head = segment.head
        let verdict = conversation.verdict(
            on: EndedExchange(exchange, end, head, floor: wire.upload.floor),
            expecting: request.options.checksum)
        step.writes.append(
            .attempt(transfer, segment.outcome(exchange, end, verdict, at: context.now.wall)))
        absorb(conversation, context, &step)
        if let head, head.scheme == .http, exchange.purpose != .discover {
            var response = TransferResponse(head, length: nil)
            response.body = end.answer
            wire.bytes.state.response = response
        }
        // The answer may have crossed with the order to leave: a pause does not undo the server's
        // bytes.
        let isLeft = leaving?.isCancel == true || wire.upload.isSuperseded
        let completes = verdict == .done && !isLeft
        if !completes {
            step.writes.append(.save(state))
            if state.upload?.address != nil { step.durable = true }
        }
        guard stage == .moving || completes else { return settleUpload(context, &step) }
        switch verdict {
        case .done: completeUpload(head, end.answer, context, &step)
        case .goOn:
            // The count includes the request that has ended.
            if exchange.part != nil { wire.connections.worked(wire.segments.count + 1) }
            goOn(after: exchange, context, &step)
        case .askAfter(let failure):
            wire.upload.askAfter(failure, heldBefore: heldBefore)
            if let part = exchange.part { wire.upload.refused(part: part, by: failure) }
            converse(context, &step)
        case .conflict(let failure):
            if wire.upload.conflict(failure) {
                leaveUpload(.retry(failure), context, &step)
            } else {
                converse(context, &step)
            }
        case .failed(let failure):
            if let part = exchange.part, failure.kind == .transient, !wire.segments.isEmpty {
                refused(part, by: failure, context, &step)
            } else {
                leaveUpload(leaving(after: failure), context, &step)
            }
        }
    }

    /// The request was never sent; clear `mayHaveArrived`. A request that may have been sent before
    /// would not have been asked again.
    private mutating func noteWithdrawn(_ exchange: UploadExchange?) {
        guard exchange?.purpose == .whole, exchange?.body.mayRepeat == false else { return }
        wire.bytes.state.upload?.mayHaveArrived = false
    }

    /// The parts beside it go on, and fewer are sent at a time.
    private mutating func refused(
        _ part: Int, by failure: Failure, _ context: FetchContext, _ step: inout FetchStep
    ) {
        wire.connections.refused(
            beside: wire.segments.count, held: have.count, at: context.now.monotonic)
        wire.run.askedPause(by: failure, at: context.now.wall)
        wire.upload.refused(part: part, by: failure)
        converse(context, &step)
    }

    /// After an answer that the server is well with.
    private mutating func goOn(
        after exchange: UploadExchange, _ context: FetchContext, _ step: inout FetchStep
    ) {
        // The question followed a break: without a gain the break is a failure like any other.
        let isAnswered = exchange.purpose == .ask || exchange.purpose == .list
        if isAnswered, state.upload?.progress.kept.mustAsk == false,
            let failure = wire.upload.settle(held: have.count, of: state.bytesTotal)
        {
            return leaveUpload(leaving(after: failure), context, &step)
        }
        converse(context, &step)
    }

    private mutating func completeUpload(
        _ head: ResponseHead?, _ answer: [UInt8], _ context: FetchContext,
        _ step: inout FetchStep
    ) {
        stage = .left
        acknowledge(ByteRanges(0..<(state.bytesTotal ?? 0)), &step)
        step.isWhole = true
        // The row is now of use only for the answer, which the transfer takes over, and to tell
        // that it is an upload's: an upload whose URL was changed meanwhile is not completed.
        wire.bytes.state.upload = UploadState()
        step.writes.append(.save(state))
        if let origin = wire.asked(context) {
            step.writes.append(
                .originWorked(
                    origin: origin.origin, bytesPerSecond: nil,
                    http2: (head?.httpVersion ?? 0) >= 20))
        }
        step.writes.append(.completed(transfer, path: wire.target.destination, wire.bytes.totals))
        step.durable = true
        step.effects.append(.close(deletingPart: false))
    }

    // MARK: - Leaving

    private mutating func departUpload(
        _ departure: FetchDeparture, _ context: FetchContext, _ step: inout FetchStep
    ) {
        switch departure {
        case .requeue, .renew:
            if departure == .renew { wire.upload.isSuperseded = true }
            if leaving == nil || leaving?.isCancel == true { leaveUpload(.requeue, context, &step) }
        case .cancel(let keepingBytes):
            leaveUpload(.cancel(keepingBytes: keepingBytes), context, &step)
        case .expire: leaveUpload(.fail(.deadlinePassed(on: wire)), context, &step)
        }
    }

    mutating func leaveUpload(
        _ leaving: FetchLeaving, _ context: FetchContext, _ step: inout FetchStep
    ) {
        self.leaving = leaving
        // The outcome of the opening is awaited: it finds `leaving`.
        if stage == .preparing { return }
        let wasMoving = stage == .moving
        if wasMoving { noteStop(leaving, context, &step) }
        stage = .settling
        if wire.segments.isEmpty {
            settleUpload(context, &step)
        } else if wasMoving {
            step.effects.append(.stop(wire.segments.map(\.key)))
        }
    }

    /// The wire is quiet. What the server holds of a cancelled upload is deleted there once the
    /// fetch is dropped, see ``AbandonedUpload``.
    mutating func settleUpload(_ context: FetchContext, _ step: inout FetchStep) {
        guard stage == .settling, wire.segments.isEmpty, let leaving else { return }
        stage = .left
        step.exit(&wire, leaving, context)
    }

    // MARK: - On the wire

    mutating func send(
        _ exchange: UploadExchange, _ context: FetchContext, _ step: inout FetchStep
    ) {
        assert(state.partPath.isEmpty, "an upload has no part file")
        assert(stage == .moving, "requests are sent between opening and leaving")
        let key = SegmentKey(fetch: wire.bytes.state.id, serial: wire.nextSerial)
        wire.nextSerial += 1
        wire.bytes.state.attempts += 1
        wire.segments.append(
            ActiveSegment(
                key: key, number: wire.bytes.state.attempts,
                ask: RangeRequest(proof: .nothingHeld, position: exchange.range.lowerBound),
                url: exchange.url, startedAt: context.now, isParallel: !wire.segments.isEmpty))
        wire.run.requested(at: context.now.monotonic)
        wire.upload.sent(exchange, as: key, held: have.count)
        record(exchange, &step)
        step.effects.append(.send(UploadAsk(key: key, exchange: exchange)))
    }

    /// Records what has to be known of the request after a crash.
    private mutating func record(_ exchange: UploadExchange, _ step: inout FetchStep) {
        // A part is stored whole or not at all: nothing has to be remembered of it.
        if exchange.part != nil { return }
        let isForgettable = isForgettable(exchange)
        let mayFinish = exchange.purpose == .whole || exchange.address != nil
        let before = state.upload
        var conversation = conversation
        conversation.begins(exchange)
        wire.bytes.state.upload?.adopt(conversation)
        if mayFinish { wire.bytes.state.upload?.mayHaveArrived = true }
        if isForgettable || !mayFinish && state.upload == before { return }
        step.writes.append(.save(state))
        let isCostly = exchange.range.count > Limits.uploadAtOnceBytes
        step.durable = step.durable || isCostly || !exchange.body.mayRepeat
    }

    mutating func noteHead(_ key: SegmentKey, _ head: ResponseHead, at now: Instant) {
        guard let index = wire.segments.firstIndex(where: { $0.key == key }) else { return }
        wire.segments[index].head = head
        wire.heard(index, at: now)
        wire.run.lastHTTPVersion = head.httpVersion
    }

    /// The server tells on the way of a resource, or how far it is.
    private mutating func interim(
        _ key: SegmentKey, _ head: ResponseHead, _ context: FetchContext, _ step: inout FetchStep
    ) {
        guard let index = wire.segments.firstIndex(where: { $0.key == key }),
            wire.upload.exchanges[key] != nil
        else { return }
        wire.heard(index, at: context.now.monotonic)
        var conversation = conversation
        conversation.interim(head)
        let address = conversation.progress.kept.address
        let isNew = address != state.upload?.address
        guard isNew || conversation.acknowledged != have else { return }
        absorb(conversation, context, &step)
        step.writes.append(.save(state))
        if isNew { step.durable = true }
    }

    mutating func remove(
        _ key: SegmentKey, _ end: SegmentEnd, _ step: inout FetchStep
    ) -> ActiveSegment? {
        guard let index = wire.segments.firstIndex(where: { $0.key == key }) else { return nil }
        wire.count(end.bytesSent, of: index)
        let segment = wire.segments.remove(at: index)
        // The request's count is saved with the result of its end.
        step.effects.append(.release([key]))
        if end.failure == .withdrawn, segment.number == wire.bytes.state.attempts {
            wire.bytes.state.attempts -= 1
        }
        return segment
    }

    /// After a crash the whole file is sent again, and nothing has to be known for that: small
    /// files go out without a commit before each.
    private func isForgettable(_ exchange: UploadExchange) -> Bool {
        exchange.body.mayRepeat && exchange.address == nil && state.upload?.address == nil
            && exchange.range.count <= Limits.uploadAtOnceBytes
    }

    /// Adopts what an answer has told. The caller saves it.
    mutating func absorb(
        _ conversation: any UploadConversation, _ context: FetchContext, _ step: inout FetchStep
    ) {
        let standing = conversation.standing
        wire.bytes.state.upload?.adopt(conversation)
        wire.bytes.state.isPrefetched = false
        if let lost = standing.lost {
            wire.upload.floor = 0
            let others = wire.upload.forgetAll()
            if !others.isEmpty { step.effects.append(.stop(others)) }
            lose(lost, &step)
        } else {
            acknowledge(conversation.acknowledged, &step)
        }
        if let learned = standing.learned, learned != context.origin.uploads {
            step.writes.append(.learn(origin: context.origin.origin, .uploads(learned)))
        }
    }

    /// The server has these bytes. They may be fewer than it said before: that is recorded.
    mutating func acknowledge(_ told: ByteRanges, _ step: inout FetchStep) {
        let (before, after) = (wire.bytes.have.count, told.count)
        assert(after <= state.bytesTotal ?? .max, "the server has no more than the file")
        if told == wire.bytes.have { return }
        wire.upload.acknowledged(after, of: state.bytesTotal)
        if after < before {
            wire.bytes.state.restarts += 1
            step.writes.append(
                .restarted(
                    wire.target.transfer,
                    reason: "the server has fewer bytes than it had acknowledged",
                    bytesLost: before - after))
            step.durable = true
        }
        wire.bytes.have = told
        wire.bytes.state.durable = told
    }

    /// Drops the bytes that the server had of the upload: they are worth nothing any more.
    mutating func lose(_ reason: String, _ step: inout FetchStep) {
        let lost = wire.bytes.have.count
        if lost > 0 || wire.bytes.state.upload?.address != nil {
            wire.bytes.state.restarts += 1
            step.writes.append(.restarted(wire.target.transfer, reason: reason, bytesLost: lost))
            step.durable = true
        }
        wire.bytes.have = ByteRanges()
        wire.bytes.state.durable = ByteRanges()
    }

    func leaving(after failure: Failure) -> FetchLeaving {
        switch failure.kind {
        case .transient, .restartFromZero: return .retry(failure)
        case .needsInput: return .needInput(failure.error)
        case .permanent:
            let restarts = wire.target.request.options.upload?.ifChanged == .restart
            if failure.error.code == .sourceChanged, restarts {
                return .retry(Failure(.transient, failure.error))
            }
            return .fail(failure.error)
        case .waitForStorage, .localFault:
            return leaving(
                after: LocalFault(code: failure.error.code, message: failure.error.message))
        }
    }
}
