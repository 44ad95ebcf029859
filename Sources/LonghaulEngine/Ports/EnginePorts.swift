package import LonghaulCore
package import LonghaulPlatform

/// The network, as the engine sees it: commands in, facts out (as ``EngineInput``). It decides
/// nothing.
package protocol WirePort: Sendable {
    /// Part files are being opened: get ready.
    func expectRequests()
    func start(_ requests: [SegmentRequest])
    func proceed(_ key: SegmentKey, _ plan: BodyPlan)
    func shrink(_ key: SegmentKey, end: Int64)
    /// Bytes per second; `nil` = no limit. Ignored if it has ended.
    func setRate(_ key: SegmentKey, _ rate: Int64?)
    func stop(_ keys: [SegmentKey])
    /// Requests among them that have not gone out end as `withdrawn`.
    func withdraw(_ keys: [SegmentKey])
    /// The network has changed: existing connections are not used for further requests. The
    /// connections of these requests are abandoned if they stay silent for some seconds.
    func leaveConnections(suspecting keys: [SegmentKey])
}

/// The machine's conditions, as the engine sees them.
package protocol ConditionsPort: Sendable {
    /// Called once, before all other calls. Afterwards every change is reported from any thread,
    /// always as the whole value, until ``stop()``; so are announcements of sleep and shutdown, see
    /// ``attend(_:)``.
    func listen(
        _ report: @escaping @Sendable (Conditions) -> Void,
        onEvent: @escaping @Sendable (MachineEvent) -> Void)

    /// Makes the machine wait for this engine before it sleeps or shuts down, as far as that is
    /// possible. Returns at once.
    func attend(_ isWanted: Bool)

    /// Follows what triggers wait for besides conditions: the machine has woken, mounts have
    /// changed, or files at a path. Mounts and files are reported at once and with each change.
    /// Returns at once, also when nothing is new.
    func follow(_ triggers: Set<TaskTrigger>)

    /// Announces that something runs which stops when the machine is used: a use is then noticed
    /// within about a second, also where it must be polled for. Returns at once.
    func guardIdleness(_ isWanted: Bool)

    /// Inhibits the sleep of an idle machine as far as possible. Returns at once.
    func keepAwake(_ isWanted: Bool)

    /// Names the conditions that are of interest from now on. Reads them once, and waits for that
    /// for about a second at most. A condition that cannot be read, or is of no interest, is
    /// unknown.
    func watch(_ interest: ConditionNeeds) -> Conditions

    /// The store has changed, perhaps its overrides. Changed conditions are reported.
    func lookAgain()

    func stop()
}

/// A service manager that is notified of the engine's state. All calls come from the engine's
/// thread, so that an engine that hangs is silent.
package protocol ServiceNotifier: Sendable {
    /// The engine holds the lease, has recovered its predecessor's work, and begins turns.
    func isReady(now: Instant)

    /// After each turn, with how many fetches are in memory. Answers when it wants to be called
    /// again at the latest; `nil` = when there is a turn anyway.
    func turned(active: Int, now: Instant) -> Instant?

    /// The settings of the last ``EngineLoop/adjust(_:)`` hold.
    func isAdjusted()

    /// Everything is being saved.
    func isLeaving()
}

/// Inputs that reach the engine between two turns. Large payloads are indirect: an input is copied
/// several times on its way.
package enum EngineInput: Sendable {
    case wire(WireFact)
    indirect case fetch(FetchID, FetchEvent)
    /// A part file that was to be deleted is gone.
    indirect case gone(OrphanedPart)
    /// A client may have changed the store.
    case wake
    /// The present conditions of the machine, all of them.
    indirect case conditions(Conditions)
    /// The machine has slept, or a file system was mounted.
    indirect case machine(MachineFacts)
    indirect case host(HostReport)
}
