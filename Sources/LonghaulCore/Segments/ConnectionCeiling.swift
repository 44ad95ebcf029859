/// How many connections at a time a server lets a fetch have, as far as it has shown that: one that
/// it has refused is neither asked for again at once nor given up for good. A value that is told
/// what happened; the same tale gives the same answers.
package struct ConnectionCeiling: Hashable, Sendable {
    /// `nil` = none was refused.
    package private(set) var allowed: Int?
    /// How long no more than that are tried.
    private var patience = Limits.anotherConnectionSeconds
    /// One more than have worked is allowed, and has not been had yet.
    private var isTrial = false
    private var since = Instant(nanoseconds: 0)
    /// Bytes held then.
    private var held: Int64 = 0

    package init() {}

    package mutating func refused(beside working: Int, held: Int64, now: Instant) {
        if isTrial { patience = min(2 * patience, Limits.anotherConnectionMaximumSeconds) }
        isTrial = false
        allowed = max(1, working)
        since = now
        self.held = held
    }

    /// So many work at a time.
    package mutating func worked(_ count: Int) {
        guard let allowed, count >= allowed else { return }
        if isTrial { patience = Limits.anotherConnectionSeconds }
        isTrial = false
        self.allowed = count
    }

    /// Looked at while bytes come: where none do, another connection is no help.
    package mutating func look(held: Int64, now: Instant) {
        guard let allowed, !isTrial, now - since >= patience, held != self.held else { return }
        self.allowed = allowed + 1
        isTrial = true
        since = now
        self.held = held
    }
}
