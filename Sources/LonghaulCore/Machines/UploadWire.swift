internal import LonghaulModel

/// An upload on the wire: the bytes that the server has, the requests, and the gain of this run.
/// The next request, and when the wire is left, are decided by the machine.
struct UploadWire {
    let frame: FetchFrame
    /// The requests that are out.
    private(set) var requests: [ActiveExchange] = []
    /// The failure after which the server is asked how far it is.
    private var unsettled: UnsettledFailure?
    private(set) var lastFailure: Failure?
    /// Answers since the last gain that told another offset.
    private var conflicts = 0
    /// Requests since the last gain: none of them is repeated in this run.
    private var sinceGain: Set<UploadExchange> = []
    private var heldAtGain: Int64 = 0
    /// See ``EndedExchange/floor``.
    private(set) var floor: Int64 = 0
    /// Directories that the server has missed.
    private var directories: MissingDirectories?
    /// Parts that were refused once while others went on.
    private var refused: Set<Int> = []

    init(_ frame: FetchFrame) {
        self.frame = frame
    }

    var transfer: TransferID { frame.target.transfer }
    var request: TransferRequest { frame.target.request }
    var state: FetchState { frame.bytes.state }
    var have: ByteRanges { frame.bytes.have }

    /// The requests whose answers count.
    var underWay: [UploadExchange] {
        requests.compactMap { $0.isForgotten ? nil : $0.exchange }
    }

    /// The upload in its protocol, once the source is open.
    var conversation: any UploadConversation {
        guard let upload = state.upload, let job = UploadJob(request, upload, transfer) else {
            preconditionFailure("an upload converses once its source is open")
        }
        return upload.conversation(job, offset: have.prefix)
    }

    mutating func start(at now: Instant) {
        frame.bytes.checkpoints.start(at: now)
        frame.run.start(frame.bytes, at: now)
    }

    /// The source is open in the version that is sent.
    mutating func open(_ upload: UploadState, size: Int64) {
        heldAtGain = have.count
        floor = upload.progress.kept.sentBound
        frame.bytes.state.upload = upload
        var conversation = conversation
        conversation.reopens()
        frame.bytes.state.upload?.adopt(conversation)
        frame.bytes.state.bytesTotal = upload.isGrowing == true ? nil : size
    }

    /// The file that is followed, as a look has found it.
    mutating func found(_ version: SourceVersion) {
        var source = version
        source.mediaType = state.upload?.source?.mediaType
        frame.bytes.state.upload?.source = source
        frame.save()
    }

    /// The file that is followed gets no more bytes.
    mutating func endGrowth() {
        frame.bytes.state.upload?.isGrowing = false
        frame.bytes.state.bytesTotal = state.upload?.source?.size
        frame.save()
    }

    // MARK: - Requests

    mutating func next(_ context: FetchContext) -> UploadExchange? {
        if let missing = directories?.missing {
            return underWay.isEmpty ? .makingDirectory(missing) : nil
        }
        let job = conversation.standing.job
        frame.bytes.state.upload?.start(job, known: context.origin.uploads)
        return conversation.next(beside: underWay)
    }

    mutating func send(_ exchange: UploadExchange, at now: Moment) {
        assert(state.partPath.isEmpty, "an upload has no part file")
        assert(underWay.isEmpty || exchange.part != nil, "only parts are sent beside each other")
        let key = frame.beginRequest(at: now.monotonic)
        requests.append(
            ActiveExchange(
                key: key, number: state.attempts, exchange: exchange, startedAt: now.wall,
                heldBefore: have.count))
        if !exchange.mayRepeatInRun { sinceGain.insert(exchange) }
        record(exchange)
        frame.step.effects.append(.send(UploadAsk(key: key, exchange: exchange)))
    }

    /// Records the facts about the request that are needed after a crash.
    private mutating func record(_ exchange: UploadExchange) {
        // A part is stored whole or not at all: nothing has to be remembered of it.
        if exchange.part != nil { return }
        // After a crash the whole file is sent again, and nothing has to be known for that: small
        // files go out without a commit before each.
        let isForgettable =
            exchange.body.mayRepeat && exchange.address == nil && state.upload?.address == nil
            && exchange.range.count <= Limits.uploadAtOnceBytes
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

    mutating func head(_ key: SegmentKey, _ head: ResponseHead, _ context: FetchContext) {
        guard let index = requests.firstIndex(where: { $0.key == key }) else { return }
        frame.noteIdentity(of: request.url, context)
        requests[index].head = head
        frame.run.lastHTTPVersion = head.httpVersion
    }

    /// The server tells on the way of a resource, or how far it is.
    mutating func interim(_ key: SegmentKey, _ head: ResponseHead, _ context: FetchContext) {
        guard requests.contains(where: { $0.key == key && !$0.isForgotten }) else { return }
        var conversation = conversation
        conversation.interim(head)
        let isNew = conversation.progress.kept.address != state.upload?.address
        guard isNew || conversation.acknowledged != have else { return }
        absorb(conversation, context)
        frame.save()
        if isNew { frame.step.durable = true }
    }

    mutating func remove(_ key: SegmentKey, _ end: SegmentEnd) -> ActiveExchange? {
        count(end.bytesSent, of: key)
        guard let index = requests.firstIndex(where: { $0.key == key }) else { return nil }
        let request = requests.remove(at: index)
        // The request's count is saved with the result of its end.
        frame.step.effects.append(.release([key]))
        if end.failure == .withdrawn { withdrawn(request) }
        return request
    }

    /// The request was never sent and is no attempt. One that may have been sent before would not
    /// have been asked again.
    private mutating func withdrawn(_ request: ActiveExchange) {
        if request.number == state.attempts { frame.bytes.state.attempts -= 1 }
        let exchange = request.exchange
        guard !request.isForgotten, exchange.purpose == .whole, !exchange.body.mayRepeat else {
            return
        }
        frame.bytes.state.upload?.mayHaveArrived = false
    }

    /// Counts the body bytes that a request has sent.
    mutating func count(_ sent: Int64, of key: SegmentKey) {
        guard let index = requests.firstIndex(where: { $0.key == key }) else { return }
        let more = max(0, sent - requests[index].received)
        requests[index].received += more
        frame.bytes.state.bytesFetched += more
    }

    mutating func record(
        _ verdict: UploadVerdict, on request: ActiveExchange, _ end: SegmentEnd, at now: Timestamp
    ) {
        frame.step.writes.append(.attempt(transfer, request.outcome(end, verdict, at: now)))
    }

    /// The end of a request to make a directory, or of a PUT that was refused for want of one:
    /// ``next(_:)`` asks for it. The directories are made once in a run; a PUT that is refused
    /// again fails with the refusal of the directory. `nil`: another kind of end.
    mutating func verdictOnDirectories(
        _ ended: EndedExchange, mayMakeThem: Bool
    ) -> UploadVerdict? {
        if ended.exchange.purpose == .makeDirectory { return directories?.verdict(on: ended) }
        guard mayMakeThem, request.options.upload?.createsDirectories == true,
            state.upload?.progress.isPlain == true, let head = ended.head,
            let missed = MissingDirectories(missedBy: ended.exchange, head)
        else { return nil }
        if let directories { return directories.refusal.map(UploadVerdict.failed) }
        directories = missed
        // A PUT that was refused has left nothing.
        frame.bytes.state.upload?.mayHaveArrived = false
        // What made the request fail is mended: it may go out once more in this run.
        sinceGain.remove(ended.exchange)
        return .failed(FailureTable.classify(upload: head).quoting(head, ended.end.answer))
    }

    /// A directory is to be made next.
    var isMakingDirectories: Bool { directories?.missing != nil }

    // MARK: - What the server has

    /// Adopts the facts of an answer. The caller saves them.
    mutating func absorb(_ conversation: any UploadConversation, _ context: FetchContext) {
        let standing = conversation.standing
        if standing.isLeftBehind { frame.step.writes.append(.abandonUpload(transfer, state)) }
        frame.bytes.state.upload?.adopt(conversation)
        frame.bytes.state.isPrefetched = false
        if let lost = standing.lost {
            forgetRequests()
            lose(lost)
        } else {
            acknowledge(conversation.acknowledged)
        }
        if let learned = standing.learned, learned != context.origin.uploads {
            let origin = context.origin.origin
            frame.step.writes.append(.learn(origin: origin, .uploads(learned)))
        }
    }

    /// The resource that they are for is gone.
    private mutating func forgetRequests() {
        floor = 0
        let others = requests.indices.filter { !requests[$0].isForgotten }
        if others.isEmpty { return }
        for index in others { requests[index].isForgotten = true }
        frame.step.effects.append(.stop(others.map { requests[$0].key }))
    }

    /// The server has these bytes. They may be fewer than it said before: that is recorded. Bytes
    /// that it had before and has lost since are no gain.
    mutating func acknowledge(_ told: ByteRanges) {
        let (before, after) = (have.count, told.count)
        assert(after <= state.bytesTotal ?? .max, "the server has no more than the file")
        if told == have { return }
        if RetryPolicy.isGain(after - heldAtGain, of: state.bytesTotal) {
            heldAtGain = after
            sinceGain = []
            conflicts = 0
        }
        if after < before {
            restarted("the server has fewer bytes than it had acknowledged", lost: before - after)
        }
        hold(told)
    }

    /// Drops the bytes that the server had of the upload: they are worth nothing any more.
    mutating func lose(_ reason: String) {
        let lost = have.count
        if lost > 0 || state.upload?.address != nil { restarted(reason, lost: lost) }
        hold(ByteRanges())
    }

    private mutating func restarted(_ reason: String, lost: Int64) {
        frame.bytes.state.restarts += 1
        frame.step.writes.append(.restarted(transfer, reason: reason, bytesLost: lost))
        frame.step.durable = true
    }

    private mutating func hold(_ told: ByteRanges) {
        frame.bytes.have = told
        frame.bytes.state.durable = told
    }

    /// The upload starts from zero; its resource is deleted at the server.
    mutating func abandon(_ reason: String) {
        if state.upload?.address != nil {
            frame.step.writes.append(.abandonUpload(transfer, state))
        }
        lose(reason)
        frame.bytes.state.upload = nil
        frame.bytes.state.askedURL = request.url
        // Before another resource is made: after a crash this one would be abandoned twice.
        frame.save()
    }

    // MARK: - Gains

    /// The same request went out in this run, and nothing was gained since.
    func isRepeated(_ exchange: UploadExchange) -> Bool {
        sinceGain.contains(exchange)
    }

    mutating func askAfter(_ failure: Failure, heldBefore: Int64) {
        lastFailure = failure
        unsettled = UnsettledFailure(failure: failure, heldBefore: heldBefore)
    }

    /// The server has said how far it is. Returns the failure before that, if the request that
    /// failed has gained too little.
    mutating func settle() -> Failure? {
        defer { unsettled = nil }
        guard let unsettled,
            !RetryPolicy.isGain(have.count - unsettled.heldBefore, of: state.bytesTotal)
        else { return nil }
        return unsettled.failure
    }

    /// Returns whether there were too many of them.
    mutating func conflict(_ failure: Failure) -> Bool {
        lastFailure = failure
        conflicts += 1
        return conflicts > Limits.uploadConflicts
    }

    /// A part was refused while others continue: it is sent once more in this run. Returns whether
    /// it was refused before.
    mutating func refused(part: Int) -> Bool { !refused.insert(part).inserted }
}

/// A failure that may have gained something, and the bytes that the server had before.
private struct UnsettledFailure: Sendable {
    let failure: Failure
    let heldBefore: Int64
}

extension UploadExchange {
    /// Refused parts and directories have their own rules.
    fileprivate var mayRepeatInRun: Bool { part != nil || purpose == .makeDirectory }
}

/// A request of an upload that is out.
struct ActiveExchange: Sendable {
    let key: SegmentKey
    let number: Int
    let exchange: UploadExchange
    let startedAt: Timestamp
    /// The bytes that the server had when it went out.
    let heldBefore: Int64
    /// The resource that it is for is gone: its answer says nothing any more.
    var isForgotten = false
    /// Body bytes that were handed to the wire.
    var received: Int64 = 0
    var head: ResponseHead?

    /// Record of the request, which has ended.
    func outcome(
        _ end: SegmentEnd, _ verdict: UploadVerdict, at now: Timestamp
    ) -> AttemptRecord {
        var (word, message): (String, String?) = ("completed", nil)
        switch verdict {
        case .goOn, .done:
            if exchange.purpose == .create || exchange.purpose == .whole, let head,
                UploadAddress.isDowngrade(in: head)
            {
                message = UploadFailure.hiddenTLS + "; https is used"
            }
        case .askAfter(let failure), .conflict(let failure), .failed(let failure):
            word = failure.error.code.rawValue
            message = failure.error.message
        }
        if end.failure == .stopped { (word, message) = ("stopped", nil) }
        return AttemptRecord(
            number: number, startedAt: startedAt, endedAt: now,
            url: head?.effectiveURL ?? exchange.url, bytes: end.bytesSent, httpStatus: head?.status,
            httpVersion: end.httpVersion == 0 ? head?.httpVersion : end.httpVersion,
            outcome: word, message: message, phases: end.phases)
    }
}
