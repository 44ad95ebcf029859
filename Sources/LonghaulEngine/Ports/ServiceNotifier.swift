package import LonghaulCore

/// Whoever wants to know how an engine does: a service manager. All calls come from the engine's
/// thread, so that an engine that hangs is silent.
package protocol ServiceNotifier: Sendable {
    /// The lease is held, what a dead engine left is in order, and turns begin.
    func isReady(now: Instant)

    /// After each turn, with how many fetches are in memory. Answers when it wants to be called
    /// again at the latest; `nil` = when there is a turn anyway.
    func turned(active: Int, now: Instant) -> Instant?

    /// What was asked for by ``EngineLoop/adjust(_:)`` holds.
    func isAdjusted()

    /// Everything is being saved.
    func isLeaving()
}
