/// What becomes of the fetch when a request has left the wire.
extension FetchMachine {
    mutating func ended(
        _ key: SegmentKey, _ end: SegmentEnd, _ context: FetchContext, _ step: inout FetchStep
    ) {
        guard let index = segments.firstIndex(where: { $0.key == key }) else { return }
        // The board may have had no cell for it.
        count(end.bytesReceived, of: index)
        var segment = segments.remove(at: index)
        retired.append(key)
        if end.failure == .withdrawn { return withdrawn(segment, context, &step) }
        if segment.isWriting, segment.isOpen, end.writtenThrough > segment.start {
            have.insert(segment.start..<end.writtenThrough)
            gained += end.writtenThrough - segment.start
            segment.written = end.writtenThrough
            state.emptyAnswers = 0
            if end.failure == nil { hasEndedWell = true }
        }
        if segment.isOpen, end.failure == nil || end.writtenThrough > segment.start {
            learnVersion(segment)
        }
        if held?.key == key { held = nil }
        let failure = failure(of: segment, end).map { end.isProxied ? byProxy($0, segment) : $0 }
        step.writes.append(.attempt(transfer, outcome(of: segment, end, failure, context)))
        switch stage {
        case .settling: quiet(context, &step)
        case .moving: next(after: segment, end, failure, context, &step)
        case .preparing, .verifying, .securing, .sharing, .publishing, .left: break
        }
    }

    /// It has not gone out and is no attempt: back to the queue, where what is more urgent may
    /// pass.
    private mutating func withdrawn(
        _ segment: ActiveSegment, _ context: FetchContext, _ step: inout FetchStep
    ) {
        if segment.number == state.attempts { state.attempts -= 1 }
        if leaving == nil {
            leave(.requeue, context, &step)
        } else {
            quiet(context, &step)
        }
    }

    /// Whether it said who we are. What netrc says of the server is not known here.
    private func sendsCredentials(_ segment: ActiveSegment) -> Bool {
        if segment.ask.isForMirror { return false }
        return request.options.user != nil || request.options.headers.contains("Authorization")
            || (try? URLParts(segment.url))?.userInfo != nil
    }

    /// Through a tunnel nobody but the server answers; only of CONNECT the proxy asks for
    /// credentials.
    private func byProxy(_ failure: Failure, _ segment: ActiveSegment) -> Failure {
        if segment.url.beginsIgnoringCase(with: "https:"), failure.error.httpStatus != 407 {
            return failure
        }
        let options = request.options
        let proxy = options.proxy ?? options.proxyVariables?.proxy(for: segment.url)
        let userInfo = proxy.flatMap { ProxyAddress.userInfo(of: $0) }
        return FailureTable.byProxy(failure, hadCredentials: userInfo != nil)
    }

    /// The failure that the request ended with, classified; `nil` if it did what it was sent for.
    private func failure(of segment: ActiveSegment, _ end: SegmentEnd) -> Failure? {
        if case .fail(let failure)? = segment.decision {
            return sendsCredentials(segment) ? FailureTable.refusedCredentials(failure) : failure
        }
        if let wire = end.failure {
            if wire == .bodyTooLong, state.bytesTotal == nil, request.options.maxSize != nil {
                let text = "the body is longer than --max-size allows; raise it with set --max-size"
                return Failure(.permanent, LonghaulError(.tooLarge, text))
            }
            return FailureTable.classify(wire)
        }
        // An answer that is allowed to end early ends with its plan; the rest is asked for again.
        switch proof(of: segment, end) {
        // A shortened request may have written on before it heard of that: bytes of the file as
        // well.
        case .complete, .unknownLengthComplete, .tooLong, nil: return nil
        case .short:
            return Failure(
                .transient,
                LonghaulError(.network, "the server sent fewer bytes than it had promised"),
                blamesOrigin: true)
        }
    }

    /// What the end of an answer says of its body; `nil` = it had none that counts.
    private func proof(of segment: ActiveSegment, _ end: SegmentEnd) -> SizeProof? {
        guard segment.isWriting, var plan = segment.decision?.bodyPlan else { return nil }
        plan.end = segment.end
        return SizeProof.judge(plan: plan, end: end, bytesTotal: state.bytesTotal)
    }

    /// The length of the file, told by nothing but the end of its body. What was only compared
    /// counts: the whole of it may have been held already.
    private func length(endedBy segment: ActiveSegment, _ end: SegmentEnd) -> Int64? {
        switch proof(of: segment, end) {
        case .unknownLengthComplete(let length): length
        case .complete: segment.end
        case .short, .tooLong, nil: nil
        }
    }

    private mutating func next(
        after segment: ActiveSegment, _ end: SegmentEnd, _ failure: Failure?,
        _ context: FetchContext, _ step: inout FetchStep
    ) {
        if segment.bringsTheWhole, state.bytesTotal == nil, failure == nil, end.failure == nil {
            // The framing ended as it should, and nothing else promised a length.
            state.bytesTotal = length(endedBy: segment, end)
        }
        if isWhole, fromZero == nil, failure == nil || failure?.kind == .transient {
            wholeOnWire(context, &step)
        } else if let failure {
            failed(failure, segment, context, &step)
        } else if !segments.isEmpty {
            split(context, &step)
        } else if segment.isParallel || segment.isWriting || segment.isGivenUp
            || (fromZero != nil && segment.ask.sendsRange)
        {
            // Another gap, or all of it; not all of it again when that brought nothing.
            askInTime(context, &step)
        } else {
            broughtNothing(segment, context, &step)
        }
    }

    private mutating func wholeOnWire(_ context: FetchContext, _ step: inout FetchStep) {
        if segments.isEmpty {
            noteThroughput(context, &step)
            finish(&step)
        } else {
            step.effects.append(.stop(segments.map(\.key)))
        }
    }

    /// The origin's throughput, for planning, from transfers long enough to tell.
    func noteThroughput(_ context: FetchContext, _ step: inout FetchStep) {
        guard let startedMoving, let origin = asked(context) else { return }
        let seconds = context.now.monotonic - startedMoving
        let bytes = state.bytesFetched - receivedAtStart
        guard seconds > 1, bytes > 1 << 20 else { return }
        let rate = Double(bytes) / seconds
        step.writes.append(
            .originWorked(
                origin: origin.origin, bytesPerSecond: rate, http2: lastHTTPVersion >= 20))
    }

    private mutating func failed(
        _ failure: Failure, _ segment: ActiveSegment, _ context: FetchContext,
        _ step: inout FetchStep
    ) {
        if segment.isParallel, failure.kind.isAboutTheRequest {
            // Many servers refuse a second connection, with any status: the first is as good as
            // before.
            if !segment.hasBroughtAPiece { noteRefused(segment, context) }
            notePause(failure, context)
            if segments.isEmpty { askInTime(context, &step) }
            return
        }
        switch failure.kind {
        case .restartFromZero where segment.ask.isForMirror:
            // What is held is for the transfer's own URL to give up.
            if segments.isEmpty {
                tryElsewhere(FailureTable.mirror(failure.restart ?? .noBytes), context, &step)
            } else {
                rangesRefused = true
            }
        case .restartFromZero:
            // Refuted: nothing is to be whole by it.
            if failure.restart == .lengthDisagrees, have.isEmpty {
                state.bytesTotal = nil
                state.validator = nil
            }
            // Once; if a start from zero ends so too, it is a failure like any other.
            if case .restarting = segment.ask.proof {
                leave(.retry(failure), context, &step)
            } else if segment.ask.proof == .nothingHeld, have.isEmpty {
                leave(.retry(failure), context, &step)
            } else {
                fromZero = failure.restart ?? .noBytes
                stopOthersOrAsk(context, &step)
            }
        case .transient:
            // Otherwise the others go on.
            if segments.isEmpty {
                tryElsewhere(failure, context, &step)
            } else if !segment.hasBroughtAPiece {
                noteRefused(segment, context)
            }
        case .waitForStorage, .localFault:
            let fault = LocalFault(code: failure.error.code, message: failure.error.message)
            leave(local(fault, context), context, &step)
        case .needsInput, .permanent: tryElsewhere(failure, context, &step)
        }
    }

    /// A second connection that is refused with a time to wait (RFC 9110 §10.2.3): the first goes
    /// on, and nothing new is asked before that time is over.
    private mutating func notePause(_ failure: Failure, _ context: FetchContext) {
        guard let wish = failure.retryAfter else { return }
        let until = context.now.wall + min(wish, Limits.retryAfterMaximumSeconds)
        pause = AskedPause(until: max(until, pause?.until ?? until), error: failure.error)
    }

    /// Whether the server has not been given the time yet that it has asked for.
    func isToPause(_ context: FetchContext) -> Bool {
        pause.map { $0.until > context.now.wall } ?? false
    }

    private mutating func askInTime(_ context: FetchContext, _ step: inout FetchStep) {
        if let pause, isToPause(context), sources.count == 1 {
            leave(.pause(pause), context, &step)
        } else {
            askNext(context, &step)
        }
    }

    /// The next source takes over at once. When all have failed, what may pass is waited out.
    private mutating func tryElsewhere(
        _ failure: Failure, _ context: FetchContext, _ step: inout FetchStep
    ) {
        sourcesFailed += 1
        notePassing(failure)
        if isAtOwnOrigin { ownFailure = failure }
        // Why its own URL is asked from zero is nothing to a mirror.
        fromZero = nil
        if sources.count > 1 {
            blame(failure, context, &step)
            // Each has been blamed for its own.
            passingFailure?.blamesOrigin = false
        }
        if segments.isEmpty, isAtNextSource(context) {
            askNext(context, &step)
        } else if let passingFailure {
            leave(.retry(passingFailure), context, &step)
        } else {
            let failure = ownFailure ?? failure
            let isAnswerable = failure.kind == .needsInput
            leave(
                isAnswerable ? .needInput(failure.error) : .fail(failure.error), context, &step)
        }
    }

    /// What comes first with one of the sources is waited for, and no other's wish.
    private mutating func notePassing(_ failure: Failure) {
        guard failure.kind == .transient else { return }
        if let passingFailure, passingFailure.retryAfter ?? 0 < failure.retryAfter ?? 0 { return }
        passingFailure = failure
    }

    /// One that is left alone for now counts as one that has failed, and is not asked.
    private mutating func isAtNextSource(_ context: FetchContext) -> Bool {
        while sourcesFailed < sources.count {
            nextSource()
            guard let origin = asked(context),
                case .cooling = origin.health(at: context.now.wall)
            else { return true }
            sourcesFailed += 1
            notePassing(FailureTable.leftAlone(origin, now: context.now.wall))
        }
        return false
    }

    private mutating func stopOthersOrAsk(_ context: FetchContext, _ step: inout FetchStep) {
        if segments.isEmpty {
            askNext(context, &step)
        } else {
            step.effects.append(.stop(segments.map(\.key)))
        }
    }

    /// An answer without use: complete, unusable, or empty.
    private mutating func broughtNothing(
        _ segment: ActiveSegment, _ context: FetchContext, _ step: inout FetchStep
    ) {
        if saysUnchanged(segment), let kept {
            step.effects.append(.fill(kept))
            return
        }
        let wasFromZero = !segment.ask.sendsRange
        switch segment.decision {
        case .alreadyComplete(let length)?:
            fromZero = nil
            state.bytesTotal = length
            if isWhole {
                finish(&step)
            } else {
                leave(.retry(unusable("it calls an incomplete file complete")), context, &step)
            }
        case .restartFromZero(let reason)?:
            if wasFromZero, segment.ask.bypassesCaches || !reason.mayBeOfCache {
                leave(.retry(unusable(reason.description)), context, &step)
            } else {
                fromZero = reason
                askNext(context, &step)
            }
        case .empty?, .redirect?, .fresh?, .append?, .skip?, .restart?, .fail?, .dropSegment?,
            nil:
            state.emptyAnswers += 1
            if state.emptyAnswers >= Limits.emptyAnswersBeforeZero, !wasFromZero {
                fromZero = .noBytes
                askNext(context, &step)
            } else {
                leave(.retry(unusable("it brought no bytes")), context, &step)
            }
        }
    }

    /// The kept file is still the one that the server has.
    private func saysUnchanged(_ segment: ActiveSegment) -> Bool {
        segment.head?.status == 304 && segment.asksForChange && have.isEmpty && kept != nil
    }

    private func unusable(_ what: String) -> Failure {
        Failure(
            .transient,
            LonghaulError(.serverError, "the server's answer could not be used: \(what)"))
    }

    private func outcome(
        of segment: ActiveSegment, _ end: SegmentEnd, _ failure: Failure?,
        _ context: FetchContext
    ) -> AttemptOutcome {
        let word: String
        if let failure {
            word = failure.error.code.rawValue
        } else if end.failure == .stopped {
            word = "stopped"
        } else if saysUnchanged(segment) {
            word = "unchanged"
        } else {
            word = end.failure == .refused ? "unusable" : "completed"
        }
        return AttemptOutcome(
            number: segment.number, startedAt: segment.startedAt, endedAt: context.now.wall,
            url: segment.head?.effectiveURL ?? segment.url, bytes: end.bytesReceived,
            httpStatus: segment.head.flatMap { $0.scheme == .http ? $0.status : nil },
            httpVersion: end.httpVersion == 0 ? segment.head?.httpVersion : end.httpVersion,
            outcome: word, message: failure?.error.message ?? silenceNote(of: segment, end))
    }
}

extension FailureClass {
    /// Whether another request may fare better while this one's fetch goes on.
    fileprivate var isAboutTheRequest: Bool {
        switch self {
        case .transient, .needsInput, .permanent: true
        case .waitForStorage, .restartFromZero, .localFault: false
        }
    }
}
