/// What an answer means, once its head is in.
extension FetchMachine {
    /// One request for the first missing bytes, or for the whole from zero.
    mutating func askNext(_ context: FetchContext, _ step: inout FetchStep) {
        precondition(segments.isEmpty, "the first request of a round goes out alone")
        // Its body may be small, and let in at once.
        if isEmptying { return }
        if let fromZero {
            let ask = RangeRequest.wholeFile(
                because: fromZero, held: have, validator: state.validator,
                // Answers without a byte say nothing against those that are held.
                trustHeld: fromZero == .noBytes, heldCoding: state.contentCoding)
            send(ask, isParallel: false, context, &step)
            return
        }
        let gap = firstGap
        let ask = RangeRequest.plan(
            from: gap.start, to: gap.end, held: have, validator: state.validator,
            origin: ways(of: asked(context) ?? context.origin),
            scheme: ResponseHead.Scheme(of: url),
            heldCoding: state.contentCoding)
        send(ask, isParallel: false, context, &step)
    }

    /// The origin's, as the next request takes them. What a proxy did is not remembered: after an
    /// answer that brought nothing the next rung of the ladder is tried all the same.
    private func ways(of origin: OriginMemory) -> OriginMemory {
        var ways = origin
        if state.emptyAnswers > 0 {
            ways.mishandlesIfRange = true
        } else if have.count <= Limits.ifRangeTrialBytes {
            ways.mishandlesIfRange = false
        }
        return ways
    }

    /// Where the next bytes are missing: `end` is nil while the length is unknown, or the gap runs
    /// to it.
    private var firstGap: (start: Int64, end: Int64?) {
        guard let total = state.bytesTotal, let gap = have.gaps(upTo: total).first
        else { return (have.prefix, nil) }
        return (gap.lowerBound, gap.upperBound == total ? nil : gap.upperBound)
    }

    mutating func send(
        _ ask: RangeRequest, isParallel: Bool, _ context: FetchContext, _ step: inout FetchStep
    ) {
        var ask = ask
        ask.isForMirror = !isAtOwnOrigin
        ask.isForNoPage = ask.proof != .nothingHeld && FileNaming.isOfNoPage(destination)
        let key = SegmentKey(fetch: state.id, serial: nextSerial)
        nextSerial += 1
        state.attempts += 1
        segments.append(
            ActiveSegment(
                key: key, number: state.attempts, ask: ask, url: url,
                startedAt: context.now, isParallel: isParallel))
        var order = SegmentAsk(
            key: key, url: url, ask: ask, pinned: state.validator,
            maxSize: request.options.maxSize, isParallel: isParallel)
        if ask.proof == .nothingHeld, have.isEmpty, !order.isForMirror,
            ResponseHead.Scheme(of: url) == .http
        {
            order.condition = kept?.condition ?? HeaderFields()
            segments[segments.count - 1].asksForChange = !order.condition.isEmpty
        }
        step.effects.append(.ask(order))
    }

    mutating func head(
        _ key: SegmentKey, _ head: ResponseHead, _ context: FetchContext, _ step: inout FetchStep
    ) {
        guard let index = segments.firstIndex(where: { $0.key == key }) else { return }
        if stage == .settling { return lateHead(head, at: index, context, &step) }
        guard stage == .moving else { return }
        let segment = segments[index]
        let judgement = judge(
            segment.ask, head, pinned: state.validator, maxSize: request.options.maxSize)
        segments[index].head = head
        heard(index, at: context.now.monotonic)
        segments[index].decision = judgement.decision
        lastHTTPVersion = head.httpVersion
        learn(judgement, segment.ask, head, context, &step)
        noteHealth(head, context, &step)
        if segment.isParallel {
            parallelHead(judgement.decision, at: index, context, &step)
            return
        }
        switch judgement.decision {
        case .fresh(let validator, _): pin(validator, head, key, context, &step)
        case .append(let plan):
            segments[index].begins(at: plan.position + plan.compare, end: plan.end)
            rangesProven = true
            if plan.compare == 0 { learnVersion(segments[index]) }
            state.effectiveURL = head.effectiveURL
            keep(head)
        case .skip(let plan):
            fromZero = nil
            segments[index].begins(at: plan.position + plan.compare, end: plan.end)
            rangesOffered = head.headers.offersByteRanges
            state.effectiveURL = head.effectiveURL
        case .restart(let reason, let validator):
            voidBytes(reason, &step)
            segments[index].begins(at: 0, end: validator.length)
            pin(validator, head, key, context, &step)
        case .alreadyComplete, .restartFromZero, .dropSegment, .redirect, .fail, .empty:
            // The transport reads no body of these; what they mean is settled when the request has
            // ended.
            break
        }
    }

    /// What a proxy does is not its origin's way.
    private func learn(
        _ judgement: ResumeJudgement, _ ask: RangeRequest, _ head: ResponseHead,
        _ context: FetchContext, _ step: inout FetchStep
    ) {
        guard let origin = asked(context), !head.isProxied, head.scheme == .http else { return }
        var lesson = judgement.learned
        if case .append = judgement.decision {
            lesson = ask.isConditional ? .honoursIfRange : .honoursRanges
        }
        guard let lesson else { return }
        var changed = origin
        changed.learn(lesson)
        if changed == origin { return }
        step.writes.append(.learn(origin: origin.origin, lesson))
    }

    /// What the answer says of the version that it has proven to be of, and that was not known. Its
    /// length, where the first one told none: a part of a file of another length is of another
    /// version. Its name at a source that is new: a later answer under another is, too.
    ///
    /// Not before what is held has been compared with what came: until then the answer may be of
    /// another version, and a shorter length would make a whole file of what is held.
    mutating func learnVersion(_ segment: ActiveSegment) {
        guard case .append? = segment.decision, let head = segment.head,
            !isVersionKnown || !state.askedURL.isExactly(request.url)
        else { return }
        let answer = Validator(head, start: segment.ask.start)
        state.bytesTotal = state.bytesTotal ?? answer.length
        state.validator?.adopt(answer)
        if state.validator?.length == nil { state.validator?.length = state.bytesTotal }
        state.askedURL = request.url
    }

    private var isVersionKnown: Bool {
        guard state.bytesTotal != nil, let validator = state.validator else { return false }
        return validator.length != nil && validator.isNamed
    }

    /// The fetch is on its way out, and the body of this answer may have come meanwhile: what of it
    /// belongs to the version that is held is kept, and nothing is given up for the rest.
    private mutating func lateHead(
        _ head: ResponseHead, at index: Int, _ context: FetchContext, _ step: inout FetchStep
    ) {
        let segment = segments[index]
        guard segment.isOpen else { return }
        let decision = judge(
            segment.ask, head, pinned: state.validator, maxSize: request.options.maxSize
        ).decision
        func accept() {
            segments[index].head = head
            segments[index].decision = decision
        }
        switch decision {
        case .append(let plan):
            accept()
            segments[index].begins(at: plan.position + plan.compare, end: plan.end)
            if plan.compare == 0 { learnVersion(segments[index]) }
        case .skip(let plan) where !segment.isParallel:
            accept()
            segments[index].begins(at: plan.position + plan.compare, end: plan.end)
        case .fresh(let validator, _) where decision.verdict != .hold && !segment.isParallel:
            accept()
            pin(validator, head, segment.key, context, &step)
        // A pause that the server asks for holds for whoever comes next, this one again maybe.
        case .fail(let failure) where failure.retryAfter != nil:
            blame(failure, context, &step)
        case .fresh, .skip, .restart, .alreadyComplete, .restartFromZero, .dropSegment, .redirect,
            .fail, .empty:
            break
        }
    }

    /// The first answer of a representation says what it is; those that bring the rest add nothing.
    private mutating func keep(_ head: ResponseHead) {
        guard request.options.keepsResponse, state.response == nil else { return }
        state.response = TransferResponse(head, length: state.bytesTotal)
    }

    /// A good answer ends an origin's cool-down for all who wait, long before this transfer has
    /// ended.
    private func noteHealth(
        _ head: ResponseHead, _ context: FetchContext, _ step: inout FetchStep
    ) {
        guard let origin = asked(context), head.status == 200 || head.status == 206
        else { return }
        let http2 = head.httpVersion >= 20
        guard origin.mayRecover(at: context.now.wall) || origin.speaksHTTP2 != http2
        else { return }
        step.writes.append(
            .originWorked(origin: origin.origin, bytesPerSecond: nil, http2: http2))
    }

    /// The first answer of a representation: commit what it is before its first byte is written,
    /// unless it is small.
    private mutating func pin(
        _ validator: Validator, _ head: ResponseHead, _ key: SegmentKey, _ context: FetchContext,
        _ step: inout FetchStep
    ) {
        fromZero = nil
        rangesOffered = head.headers.offersByteRanges
        state.response = nil
        keep(head)
        state.validator = validator
        noteSource()
        state.bytesTotal = validator.length
        state.askedURL = request.url
        state.effectiveURL = head.effectiveURL
        state.contentCoding = head.headers.contentCoding
        // Whoever asks for it: another of those that share the fetch may.
        state.proposedName = head.headers["Content-Disposition"]
            .flatMap(ContentDisposition.fileName).flatMap(FileNaming.sanitised)
        guard let index = segments.firstIndex(where: { $0.key == key }),
            let decision = segments[index].decision, decision.verdict == .hold
        else {
            pinDue = context.now.monotonic + Limits.pinSeconds
            return
        }
        pinDue = nil
        segments[index].isOpen = false
        held = HeldBody(
            key: key,
            plan: BodyPlan(position: 0, end: validator.length ?? request.options.maxSize))
        state.isPrefetched = false
        step.writes.append(.save(state))
        if case .restart = decision {
            // The truncation follows the commit: a power cut between the two leaves a longer file,
            // never a spliced one.
            step.durable = true
            isEmptying = true
            step.effects.append(.truncate(generation: state.generation))
        } else if let length = validator.length {
            step.effects.append(.reserve(bytes: length))
        } else {
            proceedWithHeld(&step)
        }
    }

    mutating func proceedWithHeld(_ step: inout FetchStep) {
        guard let held, stage == .moving else { return }
        self.held = nil
        for index in segments.indices where segments[index].key == held.key {
            segments[index].isOpen = true
        }
        step.effects.append(.proceed(held.key, held.plan))
    }

    /// A parallel request is of use only if it appends under the pinned validator. One that shows
    /// another version brings nothing and changes nothing: of several servers behind one name, two
    /// may call the same file by two tags, and what the others bring is of the version that they
    /// began. What is left when they are done is asked for alone, and that answer decides.
    private mutating func parallelHead(
        _ decision: ResumeDecision, at index: Int, _ context: FetchContext,
        _ step: inout FetchStep
    ) {
        switch decision {
        case .append(let plan):
            segments[index].begins(at: plan.position + plan.compare, end: plan.end)
            rangesProven = true
            takeOver(from: index, plan, context, &step)
        // One more is too many just now: settled when it has ended.
        case .fail where segments[index].head?.status ?? 0 >= 400: break
        case .fresh, .skip, .restart, .alreadyComplete, .restartFromZero, .dropSegment,
            .redirect, .fail, .empty:
            rangesRefused = true
        }
    }

    /// Not before its head is good: who fetches the same bytes until then goes on with them if it
    /// is not. Its body has waited for that.
    private mutating func takeOver(
        from index: Int, _ plan: BodyPlan, _ context: FetchContext, _ step: inout FetchStep
    ) {
        let start = segments[index].start
        let other = segments.indices.first { other in
            let segment = segments[other]
            return other != index && segment.isWriting && segment.start <= start
                && start < segment.end ?? .max
        }
        if let other {
            let seconds = context.now.monotonic - segments[other].begunAt
            let bytes = segments[other].written - segments[other].start
            let soon = seconds > 0 ? Double(bytes) / seconds * Limits.takeOverSeconds : 0
            if Double(start - segments[other].written) < soon {
                // The other one is there already, or nearly: it brings the rest as soon.
                noteRefused(segments[index], context)
                step.effects.append(.stop([segments[index].key]))
                return
            }
            segments[other].end = start
            step.effects.append(.shrink(segments[other].key, end: start))
        }
        ceiling.worked(segments.count(where: \.isWriting))
        step.effects.append(.proceed(segments[index].key, plan))
    }
}

extension SegmentAsk {
    /// What the body of an answer is good for, judged on the transport's thread by the same pure
    /// function that the machine uses.
    package func verdict(_ head: ResponseHead) -> HeadVerdict {
        let decision = judge(ask, head, pinned: pinned, maxSize: maxSize).decision
        switch decision {
        case .redirect: return .redirect
        // Until whoever fetches the same bytes has been told to leave them.
        case .append: return isParallel ? .hold : bounded(decision.verdict)
        case .fresh, .skip, .restart, .alreadyComplete, .restartFromZero, .dropSegment, .fail,
            .empty:
            return isParallel ? .refuse : bounded(decision.verdict)
        }
    }

    /// Where nobody tells how long the file is, no more is taken than is allowed. A bound, and no
    /// promise: a body that ends before it is whole.
    private func bounded(_ verdict: HeadVerdict) -> HeadVerdict {
        guard case .accept(var plan) = verdict, plan.end == nil else { return verdict }
        plan.end = maxSize
        return .accept(plan)
    }
}

extension ResponseHead.Scheme {
    init(of url: String) {
        let name = url.prefix(5).lowercased()
        if name.hasPrefix("ftp") {
            self = .ftp
        } else {
            self = name.hasPrefix("sftp:") ? .sftp : .http
        }
    }
}
