/// The life of an upload: open the source, converse with the server, and leave. What is asked and
/// what answers mean is for its ``UploadConversation`` to say. Only parts are sent beside each
/// other; any other request goes out alone.
package struct UploadMachine: Sendable {
    var frame: FetchFrame
    /// The requests that are out.
    var requests: [ActiveExchange] = []
    var course = UploadRun()
    /// The server has taken the file.
    private var isComplete = false

    init(frame: FetchFrame) {
        self.frame = frame
    }

    var stage: FetchStage {
        get { frame.stage }
        set { frame.stage = newValue }
    }

    var leaving: FetchLeaving? {
        get { frame.leaving }
        set { frame.leaving = newValue }
    }

    var transfer: TransferID { frame.target.transfer }
    var request: TransferRequest { frame.target.request }
    var state: FetchState { frame.bytes.state }
    var have: ByteRanges { frame.bytes.have }

    var status: FetchStatus {
        var status = FetchStatus(frame)
        status.requests = requests.count
        status.nextTick = nextTick
        status.isWhole = isComplete
        return status
    }

    /// When to look whether another part may be sent; `nil` while off the wire.
    var nextTick: Instant? {
        guard stage == .moving, !requests.isEmpty else { return nil }
        return frame.bytes.checkpoints.nextTick(after: Limits.tickSeconds)
    }

    /// A request carries the whole file, and the server has no resource to continue it in: leaving
    /// the wire would cost all bytes sent.
    ///
    /// - Parameter once: Only one that may not be repeated, whose end that would be.
    package func isSendingWhole(once: Bool) -> Bool {
        guard stage == .moving, let upload = state.upload, upload.address == nil else {
            return false
        }
        return course.underWay.contains { $0.purpose == .whole && !(once && $0.body.mayRepeat) }
    }

    /// The first step: open the source.
    mutating func begin() {
        let snapshot = request.options.upload?.snapshotPath
        frame.step.effects.append(.openSource(path: snapshot ?? frame.target.destination))
    }

    mutating func react(to event: FetchEvent, in context: FetchContext) {
        switch event {
        case .opened(let version): opened(version, context)
        case .prepareFailed(let fault):
            guard stage == .preparing else { return }
            let isLost = request.options.upload?.snapshotPath != nil && fault.code == .sourceChanged
            leaving =
                leaving
                ?? (isLost
                    ? .fail(.snapshotLost)
                    : frame.target.leaving(after: fault, bytesKept: have.count))
            stage = .settling
            settleUpload(context)
        case .head(let key, let head):
            guard let index = requests.firstIndex(where: { $0.key == key }) else { return }
            requests[index].head = head
            frame.run.lastHTTPVersion = head.httpVersion
        case .interim(let key, let head): interim(key, head, context)
        case .ended(let key, let end): uploadEnded(key, end, context)
        case .leave(let departure): departUpload(departure, context)
        case .tick: ticked(context)
        case .verified: verified(context)
        case .mismatched(let expected, let actual, _):
            notChecked(.fail(UploadFailure.otherSource(expected, actual).error), context)
        case .verifyFailed(let fault):
            let leaving = frame.target.leaving(afterSource: fault, bytesKept: have.count)
            notChecked(leaving, context)
        case .progress, .prepared, .reserved, .reserveFailed, .truncated, .truncateFailed, .synced,
            .syncFailed, .secured, .secureFailed, .published, .occupied, .publishFailed,
            .displaced, .foundPublished, .filled, .fillFailed, .copied, .copyFailed, .handedOut,
            .handOutFailed:
            break
        }
    }

    // MARK: - The conversation

    /// The budget of the origin may allow another part by now.
    private mutating func ticked(_ context: FetchContext) {
        frame.bytes.checkpoints.ticked(at: context.now.monotonic)
        guard stage == .moving, course.underWay.contains(where: { $0.part != nil })
        else { return }
        frame.connections.observe(held: have.count, at: context.now.monotonic)
        converse(context)
    }

    /// The upload in its protocol, once the source is open.
    var conversation: any UploadConversation {
        guard let upload = state.upload, let job = UploadJob(request, upload, transfer) else {
            preconditionFailure("an upload converses once its source is open")
        }
        return upload.conversation(job, offset: have.prefix)
    }

    /// Asks what is to be asked next, and parts as often as the budgets allow.
    mutating func converse(_ context: FetchContext) {
        if requests.isEmpty, let reason = reasonToPause(context) {
            return leaveUpload(reason, context)
        }
        while stage == .moving, mayAsk(context), let exchange = nextExchange(context) {
            if course.isRepeated(exchange) {
                let failure = course.lastFailure ?? UploadFailure.noGain
                return leaveUpload(leaving(after: failure), context)
            }
            if state.upload?.forbids(exchange) == true {
                return leaveUpload(.fail(UploadFailure.unknownEnd(nil).error), context)
            }
            send(exchange, context)
        }
        if stage == .moving, requests.isEmpty { completeUpload(nil, [], context) }
    }

    private func mayAsk(_ context: FetchContext) -> Bool {
        if requests.isEmpty { return true }
        return requests.count < frame.connections.most(for: frame.target, context)
            && course.draining == nil && !frame.run.isToPause(at: context.now.wall)
    }

    /// Parts were refused, and those beside them have come to their ends.
    private func reasonToPause(_ context: FetchContext) -> FetchLeaving? {
        if let pause = frame.run.pause, frame.run.isToPause(at: context.now.wall) {
            return .pause(pause)
        }
        return course.draining.map { leaving(after: $0) }
    }

    private mutating func nextExchange(_ context: FetchContext) -> UploadExchange? {
        let job = conversation.standing.job
        frame.bytes.state.upload?.start(job, known: context.origin.uploads)
        return conversation.next(beside: course.underWay)
    }

    private mutating func uploadEnded(
        _ key: SegmentKey, _ end: SegmentEnd, _ context: FetchContext
    ) {
        guard let request = remove(key, end) else { return }
        let ended = course.ended(key)
        if end.failure == .withdrawn {
            noteWithdrawn(ended?.exchange)
            if leaving == nil { return leaveUpload(.requeue, context) }
        }
        guard let (exchange, heldBefore) = ended, end.failure != .withdrawn else {
            if stage == .moving { converse(context) }
            return settleUpload(context)
        }
        if isAboutDirectories(request, end, context) { return }
        var conversation = conversation
        let head = request.head
        let verdict = conversation.verdict(
            on: EndedExchange(exchange, end, head, floor: course.floor),
            expecting: frame.target.request.options.checksum)
        frame.step.writes.append(
            .attempt(transfer, request.outcome(end, verdict, at: context.now.wall)))
        absorb(conversation, context)
        if let head, head.scheme == .http, exchange.purpose != .discover {
            var response = TransferResponse(head, length: nil)
            response.body = end.answer
            frame.bytes.state.response = response
        }
        // The answer may have crossed with the order to leave: a pause does not undo the server's
        // bytes.
        let isLeft = leaving?.isCancel == true || course.isSuperseded
        let completes = verdict == .done && !isLeft
        if !completes {
            frame.save()
            if state.upload?.address != nil { frame.step.durable = true }
        }
        guard stage == .moving || completes else { return settleUpload(context) }
        switch verdict {
        case .done: completeUpload(head, end.answer, context)
        case .goOn:
            // The count includes the request that has ended.
            if exchange.part != nil { frame.connections.worked(requests.count + 1) }
            goOn(after: exchange, context)
        case .askAfter(let failure):
            course.askAfter(failure, heldBefore: heldBefore)
            if let part = exchange.part { course.refused(part: part, by: failure) }
            converse(context)
        case .conflict(let failure):
            if course.conflict(failure) {
                leaveUpload(.retry(failure), context)
            } else {
                converse(context)
            }
        case .failed(let failure):
            if let part = exchange.part, failure.kind == .transient, !requests.isEmpty {
                refused(part, by: failure, context)
            } else {
                leaveUpload(leaving(after: failure), context)
            }
        }
    }

    /// The request was never sent; clear `mayHaveArrived`. A request that may have been sent before
    /// would not have been asked again.
    private mutating func noteWithdrawn(_ exchange: UploadExchange?) {
        guard exchange?.purpose == .whole, exchange?.body.mayRepeat == false else { return }
        frame.bytes.state.upload?.mayHaveArrived = false
    }

    /// The parts beside it go on, and fewer are sent at a time.
    private mutating func refused(_ part: Int, by failure: Failure, _ context: FetchContext) {
        frame.connections.refused(
            beside: requests.count, held: have.count, at: context.now.monotonic)
        frame.run.askedPause(by: failure, at: context.now.wall)
        course.refused(part: part, by: failure)
        converse(context)
    }

    /// After an answer that the server is well with.
    private mutating func goOn(after exchange: UploadExchange, _ context: FetchContext) {
        // The question followed a break: without a gain the break is a failure like any other.
        let isAnswered = exchange.purpose == .ask || exchange.purpose == .list
        if isAnswered, state.upload?.progress.kept.mustAsk == false,
            let failure = course.settle(held: have.count, of: state.bytesTotal)
        {
            return leaveUpload(leaving(after: failure), context)
        }
        converse(context)
    }

    private mutating func completeUpload(
        _ head: ResponseHead?, _ answer: [UInt8], _ context: FetchContext
    ) {
        stage = .left
        acknowledge(ByteRanges(0..<(state.bytesTotal ?? 0)))
        isComplete = true
        // The row is now of use only for the answer, which the transfer takes over, and to tell
        // that it is an upload's: an upload whose URL was changed meanwhile is not completed.
        frame.bytes.state.upload = UploadState()
        frame.save()
        if let origin = frame.asked(context) {
            frame.step.writes.append(
                .originWorked(
                    origin: origin.origin, bytesPerSecond: nil,
                    http2: (head?.httpVersion ?? 0) >= 20))
        }
        frame.step.writes.append(
            .completed(transfer, path: frame.target.destination, frame.bytes.totals))
        frame.step.durable = true
        frame.step.effects.append(.close(deletingPart: false))
    }

    // MARK: - Leaving

    private mutating func departUpload(_ departure: FetchDeparture, _ context: FetchContext) {
        switch departure {
        case .requeue, .renew:
            if departure == .renew { course.isSuperseded = true }
            if leaving == nil || leaving?.isCancel == true { leaveUpload(.requeue, context) }
        case .cancel(let keepingBytes):
            leaveUpload(.cancel(keepingBytes: keepingBytes), context)
        case .expire: leaveUpload(.fail(.deadlinePassed(on: frame)), context)
        }
    }

    mutating func leaveUpload(_ leaving: FetchLeaving, _ context: FetchContext) {
        self.leaving = leaving
        // The outcome of the opening is awaited: it finds `leaving`.
        if stage == .preparing { return }
        let wasMoving = stage == .moving
        if wasMoving { noteStop(leaving, context) }
        stage = .settling
        if requests.isEmpty {
            settleUpload(context)
        } else if wasMoving {
            frame.step.effects.append(.stop(requests.map(\.key)))
        }
    }

    /// The wire is quiet. What the server holds of a cancelled upload is deleted there once the
    /// fetch is dropped, see ``AbandonedUpload``.
    mutating func settleUpload(_ context: FetchContext) {
        guard stage == .settling, requests.isEmpty, let leaving else { return }
        stage = .left
        frame.exit(leaving, context)
    }

    // MARK: - On the wire

    mutating func send(_ exchange: UploadExchange, _ context: FetchContext) {
        assert(state.partPath.isEmpty, "an upload has no part file")
        let key = frame.beginRequest(at: context.now.monotonic)
        requests.append(
            ActiveExchange(
                key: key, number: state.attempts, exchange: exchange,
                startedAt: context.now.wall))
        course.sent(exchange, as: key, held: have.count)
        record(exchange)
        frame.step.effects.append(.send(UploadAsk(key: key, exchange: exchange)))
    }

    /// Records what has to be known of the request after a crash.
    private mutating func record(_ exchange: UploadExchange) {
        // A part is stored whole or not at all: nothing has to be remembered of it.
        if exchange.part != nil { return }
        let isForgettable = isForgettable(exchange)
        let mayFinish = exchange.purpose == .whole || exchange.address != nil
        let before = state.upload
        var conversation = conversation
        conversation.begins(exchange)
        frame.bytes.state.upload?.adopt(conversation)
        if mayFinish { frame.bytes.state.upload?.mayHaveArrived = true }
        if isForgettable || !mayFinish && state.upload == before { return }
        frame.save()
        let isCostly = exchange.range.count > Limits.uploadAtOnceBytes
        frame.step.durable = frame.step.durable || isCostly || !exchange.body.mayRepeat
    }

    /// The server tells on the way of a resource, or how far it is.
    private mutating func interim(
        _ key: SegmentKey, _ head: ResponseHead, _ context: FetchContext
    ) {
        guard course.exchanges[key] != nil else { return }
        var conversation = conversation
        conversation.interim(head)
        let address = conversation.progress.kept.address
        let isNew = address != state.upload?.address
        guard isNew || conversation.acknowledged != have else { return }
        absorb(conversation, context)
        frame.save()
        if isNew { frame.step.durable = true }
    }

    mutating func remove(_ key: SegmentKey, _ end: SegmentEnd) -> ActiveExchange? {
        guard let index = requests.firstIndex(where: { $0.key == key }) else { return nil }
        count(end.bytesSent, of: key)
        let request = requests.remove(at: index)
        // The request's count is saved with the result of its end.
        frame.step.effects.append(.release([key]))
        if end.failure == .withdrawn, request.number == state.attempts {
            frame.bytes.state.attempts -= 1
        }
        return request
    }

    /// Counts the body bytes that a request has sent by now.
    mutating func count(_ sent: Int64, of key: SegmentKey) {
        guard let index = requests.firstIndex(where: { $0.key == key }) else { return }
        let more = max(0, sent - requests[index].received)
        requests[index].received += more
        frame.bytes.state.bytesFetched += more
    }

    /// After a crash the whole file is sent again, and nothing has to be known for that: small
    /// files go out without a commit before each.
    private func isForgettable(_ exchange: UploadExchange) -> Bool {
        exchange.body.mayRepeat && exchange.address == nil && state.upload?.address == nil
            && exchange.range.count <= Limits.uploadAtOnceBytes
    }

    /// Adopts what an answer has told. The caller saves it.
    mutating func absorb(_ conversation: any UploadConversation, _ context: FetchContext) {
        let standing = conversation.standing
        frame.bytes.state.upload?.adopt(conversation)
        frame.bytes.state.isPrefetched = false
        if let lost = standing.lost {
            course.floor = 0
            let others = course.forgetAll()
            if !others.isEmpty { frame.step.effects.append(.stop(others)) }
            lose(lost)
        } else {
            acknowledge(conversation.acknowledged)
        }
        if let learned = standing.learned, learned != context.origin.uploads {
            frame.step.writes.append(.learn(origin: context.origin.origin, .uploads(learned)))
        }
    }

    /// The server has these bytes. They may be fewer than it said before: that is recorded.
    mutating func acknowledge(_ told: ByteRanges) {
        let (before, after) = (have.count, told.count)
        assert(after <= state.bytesTotal ?? .max, "the server has no more than the file")
        if told == have { return }
        course.acknowledged(after, of: state.bytesTotal)
        if after < before {
            frame.bytes.state.restarts += 1
            let reason = "the server has fewer bytes than it had acknowledged"
            frame.step.writes.append(
                .restarted(transfer, reason: reason, bytesLost: before - after))
            frame.step.durable = true
        }
        frame.bytes.have = told
        frame.bytes.state.durable = told
    }

    /// Drops the bytes that the server had of the upload: they are worth nothing any more.
    mutating func lose(_ reason: String) {
        let lost = frame.bytes.have.count
        if lost > 0 || frame.bytes.state.upload?.address != nil {
            frame.bytes.state.restarts += 1
            frame.step.writes.append(
                .restarted(frame.target.transfer, reason: reason, bytesLost: lost))
            frame.step.durable = true
        }
        frame.bytes.have = ByteRanges()
        frame.bytes.state.durable = ByteRanges()
    }

    func leaving(after failure: Failure) -> FetchLeaving {
        frame.target.leaving(afterUpload: failure, bytesKept: have.count)
    }
}
