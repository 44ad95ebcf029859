internal import LonghaulModel

/// The pause between two looks at a file that is followed.
private let growthLookSeconds: Double = 1
/// See ``UploadOptions/settle``.
private let growthSettleSeconds: Double = 10

/// The life of an upload: open the source, converse with the server, and leave. What is asked and
/// what answers mean is for its ``UploadConversation`` to say. Only parts are sent beside each
/// other; any other request goes out alone.
package final class UploadMachine {
    enum Stage: Hashable, Sendable {
        /// The source is being opened. `leaving`: the reason to leave once it is open.
        case opening(leaving: FetchLeaving?)
        /// The source is compared with its digest. Nothing has been asked yet.
        case checking
        /// The bytes of the next request are read for their digest. Nothing is out.
        indirect case digesting(UploadExchange)
        /// At least one request is out, or is about to be.
        case conversing
        /// The server has what the file had at the last look, and the file may get more bytes: it
        /// is looked at again then.
        case waiting(until: Instant)
        /// The file is looked at. Nothing is out.
        case looking
        /// A part was refused again: the requests on the wire end, and no other is sent.
        case draining(Failure)
        /// The requests that are out are being stopped. `isSuperseded`: another request is wanted,
        /// perhaps to another URL.
        case leaving(FetchLeaving, isSuperseded: Bool)
        /// Gone; `nil` = the server has taken the file.
        case left(FetchLeaving?)
    }

    package let frame: FetchFrame
    private(set) var state = Stage.opening(leaving: nil)
    var wire: UploadWire
    /// Since when the file that is followed has not changed, and no program has written to it.
    private var quietSince: Instant?

    init(_ frame: FetchFrame) {
        self.frame = frame
        wire = UploadWire(frame)
    }

    var stage: FetchStage {
        switch state {
        case .opening: .preparing
        case .checking, .digesting: .checking
        case .conversing, .waiting, .looking, .draining: .moving
        case .leaving: .settling
        case .left: .left
        }
    }

    var leaving: FetchLeaving? {
        switch state {
        case .opening(let leaving), .left(let leaving): leaving
        case .leaving(let leaving, _): leaving
        case .checking, .digesting, .conversing, .waiting, .looking, .draining: nil
        }
    }

    private var upload: UploadState? { wire.state.upload }
    private var options: UploadOptions? { wire.request.options.upload }

    var status: FetchStatus {
        var status = FetchStatus(
            stage, leaving, bytesFetched: frame.bytes.state.bytesFetched)
        status.requests = wire.requests.count
        status.nextTick = nextTick
        status.isWhole = state == .left(nil)
        return status
    }

    /// When to look whether another part may be sent; `nil` while off the wire.
    private var nextTick: Instant? {
        if case .waiting(let until) = state { return until }
        guard stage == .moving, !wire.requests.isEmpty else { return nil }
        return frame.bytes.checkpoints.nextTick(after: Limits.tickSeconds)
    }

    /// A request carries the whole file, and the server has no resource to continue it in: leaving
    /// the wire would cost all bytes sent.
    ///
    /// - Parameter once: Only one that may not be repeated, whose end that would be.
    package func isSendingWhole(once: Bool) -> Bool {
        guard stage == .moving, let upload, upload.address == nil else { return false }
        return wire.underWay.contains { $0.purpose == .whole && !(once && $0.body.mayRepeat) }
    }

    /// The first step: open the source.
    func begin() {
        let path = options?.snapshotPath ?? frame.target.destination
        frame.step.effects.append(.openSource(path: path))
    }

    func react(to event: FetchEvent, in context: FetchContext) {
        switch event {
        case .opened(let version): opened(version, context)
        case .looked(let version, let hasWriter): looked(version, hasWriter: hasWriter, context)
        case .prepareFailed(let fault): notOpened(fault, context)
        case .head(let key, let head): wire.head(key, head, context)
        case .interim(let key, let head): wire.interim(key, head, context)
        case .ended(let key, let end): ended(key, end, context)
        case .leave(let departure): depart(departure, context)
        case .tick: ticked(context)
        case .verified: verified(context)
        case .mismatched(let expected, let actual, _):
            if state != .checking { return }
            leave(.fail(UploadFailure.otherSource(expected, actual).error), context)
        case .verifyFailed(let fault):
            if stage != .checking { return }
            leave(frame.target.leaving(afterSource: fault, bytesKept: held), context)
        case .digested(let digest): digested(digest, context)
        case .progress, .prepared, .reserved, .reserveFailed, .truncated, .truncateFailed, .synced,
            .syncFailed, .secured, .secureFailed, .published, .occupied, .publishFailed,
            .displaced, .foundPublished, .filled, .fillFailed, .copied, .copyFailed, .handedOut,
            .handOutFailed:
            break
        }
    }

    // MARK: - The source

    private func opened(_ version: SourceVersion, _ context: FetchContext) {
        guard case .opening(let leaving) = state, let options else { return }
        wire.start(at: context.now.monotonic)
        var upload = upload ?? UploadState()
        if let requested = wire.state.askedURL, !CanonicalURL.areSame(requested, wire.request.url) {
            wire.abandon("its URL was changed")
            let source = upload.source
            upload = UploadState()
            upload.source = source
        }
        frame.bytes.state.askedURL = wire.request.url
        let pinned = upload.source ?? options.source
        let mayGrow = upload.isGrowing ?? (options.ifChanged == .follow)
        let isFollowed = mayGrow && pinned.map { version.hasGrown(from: $0) } ?? true
        if let pinned, !pinned.isSame(as: version), !isFollowed {
            guard options.ifChanged == .restart else {
                return exit(leaving ?? .fail(.sourceChanged), context)
            }
            wire.abandon("the file was changed")
            // A POST of the old version must not be repeated with the new one.
            let mayHaveArrived = upload.mayHaveArrived && upload.address == nil
            upload = UploadState()
            upload.mayHaveArrived = mayHaveArrived
        }
        // Names at the server are made of the pinned version, whose numbers may have changed.
        upload.source = pinned.flatMap { $0.isSame(as: version) ? $0 : nil } ?? version
        upload.source?.mediaType = pinned?.mediaType
        // A request that follows no more sends the file as it is now.
        if mayGrow { upload.isGrowing = options.ifChanged == .follow }
        wire.open(upload, size: version.size)
        // The state is saved together with the loss of the bytes before.
        if !frame.step.writes.isEmpty { frame.save() }
        if let leaving {
            exit(leaving, context)
        } else if let expected = wire.request.options.checksum, expected != upload.checked {
            state = .checking
            frame.save()
            frame.step.effects.append(.verify([expected], length: version.size))
        } else {
            state = .conversing
            converse(context)
        }
    }

    private func notOpened(_ fault: LocalFault, _ context: FetchContext) {
        guard case .opening(let leaving) = state else { return }
        let isLost = options?.snapshotPath != nil && fault.code == .sourceChanged
        let target = frame.target
        let failed = isLost ? .fail(.snapshotLost) : target.leaving(after: fault, bytesKept: held)
        exit(leaving ?? failed, context)
    }

    /// The source has the digest that the request names. Before that nothing is sent.
    private func verified(_ context: FetchContext) {
        if state != .checking { return }
        let checked = wire.request.options.checksum
        frame.bytes.state.upload?.checked = checked
        frame.save()
        state = .conversing
        converse(context)
    }

    // MARK: - The conversation

    /// Bytes that the server has.
    private var held: Int64 { wire.have.count }

    /// The budget of the origin may allow another part.
    private func ticked(_ context: FetchContext) {
        frame.bytes.checkpoints.ticked(at: context.now.monotonic)
        if case .waiting(let until) = state {
            if until <= context.now.monotonic { orderLook() }
            return
        }
        guard stage == .moving, wire.underWay.contains(where: { $0.part != nil }) else { return }
        frame.connections.observe(held: held, at: context.now.monotonic)
        converse(context)
    }

    /// Sends the next request, or as many parts as the budgets allow.
    private func converse(_ context: FetchContext) {
        if wire.requests.isEmpty {
            if let pause = frame.pause(at: context.now.wall) {
                return leave(.pause(pause), context)
            }
            if case .draining(let failure) = state { return leave(after: failure, context) }
        }
        while mayAsk(context), let exchange = wire.next(context) {
            if wire.isRepeated(exchange) {
                return leave(after: wire.lastFailure ?? UploadFailure.noGain, context)
            }
            if upload?.forbids(exchange) == true {
                return leave(.fail(UploadFailure.unknownEnd(nil).error), context)
            }
            if let algorithm = exchange.digest {
                state = .digesting(exchange)
                frame.step.effects.append(.digest(exchange.range, algorithm))
                return
            }
            wire.send(exchange, at: context.now)
        }
        if !wire.requests.isEmpty { return }
        if upload?.isGrowing == true {
            state = .waiting(until: context.now.monotonic + growthLookSeconds)
        } else {
            complete(nil, [], context)
        }
    }

    // MARK: - A file that grows

    private func orderLook() {
        state = .looking
        frame.step.effects.append(.lookAtSource)
    }

    /// More bytes are sent. Without them, and without a program that writes, the file is complete
    /// after a time.
    private func looked(_ version: SourceVersion?, hasWriter: Bool, _ context: FetchContext) {
        guard state == .looking, let before = upload?.source, let options else { return }
        guard let version, version.hasGrown(from: before) else {
            let fault = LocalFault(
                code: .sourceChanged,
                message: "the file was replaced or has shrunk while it was sent; upload it again")
            return leave(frame.target.leaving(afterSource: fault, bytesKept: held), context)
        }
        let now = context.now.monotonic
        let isQuiet = version.isSame(as: before) && !hasWriter
        quietSince = isQuiet ? quietSince ?? now : nil
        if !version.isSame(as: before) { wire.found(version) }
        if let quietSince, quietSince + (options.settle ?? growthSettleSeconds) <= now {
            wire.endGrowth()
        }
        state = .conversing
        converse(context)
    }

    /// The digest that the next request waits for. A request is the same only with its digest.
    private func digested(_ digest: Checksum, _ context: FetchContext) {
        guard case .digesting(let exchange) = state else { return }
        state = .conversing
        let complete = exchange.told(digest)
        if wire.isRepeated(complete) {
            return leave(after: wire.lastFailure ?? UploadFailure.noGain, context)
        }
        wire.send(complete, at: context.now)
    }

    private func mayAsk(_ context: FetchContext) -> Bool {
        if wire.requests.isEmpty { return true }
        return state == .conversing && !frame.run.isToPause(at: context.now.wall)
            && wire.requests.count < frame.connections.most(for: frame.target, context)
    }

    private func ended(_ key: SegmentKey, _ end: SegmentEnd, _ context: FetchContext) {
        guard let request = wire.remove(key, end) else { return }
        if end.failure == .withdrawn, leaving == nil { return leave(.requeue, context) }
        if end.failure == .withdrawn || request.isForgotten { return goOn(context) }
        let ended = EndedExchange(request.exchange, end, request.head, floor: wire.floor)
        if let verdict = wire.verdictOnDirectories(ended, mayMakeThem: stage == .moving) {
            wire.record(verdict, on: request, end, at: context.now.wall)
            frame.save()
            let isEnd = request.exchange.purpose == .makeDirectory || !wire.isMakingDirectories
            if stage == .moving, isEnd, case .failed(let failure) = verdict {
                return leave(after: failure, context)
            }
            return goOn(context)
        }
        var conversation = wire.conversation
        let verdict = conversation.verdict(on: ended, expecting: wire.request.options.checksum)
        wire.record(verdict, on: request, end, at: context.now.wall)
        wire.absorb(conversation, context)
        if let head = request.head, head.scheme == .http, request.exchange.purpose != .discover {
            var response = TransferResponse(head, length: nil)
            response.body = end.answer
            frame.bytes.state.response = response
        }
        if verdict == .done, mayComplete {
            return complete(request.head, end.answer, context)
        }
        frame.save()
        if upload?.address != nil { frame.step.durable = true }
        if stage == .moving {
            apply(verdict, request, context)
        } else {
            settle(context)
        }
    }

    private func apply(
        _ verdict: UploadVerdict, _ request: ActiveExchange, _ context: FetchContext
    ) {
        let exchange = request.exchange
        switch verdict {
        case .done: break
        case .goOn:
            // The count includes the request that has ended.
            if exchange.part != nil { frame.connections.worked(wire.requests.count + 1) }
            // The question followed a break: without a gain the break is a failure like any other.
            let isAnswered = exchange.purpose == .ask || exchange.purpose == .list
            if isAnswered, upload?.progress.kept.mustAsk == false, let failure = wire.settle() {
                return leave(after: failure, context)
            }
            converse(context)
        case .askAfter(let failure):
            wire.askAfter(failure, heldBefore: request.heldBefore)
            if let part = exchange.part { refused(part, by: failure) }
            converse(context)
        case .conflict(let failure):
            if wire.conflict(failure) { return leave(.retry(failure), context) }
            converse(context)
        case .failed(let failure):
            guard let part = exchange.part, failure.kind == .transient, !wire.requests.isEmpty
            else { return leave(after: failure, context) }
            // The parts beside it continue, and fewer are sent at a time.
            frame.connections.refused(
                beside: wire.requests.count, held: held, at: context.now.monotonic)
            frame.run.askedPause(by: failure, at: context.now.wall)
            refused(part, by: failure)
            converse(context)
        }
    }

    private func refused(_ part: Int, by failure: Failure) {
        if wire.refused(part: part), state == .conversing { state = .draining(failure) }
    }

    /// The answer may have crossed with the order to leave: a pause does not undo the server's
    /// bytes.
    private var mayComplete: Bool {
        guard case .leaving(let leaving, let isSuperseded) = state else { return true }
        return !leaving.isCancel && !isSuperseded
    }

    private func complete(
        _ head: ResponseHead?, _ answer: [UInt8], _ context: FetchContext
    ) {
        state = .left(nil)
        wire.acknowledge(ByteRanges(0..<(wire.state.bytesTotal ?? 0)))
        // The row is needed only for the answer, which the transfer takes over, and to mark it as
        // an upload's: an upload whose URL was changed meanwhile is not completed.
        frame.bytes.state.upload = UploadState()
        frame.save()
        if let origin = frame.ownMemory(context) {
            let http2 = (head?.httpVersion ?? 0) >= 20
            frame.step.writes.append(
                .originWorked(origin: origin.origin, bytesPerSecond: nil, http2: http2))
        }
        frame.exitCompleted(as: frame.target.destination)
    }

    // MARK: - Leaving

    private func depart(_ departure: FetchDeparture, _ context: FetchContext) {
        switch departure {
        case .requeue, .renew:
            // Another reason to leave has more to say than "back to the queue".
            let reason = leaving.flatMap { $0.isCancel ? nil : $0 } ?? .requeue
            leave(reason, isSuperseded: departure == .renew, context)
        case .cancel(let keepingBytes): leave(.cancel(keepingBytes: keepingBytes), context)
        case .expire: leave(.fail(.deadlinePassed(on: wire.frame)), context)
        }
    }

    private func leave(
        _ reason: FetchLeaving, isSuperseded: Bool = false, _ context: FetchContext
    ) {
        switch state {
        case .opening: state = .opening(leaving: reason)
        case .leaving(_, let wasSuperseded):
            state = .leaving(reason, isSuperseded: isSuperseded || wasSuperseded)
        case .checking, .digesting, .conversing, .waiting, .looking, .draining:
            // How long a file needs in one go is known by its throughput, the next time.
            if reason == .requeue, isSendingWhole(once: false) {
                frame.noteThroughput(context)
            }
            state = .leaving(reason, isSuperseded: isSuperseded)
            if wire.requests.isEmpty { return exit(reason, context) }
            frame.step.effects.append(.stop(wire.requests.map(\.key)))
        case .left: assertionFailure("an upload leaves once")
        }
    }

    private func leave(after failure: Failure, _ context: FetchContext) {
        let failure = frame.weighed(failure, of: wire.request.url, context)
        leave(frame.target.leaving(afterUpload: failure, bytesKept: held), context)
    }

    /// Sends the next request, or leaves.
    private func goOn(_ context: FetchContext) {
        if stage == .moving { converse(context) } else { settle(context) }
    }

    private func settle(_ context: FetchContext) {
        guard case .leaving(let reason, _) = state, wire.requests.isEmpty else { return }
        exit(reason, context)
    }

    /// The wire is quiet. The resource of a cancelled upload is deleted at the server once
    /// the fetch is dropped, see ``AbandonedUpload``.
    private func exit(_ reason: FetchLeaving, _ context: FetchContext) {
        state = .left(reason)
        frame.exit(reason, context)
    }
}
