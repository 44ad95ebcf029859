internal import LonghaulModel

/// How many requests a fetch has on the wire at a time: what the server has shown to allow, what
/// has paid so far, and which request is given up because nothing comes of it.
struct ConnectionPolicy: Sendable {
    private var auto = AutoConnections()
    /// No more than have worked, for a while after one was refused or cut off at once.
    private var ceiling = ConnectionCeiling()
    private var lastSample: ThroughputSample?
    private var silence = SilenceWatch()
    private var tails = SlowTails()
    /// Of the requests on the wire, where nothing is left to split.
    private var paces: [SegmentKey: Pace] = [:]
    /// The answer that said what the file is has promised ranges.
    var rangesOffered = false
    /// A parallel request came back with something else: one connection it is.
    var rangesRefused = false
    /// A request of this run has brought everything that it was sent for.
    var hasEndedWell = false

    /// Parts belong together: ranges were answered, or at least promised, and a strong validator
    /// names the version.
    func maySplit(_ bytes: FetchBytes) -> Bool {
        !rangesRefused && bytes.state.validator?.isStrong == true
            && (bytes.rangesProven || rangesOffered)
    }

    /// A request that leaves the wire is known to cost no byte.
    func goesOnWhenAskedAgain(_ bytes: FetchBytes) -> Bool {
        bytes.rangesProven || rangesOffered && bytes.state.validator?.isStrong == true
    }

    // MARK: - How many

    /// Number of connections: the result of the last sample, within what the server has not
    /// refused.
    func count(for target: FetchTarget, _ context: FetchContext) -> Int {
        let most = most(for: target, context)
        return target.isConnectionCountAutomatic ? min(most, auto.allowed) : most
    }

    /// Largest number that the transfer, its origin's budget and the server allow.
    func most(for target: FetchTarget, _ context: FetchContext) -> Int {
        min(target.connectionsMax, max(1, context.connectionsAllowed), ceiling.allowed ?? .max)
    }

    /// Another sample may lead to another connection.
    func isTrying(for target: FetchTarget, total: Int64) -> Bool {
        target.isConnectionCountAutomatic && target.connectionsMax > 1 && !auto.isSettled
            && ceiling.allowed ?? .max >= auto.allowed && total >= 2 * Limits.minSplitBytes
    }

    /// Looked at while bytes come: where none do, another connection is no help.
    mutating func observe(held: Int64, at now: Instant) {
        ceiling.look(held: held, now: now)
    }

    mutating func sample(held: Int64, total: Int64, running: Int, at now: Instant) {
        assert(running >= 0, "requests are counted from zero")
        guard let last = lastSample else {
            lastSample = ThroughputSample(at: now, bytes: held)
            return
        }
        let seconds = now - last.at
        guard seconds >= Limits.splitTickSeconds / 2 else { return }
        auto.sample(
            bytesPerSecond: Double(held - last.bytes) / seconds, remaining: total - held,
            running: running, now: now)
        lastSample = ThroughputSample(at: now, bytes: held)
    }

    mutating func refused(beside working: Int, held: Int64, at now: Instant) {
        assert(working >= 0 && held >= 0, "requests and bytes are counted from zero")
        ceiling.refused(beside: working, held: held, now: now)
    }

    mutating func worked(_ count: Int) {
        assert(count > 0, "the request that has proven itself is one of them")
        ceiling.worked(count)
    }

    // MARK: - Silence

    mutating func heard(after seconds: Double) {
        silence.heard(after: seconds)
    }

    /// The first request that has been silent for too long. A connection that has gone silent with
    /// the last part would hold all of the file up until the stall timeout, while others have
    /// nothing left to do.
    mutating func giveUpSilent(
        among segments: [ActiveSegment], at now: Instant
    ) -> SegmentKey? {
        let index = segments.firstIndex { segment in
            silence.mayGiveUp(at: segment.written, silentFor: now - segment.heardAt)
        }
        guard let index else { return nil }
        silence.gaveUp(at: segments[index].written)
        return segments[index].key
    }
}

extension ConnectionPolicy {
    /// A request has brought everything that it was sent for.
    mutating func endedWell(_ segment: ActiveSegment, at now: Instant) {
        assert(segment.written >= segment.start, "bytes are written behind the start")
        hasEndedWell = true
        tails.ended(bytes: segment.written - segment.start, after: now - segment.begunAt)
    }

    /// The first request whose rest is better asked for on another connection.
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
        if let slow { tails.gaveUp(at: slow.written) }
        return slow?.key
    }
}

/// How quick a request is lately.
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

/// Seconds between two marks.
private let paceSeconds: Double = 4

/// How many bytes were held at a moment.
private struct ThroughputSample: Hashable, Sendable {
    var at: Instant
    var bytes: Int64
}
