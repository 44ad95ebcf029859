package import LonghaulCore

/// The body of an answer or of an upload, as the server sees it.
package struct ServedBody {
    /// Its range of the file.
    package var range: Range<Int64> = 0..<0
    /// Bytes of it that were sent.
    package var sent: Int64 = 0
    /// Bytes per second.
    package var rate: Double = 0
    /// It breaks off after this many bytes.
    package var cutAfter: Int64?
    /// The server is silent after this many bytes.
    package var silentAfter: Int64?
    /// More than was promised follows.
    package var isTooLong = false

    /// Bytes that pass at most in a step, up to where it breaks off or stalls.
    package func bounded(_ count: Int64) -> Int64 {
        [silentAfter, cutAfter].compactMap(\.self).reduce(count) { min($0, max(1, $1 - sent)) }
    }
}

/// A request on a simulated wire, from its start to its end.
package struct SimulatedRequest {
    package enum Phase {
        /// Waits for one of its origin's connections.
        case queued
        /// On its way to the server, until this moment.
        case asked(Instant)
        /// The engine is to decide how the body is used.
        case held
        case moving
    }

    package var request: SegmentRequest
    package var phase = Phase.queued
    /// The URL after redirects.
    package var url: String
    package var redirects = 0
    package var served = ServedBody()
    package var plan = BodyPlan(position: 0)
    package var isOpen = false
    /// Reaching this offset is a good end.
    package var stopAt: Int64?
    package var position: Int64 = 0
    package var hasWritten = false
    package var received: Int64 = 0
    package var noticed: Int64 = 0
    /// When the server last sent something.
    package var touched: Instant
    /// The network has changed under it.
    package var isSuspect = false
    /// The engine has stopped it; the network thread has not seen that yet.
    package var isStopping = false

    init(_ request: SegmentRequest, now: Instant) {
        self.request = request
        url = request.url
        touched = now
    }

    package var isQueued: Bool {
        if case .queued = phase { return true }
        return false
    }

    mutating func open(_ given: BodyPlan, now: Instant) {
        plan = given
        if let end = request.end { plan.end = min(end, plan.end ?? end) }
        if plan.isCutAtEnd, let end = plan.end { stopAt = min(end, stopAt ?? end) }
        phase = .moving
        isOpen = true
        position = plan.position
        noticed = plan.position
        touched = now
    }

    /// True if the engine is to hear of the bytes since the last notice.
    package mutating func isNoticeDue(at position: Int64) -> Bool {
        guard position - noticed >= request.noticeEvery else { return false }
        noticed = position
        return true
    }

    /// The offsets of its Range field; the end is exclusive, `nil` for an open range.
    package var askedRange: (start: Int64, end: Int64?)? {
        guard let field = request.headers["Range"], field.hasPrefix("bytes=") else { return nil }
        let ends = field.dropFirst("bytes=".count).split(
            separator: "-", omittingEmptySubsequences: false)
        return (Int64(ends[0]) ?? 0, ends.count > 1 ? Int64(ends[1]).map { $0 + 1 } : nil)
    }

    /// Answers with a part of a file: 206, or 416 if it has no such part.
    package mutating func answer(
        with part: Range<Int64>, of size: Int64, in head: inout ResponseHead
    ) {
        served.range = part
        head.status = part.isEmpty ? 416 : 206
        head.headers["Content-Range"] =
            part.isEmpty
            ? "bytes */\(size)" : "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(size)"
    }
}
