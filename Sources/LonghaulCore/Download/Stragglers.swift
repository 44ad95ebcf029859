internal import LonghaulModel

/// Seconds between two marks of a request's pace.
private let paceSeconds: Double = 4

/// Finds requests that are silent or far slower than the others of their fetch, when no other work
/// is left for a free connection.
struct Stragglers: Sendable {
    private var silence = SilenceWatch()
    private var tails = SlowTails()
    /// Of the requests on the wire, once nothing is left to split.
    private var paces: [SegmentKey: Pace] = [:]
    /// A request of this run has brought its whole range.
    private(set) var hasEndedWell = false

    mutating func heard(after seconds: Double) {
        silence.heard(after: seconds)
    }

    mutating func endedWell(_ segment: ActiveSegment, at now: Instant) {
        assert(segment.written >= segment.start, "bytes are written behind the start")
        hasEndedWell = true
        tails.ended(bytes: segment.written - segment.start, after: now - segment.begunAt)
    }

    /// The first request that has been silent for too long. A connection that goes silent with the
    /// last part would delay the whole file until the stall timeout.
    mutating func giveUpSilent(among segments: [ActiveSegment], at now: Instant) -> SegmentKey? {
        let silent = segments.first { segment in
            silence.mayGiveUp(at: segment.written, silentFor: now - segment.heardAt)
        }
        if let silent { silence.places.add(silent.written) }
        return silent?.key
    }

    /// The first request whose rest another connection would bring sooner.
    mutating func giveUpSlow(
        among segments: [ActiveSegment], total: Int64, at now: Instant
    ) -> SegmentKey? {
        paces = segments.reduce(into: [:]) { found, segment in
            found[segment.key] = (paces[segment.key] ?? Pace()).measured(segment.written, at: now)
        }
        let slow = segments.first { segment in
            segment.isWriting
                && tails.isSlow(
                    segment.written..<max(segment.written, segment.end ?? total),
                    rate: paces[segment.key]?.rate)
        }
        if let slow { tails.places.add(slow.written) }
        return slow?.key
    }
}

/// The recent throughput of a request.
private struct Pace {
    /// Bytes per second between the last two marks.
    private(set) var rate: Double?
    private var mark: ThroughputSample?

    func measured(_ written: Int64, at now: Instant) -> Pace {
        let seconds = mark.map { now - $0.at } ?? .infinity
        guard seconds >= paceSeconds else { return self }
        var next = Pace()
        next.rate = mark.map { Double(written - $0.bytes) / seconds }
        next.mark = ThroughputSample(at: now, bytes: written)
        return next
    }
}
