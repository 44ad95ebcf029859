/// What an answer means, once its head is in.
extension FetchMachine {
    /// One request for the first missing bytes, or for the whole from zero.
    mutating func askNext(_ context: FetchContext, _ step: inout FetchStep) {
        precondition(segments.isEmpty, "the first request of a round goes out alone")
        let gap = firstGap
        let ask = RangeAsk.plan(
            held: fromZero ? 0 : gap.lowerBound, end: gap.end, validator: state.validator,
            origin: context.origin, scheme: ResponseHead.Scheme(url: url))
        send(ask, start: gap.lowerBound, end: gap.end, isParallel: false, context, &step)
    }

    /// Where the next bytes are missing: `end` is nil while the length is unknown, or the gap runs to it.
    private var firstGap: (lowerBound: Int64, end: Int64?) {
        guard let total = state.bytesTotal else { return (have.prefix, nil) }
        guard let gap = have.gaps(upTo: total).first else { return (have.prefix, nil) }
        return (gap.lowerBound, gap.upperBound == total ? nil : gap.upperBound)
    }

    mutating func send(
        _ ask: RangeAsk, start: Int64, end: Int64?, isParallel: Bool, _ context: FetchContext,
        _ step: inout FetchStep
    ) {
        let key = SegmentKey(fetch: state.id, serial: nextSerial)
        nextSerial += 1
        state.attempts += 1
        segments.append(
            ActiveSegment(
                key: key, ask: ask, url: url, startedAt: context.now.wall, start: start, end: end,
                isParallel: isParallel))
        step.effects.append(
            .ask(
                SegmentAsk(
                    key: key, url: url, ask: ask, pinned: state.validator, isParallel: isParallel)))
    }

    mutating func head(
        _ key: SegmentKey, _ head: ResponseHead, _ context: FetchContext, _ step: inout FetchStep
    ) {
        guard stage == .moving, let index = segments.firstIndex(where: { $0.key == key })
        else { return }
        let segment = segments[index]
        let judgement = ResumeDecision.judge(segment.ask, head, pinned: state.validator)
        segments[index].head = head
        segments[index].decision = judgement.decision
        lastHTTPVersion = head.httpVersion
        if let lesson = judgement.learned {
            step.writes.append(.learn(origin: context.origin.origin, lesson))
        }
        if segment.isParallel {
            parallelHead(judgement.decision, at: index, &step)
            return
        }
        switch judgement.decision {
        case .fresh(let validator, _): pin(validator, head, key, context, &step)
        case .append(let plan):
            segments[index].start = plan.position + plan.compare
            segments[index].written = segments[index].start
            rangesProven = true
            state.effectiveURL = head.effectiveURL
        case .skip(let plan):
            segments[index].start = plan.position
            segments[index].written = plan.position
            state.effectiveURL = head.effectiveURL
        case .restart(let reason, let validator):
            voidBytes(reason.sentence, &step)
            segments[index].start = 0
            segments[index].written = 0
            segments[index].end = nil
            pin(validator, head, key, context, &step)
        case .alreadyComplete, .restartFromZero, .redirect, .fail, .empty:
            // The transport reads no body of these; what they mean is settled when the request has ended.
            break
        }
    }

    /// The first answer of a representation: commit what it is before its first byte is written, unless it is small.
    private mutating func pin(
        _ validator: Validator, _ head: ResponseHead, _ key: SegmentKey, _ context: FetchContext,
        _ step: inout FetchStep
    ) {
        fromZero = false
        state.validator = validator
        state.bytesTotal = validator.length
        state.askedURL = request.url
        state.effectiveURL = head.effectiveURL
        state.contentCoding = head.contentCoding
        if request.options.remoteName {
            state.proposedName = FileNaming.proposed(by: head)
        }
        if let limit = request.options.maxSize, let length = validator.length, length > limit {
            leave(
                .fail(
                    LonghaulError(
                        .tooLarge,
                        "The server announces \(length) bytes, more than the limit of \(limit); "
                            + "raise it with set --max-size.", transferID: transfer)),
                context, &step)
            return
        }
        guard let index = segments.firstIndex(where: { $0.key == key }),
            let decision = segments[index].decision, decision.verdict == .hold
        else { return }
        held = HeldBody(key: key, plan: BodyPlan(position: 0, end: bodyEnd))
        step.writes.append(.save(state))
        if case .restart = decision {
            step.effects.append(.truncate(generation: state.generation))
        } else if let length = validator.length {
            step.effects.append(.reserve(bytes: length))
        } else {
            proceedWithHeld(&step)
        }
    }

    /// Where a body must end: at its announced length, or one byte past the size limit, where it is found to break it.
    private var bodyEnd: Int64? {
        state.bytesTotal ?? request.options.maxSize
    }

    mutating func proceedWithHeld(_ step: inout FetchStep) {
        guard let held, stage == .moving else { return }
        self.held = nil
        step.effects.append(.proceed(held.key, held.plan))
    }

    /// A parallel request is of use only if it appends under the pinned validator; one that shows another version stops all.
    private mutating func parallelHead(
        _ decision: ResumeDecision, at index: Int, _ step: inout FetchStep
    ) {
        switch decision {
        case .append(let plan):
            segments[index].start = plan.position + plan.compare
            segments[index].written = segments[index].start
            rangesProven = true
        case .restart, .restartFromZero:
            rangesRefused = true
            fromZero = true
            step.effects.append(.stop(segments.map(\.key)))
        case .fresh, .skip, .alreadyComplete, .redirect, .fail, .empty:
            rangesRefused = true
        }
    }
}
