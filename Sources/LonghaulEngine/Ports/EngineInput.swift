package import LonghaulCore

/// What the engine is told between two turns.
package enum EngineInput: Sendable {
    case wire(WireFact)
    case fetch(FetchID, FetchEvent)
    /// Somebody changed the store, perhaps: look.
    case wake
    /// What the machine is like now, whole.
    case conditions(Conditions)
    case host(HostReport)
}
