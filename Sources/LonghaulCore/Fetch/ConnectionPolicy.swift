internal import LonghaulModel

/// The number of requests that a fetch has on the wire at a time, from the server's refusals and
/// the throughput of the last samples.
struct ConnectionPolicy: Sendable {
    private var auto = AutoConnections()
    /// After a refusal no more than have worked, for a while.
    private var ceiling = ConnectionCeiling()
    private var lastSample: ThroughputSample?

    /// Number of connections: the result of the last sample, within the server's ceiling.
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
}

/// The bytes held, or written, at a moment.
struct ThroughputSample: Hashable, Sendable {
    var at: Instant
    var bytes: Int64
}
