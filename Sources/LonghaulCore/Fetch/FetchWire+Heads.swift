internal import LonghaulModel

/// Acts on an answer once its head is in.
extension FetchWire {
    mutating func head(_ key: SegmentKey, _ head: ResponseHead, _ context: FetchContext) {
        guard let index = segments.firstIndex(where: { $0.key == key }) else { return }
        let segment = segments[index]
        let judgement = frame.judgement(of: head, for: segment.ask)
        segments[index].head = head
        frame.bytes.isLengthAdvice = head.scheme == .ftp
        heard(index, at: context.now.monotonic)
        segments[index].judgement = judgement
        if !segment.ask.isAside { frame.run.lastHTTPVersion = head.httpVersion }
        frame.noteIdentity(of: segment.url, context)
        frame.step.writes +=
            frame.memory(of: segment.url, context)?
            .writes(after: head, judgement, segment.ask, now: context.now.wall) ?? []
        if segment.isParallel {
            parallelHead(judgement.decision, at: index, context)
            return
        }
        switch judgement.decision {
        case .fresh(let validator, _): pin(validator, head, key, context)
        case .append(let plan):
            segments[index].begins(plan)
            frame.bytes.rangesProven = true
            if plan.compare == 0 {
                frame.bytes.learnVersion(segments[index], askedFor: frame.target.request.url)
            }
            frame.bytes.state.effectiveURL = head.effectiveURL
            frame.bytes.keep(head, for: frame.target.request)
        case .skip(let plan):
            fromZero = nil
            segments[index].begins(plan)
            frame.run.hindrance = "the server sends the whole file again in place of the rest"
            frame.connections.rangesOffered = head.headers.offersByteRanges
            frame.bytes.state.effectiveURL = head.effectiveURL
        case .restart(let reason, let validator):
            frame.void(reason)
            segments[index].begins(at: 0, end: head.bodyEnd(length: validator.length))
            pin(validator, head, key, context)
        case .alreadyComplete, .restartFromZero, .dropSegment, .redirect, .fail, .empty:
            // The transport reads no body of these; what they mean is settled when the request has
            // ended.
            break
        }
    }

    /// The fetch is on its way out, and the body of this answer may have come meanwhile: what of it
    /// belongs to the version that is held is kept, and nothing is given up for the rest.
    mutating func lateHead(_ key: SegmentKey, _ head: ResponseHead, _ context: FetchContext) {
        guard let index = segments.firstIndex(where: { $0.key == key }), segments[index].isOpen
        else { return }
        let segment = segments[index]
        let judgement = frame.judgement(of: head, for: segment.ask)
        let decision = judgement.decision
        func accept(_ plan: BodyPlan? = nil) {
            segments[index].head = head
            segments[index].judgement = judgement
            if let plan { segments[index].begins(plan) }
        }
        switch decision {
        case .append(let plan):
            accept(plan)
            if segment.ask.isAside { frame.bytes.state.validator?.isJoined = true }
            if plan.compare == 0 {
                frame.bytes.learnVersion(segments[index], askedFor: frame.target.request.url)
            }
        case .skip(let plan) where !segment.isParallel: accept(plan)
        case .fresh(let validator, _) where decision.verdict != .hold && !segment.isParallel:
            accept()
            pin(validator, head, key, context)
        // A pause that the server asks for holds for the next request, of this transfer or another.
        case .fail(let failure) where failure.retryAfter != nil:
            frame.blame(failure, of: segment.url, context)
        case .fresh, .skip, .restart, .alreadyComplete, .restartFromZero, .dropSegment, .redirect,
            .fail, .empty:
            break
        }
    }

    /// The first answer of a representation: commit what it is before its first byte is written,
    /// unless it is small.
    private mutating func pin(
        _ validator: Validator, _ head: ResponseHead, _ key: SegmentKey, _ context: FetchContext
    ) {
        fromZero = nil
        frame.connections.rangesOffered = head.headers.offersByteRanges
        frame.bytes.pin(validator, head, for: frame.target.request, at: url)
        guard let index = segments.firstIndex(where: { $0.key == key }),
            let decision = segments[index].decision, decision.verdict == .hold
        else {
            frame.bytes.checkpoints.pinDue = context.now.monotonic + Limits.pinSeconds
            return
        }
        frame.bytes.checkpoints.pinDue = nil
        segments[index].isOpen = false
        held = HeldBody(
            key: key,
            plan: BodyPlan(
                position: 0,
                end: head.bodyEnd(length: validator.length) ?? frame.target.request.options.maxSize)
        )
        frame.bytes.state.isPrefetched = false
        frame.save()
        if case .restart = decision {
            // The truncation follows the commit: a power cut between the two leaves a longer file,
            // never a spliced one.
            frame.step.durable = true
            isEmptying = true
            frame.step.effects.append(.truncate(generation: frame.bytes.state.generation))
        } else if let length = validator.length {
            frame.step.effects.append(.reserve(bytes: length))
        } else {
            proceedWithHeld()
        }
    }

    mutating func proceedWithHeld() {
        guard let held else { return }
        self.held = nil
        for index in segments.indices where segments[index].key == held.key {
            segments[index].isOpen = true
        }
        frame.step.effects.append(.proceed(held.key, held.plan))
    }

    /// A parallel request is of use only if it appends under the pinned validator. One that shows
    /// another version brings nothing and changes nothing: of several servers behind one name, two
    /// may call the same file by two tags, and what the others bring is of the version that they
    /// began. What is left when they are done is asked for alone, and that answer decides.
    private mutating func parallelHead(
        _ decision: ResumeDecision, at index: Int, _ context: FetchContext
    ) {
        switch decision {
        case .append(let plan):
            segments[index].begins(plan)
            if segments[index].ask.isAside {
                frame.bytes.state.validator?.isJoined = true
            } else {
                frame.bytes.rangesProven = true
            }
            takeOver(from: index, plan, context)
        // What it means for its source is settled when the request has ended.
        case _ where segments[index].ask.isAside: break
        // The server refuses one more request just now: this is settled when the request has ended.
        case .fail where segments[index].head?.status ?? 0 >= 400: break
        case .fresh, .skip, .restart, .alreadyComplete, .restartFromZero, .dropSegment,
            .redirect, .fail, .empty:
            frame.connections.rangesRefused = true
        }
    }

    /// Takes a range over from the request that fetches the same bytes. The head must be good:
    /// otherwise that request goes on with them. The body has waited for that.
    private mutating func takeOver(from index: Int, _ plan: BodyPlan, _ context: FetchContext) {
        let start = segments[index].start
        let other = segments.indices.first { other in
            let segment = segments[other]
            return other != index && segment.isWriting && segment.start <= start
                && start < segment.end ?? .max
        }
        if let other {
            if segments[other].reaches(start, soonAt: context.now.monotonic) {
                // The other one is there already, or nearly: it brings the rest as soon.
                noteRefused(segments[index], context)
                frame.step.effects.append(.stop([segments[index].key]))
                return
            }
            assert(start < segments[other].end ?? .max, "a range is only shortened")
            segments[other].end = start
            frame.step.effects.append(.shrink(segments[other].key, end: start))
        }
        frame.connections.worked(segments.count(where: \.isWriting))
        frame.step.effects.append(.proceed(segments[index].key, plan))
    }
}
