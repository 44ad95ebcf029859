package import LonghaulCore
package import LonghaulPlatform

/// The machine's conditions, as the engine sees them.
package protocol ConditionsPort: Sendable {
    /// Called once, before all else. From then on every change is reported, always the whole, from
    /// any thread, until ``stop()``; and what the machine is about to do, see ``attend(_:)``.
    func listen(
        _ report: @escaping @Sendable (Conditions) -> Void,
        onEvent: @escaping @Sendable (MachineEvent) -> Void)

    /// Whether the machine is to wait for this engine before it sleeps or shuts down, as far as it
    /// knows how to. Returns at once.
    func attend(_ isWanted: Bool)

    /// Whether something runs that is to end when somebody uses the machine: that is then noticed
    /// within about a second, also where it must be looked for. Returns at once.
    func guardIdleness(_ isWanted: Bool)

    /// What is of interest from now on. Looks at it once and waits for that, for about a second at
    /// the most. What cannot be found out is unknown, and so is what is of no interest.
    func watch(_ interest: ConditionNeeds) -> Conditions

    /// Somebody changed the store, perhaps what it overrides. What comes of it is reported.
    func lookAgain()

    func stop()
}
