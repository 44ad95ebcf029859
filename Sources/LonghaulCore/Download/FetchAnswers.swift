package import LonghaulModel

/// Facts in an answer's head besides the place of its bytes.
extension OriginMemory {
    func writes(
        after head: ResponseHead, _ judgement: ResumeJudgement, _ ask: RangeRequest,
        now: Timestamp
    ) -> [StoreWrite] {
        var writes: [StoreWrite] = []
        if let lesson = lesson(of: judgement, ask, head) {
            writes.append(.learn(origin: origin, lesson))
        }
        let http2 = head.httpVersion >= 20
        // A good answer ends the origin's cool-down for all transfers that wait, long before this
        // one has ended.
        if head.status == 200 || head.status == 206, mayRecover(at: now) || speaksHTTP2 != http2 {
            writes.append(.originWorked(origin: origin, bytesPerSecond: nil, http2: http2))
        }
        return writes
    }

    /// The lesson of an answer, unless it is known already. The behaviour of a proxy is not that of
    /// its origin.
    private func lesson(
        of judgement: ResumeJudgement, _ ask: RangeRequest, _ head: ResponseHead
    ) -> OriginLesson? {
        guard !head.isProxied, head.scheme == .http else { return nil }
        var lesson = judgement.learned
        if case .append = judgement.decision {
            lesson = ask.isConditional ? .honoursIfRange : .honoursRanges
        }
        guard let lesson else { return nil }
        var changed = self
        changed.learn(lesson)
        return changed == self ? nil : lesson
    }
}

extension SegmentAsk {
    /// Judges the use of an answer's body on the transport's thread, by the same pure function that
    /// the machine uses.
    package func verdict(_ head: ResponseHead) -> HeadVerdict {
        let decision = judge(ask, head, pinned: pinned, maxSize: maxSize).decision
        switch decision {
        case .redirect: return .redirect
        // The body is held until the request that fetches the same bytes has been told to leave
        // them.
        case .append: return isParallel ? .hold : bounded(decision.verdict)
        case .fresh, .skip, .restart, .alreadyComplete, .restartFromZero, .dropSegment, .fail,
            .empty:
            return isParallel ? .refuse : bounded(decision.verdict)
        }
    }

    /// Bounds a body whose file has an unknown length by the bytes that are allowed. The bound is
    /// no promise: a body that ends before it is whole.
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
