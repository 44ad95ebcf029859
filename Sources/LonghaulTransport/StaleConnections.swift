/// The origins whose connections stopped working without an error. Connections made before are not
/// reused: others of the same origin took the same route, and each would cost a stall timeout.
/// After a change of network or a sleep of the machine this applies to all origins.
struct StaleConnections {
    /// The moment of each origin's latest failure, in monotonic nanoseconds.
    private var origins: [Substring: Int64] = [:]
    private var all: Int64?
    private var asleep: Int64?

    /// libcurl does not reuse a connection that was idle for longer (CURLOPT_MAXAGE_CONN).
    static let idleMax: Int64 = 118_000_000_000
    /// The least difference that counts as sleep: the two clocks are not read at the same moment.
    private static let sleep: Int64 = 1_000_000_000

    mutating func note(_ origin: Substring, now: Int64) {
        origins = origins.filter { now - $0.value <= Self.idleMax }
        origins[origin] = now
    }

    mutating func noteAll(now: Int64) { all = now }

    /// - Parameter asleep: the total time that the machine has slept since it was started.
    mutating func note(asleep: Int64, now: Int64) {
        if let before = self.asleep, asleep - before >= Self.sleep { noteAll(now: now) }
        self.asleep = asleep
    }

    /// The greatest age in nanoseconds of usable connections to this origin; `nil` = any age.
    func trustedFor(_ origin: Substring, now: Int64) -> Int64? {
        guard let since = [all, origins[origin]].compactMap(\.self).max() else { return nil }
        return now - since <= Self.idleMax ? now - since : nil
    }
}
