package import LonghaulModel

/// A request on the wire.
package struct ActiveSegment: Hashable, Sendable {
    package let key: SegmentKey
    package let number: Int
    package let ask: RangeRequest
    package let url: String
    package let startedAt: Timestamp
    /// The same moment, for how long it has taken.
    package let begunAt: Instant
    /// Offset at which the request begins to write: the plan's position after the overlap.
    package var start: Int64
    /// End of the request's range; `nil` = open.
    package var end: Int64?
    /// File offset after the last byte written.
    package var written: Int64
    package var received: Int64 = 0
    package var head: ResponseHead?
    package var judgement: ResumeJudgement?
    package var isParallel: Bool
    /// When it was sent, or something last came of it.
    package internal(set) var heardAt: Instant
    /// The request was silent, or brings what no reader waits for: it is to end so that others
    /// fetch the rest of its range.
    package internal(set) var isGivenUp = false
    /// The request asks whether the version of the kept file is still the current one: else a 304
    /// answers nothing.
    package internal(set) var asksForChange = false
    /// False while its body is held back: its cell has the intended start, in a version that may
    /// have been given up. No byte was written there.
    package var isOpen = true

    package init(
        key: SegmentKey, number: Int, ask: RangeRequest, url: String, startedAt: Moment,
        isParallel: Bool
    ) {
        assert((ask.end ?? .max) > ask.position, "an empty range is never asked for")
        self.key = key
        self.number = number
        self.ask = ask
        self.url = url
        self.startedAt = startedAt.wall
        begunAt = startedAt.monotonic
        heardAt = startedAt.monotonic
        self.isParallel = isParallel
        start = ask.position
        end = ask.end
        written = start
    }

    /// The head told which of the body's bytes are new.
    mutating func begins(_ plan: BodyPlan) {
        begins(at: plan.position + plan.compare, end: plan.end)
    }

    /// The head told where the body's bytes go.
    mutating func begins(at start: Int64, end: Int64?) {
        assert(start >= 0, "a body begins in the file")
        self.start = start
        self.end = end
        written = start
    }
}

extension ActiveSegment {
    package var decision: ResumeDecision? { judgement?.decision }

    /// The end of the body is the end of the file.
    var bringsTheWhole: Bool {
        switch decision {
        case .fresh, .skip, .restart: true
        // RFC 959 §3.4: a file over FTP ends with its data connection.
        case .append: head?.scheme == .ftp && end == nil
        case .alreadyComplete, .restartFromZero, .dropSegment, .redirect, .fail, .empty,
            nil:
            false
        }
    }

    /// The request has brought a byte that was missing.
    var hasWritten: Bool { isWriting && written > start }

    /// The board's numbers belong to this request: only after its head was found good.
    var isWriting: Bool {
        switch decision {
        case .fresh, .append, .skip, .restart: true
        case .alreadyComplete, .restartFromZero, .dropSegment, .redirect, .fail, .empty, nil: false
        }
    }

    /// Enough to say that it was let in, and merely cut off when it ended early.
    var hasBroughtAPiece: Bool { isWriting && written - start >= Limits.minPieceBytes }

    /// The request has reached the position, or nearly.
    func reaches(_ position: Int64, soonAt now: Instant) -> Bool {
        let seconds = now - begunAt
        let count = written - start
        let soon = seconds > 0 ? Double(count) / seconds * Limits.takeOverSeconds : 0
        return Double(position - written) < soon
    }

    /// Tells whether it writes this byte next, or will in a moment. One whose body has not begun is
    /// waited for, and so is one that was sent for that byte.
    func brings(_ position: Int64, soonAt now: Instant) -> Bool {
        if !isWriting || ask.position == position { return true }
        guard start <= position, position < end ?? .max else { return false }
        return position <= written || reaches(position, soonAt: now)
    }

    func asActive(total: Int64, now: Instant) -> SegmentPlanner.Active {
        let seconds = now - begunAt
        return SegmentPlanner.Active(
            range: start..<max(start, end ?? total), written: written,
            bytesPerSecond: seconds > 0.5 ? Double(written - start) / seconds : nil)
    }
}

/// See ``HeadVerdict/hold``.
package struct HeldBody: Hashable, Sendable {
    package var key: SegmentKey
    package var plan: BodyPlan
}
