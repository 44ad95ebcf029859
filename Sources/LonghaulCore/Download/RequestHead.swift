internal import LonghaulModel

/// Acts on the head of an answer.
struct RequestHead {
    let wire: DownloadWire
    /// Of the request in ``DownloadWire/segments``.
    let index: Int
    let head: ResponseHead
    let context: FetchContext

    /// `nil`: the request is not on the wire.
    init?(of key: SegmentKey, _ head: ResponseHead, on wire: DownloadWire, _ context: FetchContext)
    {
        guard let index = wire.segments.firstIndex(where: { $0.key == key }) else { return nil }
        self.wire = wire
        self.index = index
        self.head = head
        self.context = context
    }

    private var frame: FetchFrame { wire.frame }
    private var segment: ActiveSegment {
        get { wire.segments[index] }
        nonmutating _modify { yield &wire.segments[index] }
    }

    private func judgement() -> ResumeJudgement {
        judge(
            segment.ask, head, pinned: frame.bytes.state.validator,
            maxSize: frame.target.request.options.maxSize)
    }

    func act() {
        let judgement = judgement()
        segment.head = head
        segment.judgement = judgement
        frame.bytes.isLengthAdvice = head.scheme == .ftp
        wire.heard(index, at: context.now.monotonic)
        let (ask, url) = (segment.ask, segment.url)
        if !ask.isAside { frame.run.lastHTTPVersion = head.httpVersion }
        frame.noteIdentity(of: url, context)
        frame.step.writes +=
            frame.memory(of: url, context)?
            .writes(after: head, judgement, ask, now: context.now.wall) ?? []
        if segment.isParallel { return actInParallel(judgement.decision) }
        switch judgement.decision {
        case .fresh(let validator, _): pin(validator)
        case .append(let plan):
            segment.begins(plan)
            frame.bytes.rangesProven = true
            learnVersion(plan)
            frame.bytes.state.effectiveURL = head.effectiveURL
            frame.bytes.keep(head, for: frame.target.request)
        case .skip(let plan):
            wire.fromZero = nil
            segment.begins(plan)
            frame.run.hindrance = "the server sends the whole file again in place of the rest"
            wire.rangesOffered = head.headers.offersByteRanges
            frame.bytes.state.effectiveURL = head.effectiveURL
        case .restart(let reason, let validator):
            frame.void(reason)
            segment.begins(at: 0, end: head.bodyEnd(length: validator.length))
            pin(validator)
        case .alreadyComplete, .restartFromZero, .dropSegment, .redirect, .fail, .empty:
            // The transport reads no body of these; they are settled when the request has ended.
            break
        }
    }

    /// The fetch is leaving, and the body of this answer may have come meanwhile: bytes of the
    /// version that is held are kept, and no byte is given up for the rest.
    func actLate() {
        if !segment.isOpen { return }
        let judgement = judgement()
        let decision = judgement.decision
        func accept(_ plan: BodyPlan? = nil) {
            segment.head = head
            segment.judgement = judgement
            if let plan { segment.begins(plan) }
        }
        switch decision {
        case .append(let plan):
            accept(plan)
            if segment.ask.isAside { frame.bytes.state.validator?.isJoined = true }
            learnVersion(plan)
        case .skip(let plan) where !segment.isParallel: accept(plan)
        case .fresh(let validator, _) where decision.verdict != .hold && !segment.isParallel:
            accept()
            pin(validator)
        // A pause that the server asks for holds for the next request, of this transfer or another.
        case .fail(let failure) where failure.retryAfter != nil:
            frame.blame(failure, of: segment.url, context)
        case .fresh, .skip, .restart, .alreadyComplete, .restartFromZero, .dropSegment, .redirect,
            .fail, .empty:
            break
        }
    }

    private func learnVersion(_ plan: BodyPlan) {
        if plan.compare > 0 { return }
        frame.bytes.learnVersion(segment, askedFor: frame.target.request.url)
    }

    /// The first answer of a representation: its version is committed before its first byte is
    /// written, unless it is small.
    private func pin(_ validator: Validator) {
        wire.fromZero = nil
        wire.rangesOffered = head.headers.offersByteRanges
        frame.bytes.pin(validator, head, for: frame.target.request, at: frame.url)
        guard let decision = segment.decision, decision.verdict == .hold else {
            frame.bytes.checkpoints.pinDue = context.now.monotonic + Limits.pinSeconds
            return
        }
        frame.bytes.checkpoints.pinDue = nil
        segment.isOpen = false
        let end = head.bodyEnd(length: validator.length) ?? frame.target.request.options.maxSize
        wire.held = HeldBody(key: segment.key, plan: BodyPlan(position: 0, end: end))
        frame.bytes.state.isPrefetched = false
        frame.save()
        if case .restart = decision {
            // The truncation follows the commit: a power cut between the two leaves a longer file,
            // never a spliced one.
            frame.step.durable = true
            wire.isEmptying = true
            frame.step.effects.append(.truncate(generation: frame.bytes.state.generation))
        } else if let length = validator.length {
            frame.step.effects.append(.reserve(bytes: length))
        } else {
            wire.proceedWithHeld()
        }
    }

    // MARK: - Beside others

    /// A parallel request is useful only if it appends under the pinned validator. One that shows
    /// another version brings nothing and changes nothing: of several servers behind one name, two
    /// may call the same file by two tags, and the others bring bytes of the version they began.
    /// The rest is requested alone when they have ended, and that answer decides.
    private func actInParallel(_ decision: ResumeDecision) {
        switch decision {
        case .append(let plan):
            segment.begins(plan)
            if segment.ask.isAside {
                frame.bytes.state.validator?.isJoined = true
            } else {
                frame.bytes.rangesProven = true
            }
            takeOver(plan)
        // Its source is judged when the request has ended.
        case _ where segment.ask.isAside: break
        // The server refuses one more request just now: this is settled when the request has ended.
        case .fail where head.status >= 400: break
        case .fresh, .skip, .restart, .alreadyComplete, .restartFromZero, .dropSegment,
            .redirect, .fail, .empty:
            wire.rangesRefused = true
        }
    }

    /// Takes a range over from the request that fetches the same bytes. The head must be good:
    /// otherwise that request continues. The body has waited for that.
    private func takeOver(_ plan: BodyPlan) {
        let start = segment.start
        let other = wire.segments.indices.first { other in
            let segment = wire.segments[other]
            return other != index && segment.isWriting && segment.start <= start
                && start < segment.end ?? .max
        }
        if let other {
            if wire.segments[other].reaches(start, soonAt: context.now.monotonic) {
                // The other one has reached the range, or nearly: it brings the rest as soon.
                wire.noteRefused(segment, context)
                frame.step.effects.append(.stop([segment.key]))
                return
            }
            assert(start < wire.segments[other].end ?? .max, "a range is only shortened")
            wire.segments[other].end = start
            frame.step.effects.append(.shrink(wire.segments[other].key, end: start))
        }
        frame.connections.worked(wire.segments.count(where: \.isWriting))
        frame.step.effects.append(.proceed(segment.key, plan))
    }
}
