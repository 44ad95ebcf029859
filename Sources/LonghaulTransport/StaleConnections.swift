/// Where connections have died unseen: those that were made before are not used again. Others of
/// the same origin went the same way, and each would cost a stall timeout; after a
/// change of network or a sleep of the machine hardly any leads somewhere.
struct StaleConnections {
    /// Until when connections of an origin are not trusted, in monotonic nanoseconds.
    private var origins: [Substring: Int64] = [:]
    private var all: Int64?
    private var asleep: Int64?

    /// libcurl uses no connection again that was idle for longer (CURLOPT_MAXAGE_CONN).
    static let idleMax: Int64 = 118_000_000_000
    /// The machine has slept. Clocks that are read one after the other differ a little.
    private static let sleep: Int64 = 1_000_000_000

    mutating func note(_ origin: Substring, now: Int64) {
        origins = origins.filter { now - $0.value <= Self.idleMax }
        origins[origin] = now
    }

    mutating func noteAll(now: Int64) { all = now }

    /// - Parameter asleep: for how long the machine has slept, ever.
    mutating func note(asleep: Int64, now: Int64) {
        if let before = self.asleep, asleep - before >= Self.sleep { noteAll(now: now) }
        self.asleep = asleep
    }

    /// Nanoseconds since when connections of this origin may be used; `nil` = any may.
    func trustedFor(_ origin: Substring, now: Int64) -> Int64? {
        guard let since = [all, origins[origin]].compactMap(\.self).max() else { return nil }
        return now - since <= Self.idleMax ? now - since : nil
    }
}
