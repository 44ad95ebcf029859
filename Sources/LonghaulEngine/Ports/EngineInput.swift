package import LonghaulCore

/// What the engine is told between two turns.
package enum EngineInput: Sendable {
    case wire(WireFact)
    case fetch(FetchID, FetchEvent)
    /// Of a part file that was to be deleted nothing is left.
    case gone(OrphanedPart)
    /// Somebody changed the store, perhaps: look.
    case wake
    /// What the machine is like now, whole.
    case conditions(Conditions)
    case host(HostReport)
}
