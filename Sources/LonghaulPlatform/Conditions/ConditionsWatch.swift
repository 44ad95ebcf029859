package import LonghaulModel

/// Watches power, battery, network and idleness on a thread of its own. It reads them from the
/// services of the desktop where these run, otherwise from the kernel.
///
/// It listens and does not poll. The exceptions apply only while a transfer waits for the
/// condition, and only without the service that notifies of changes: see ``ConditionContext``. With
/// an empty interest it holds no connection and never wakes.
package final class ConditionsWatch: Sendable {
    private let commands: ConditionCommands
    private let thread: SystemThread

    /// Starts to watch.
    ///
    /// - Parameters:
    ///   - interest: the conditions to read; the others stay unknown, with no `since`.
    ///   - fileSystems: the names to look for among the mounts.
    ///   - onChange: called on the watch's thread when a reading has changed, its source or value.
    ///   - onEvent: called on the watch's thread when `interest` has
    ///     ``ConditionInterest/machineEvents``.
    ///   - onDelayLock: called on the watch's thread when logind has granted, refused or lost the
    ///     lock that ``ConditionInterest/machineEvents`` asks for.
    /// - Throws: when no thread or descriptor is available. A missing bus, service or file is no
    ///   error: the next source is used, and without any the value is unknown.
    package static func start(
        _ snapshot: ConditionContext, interest: ConditionInterest,
        overrides: ConditionOverrides = ConditionOverrides(), fileSystems: Set<String> = [],
        onChange: @escaping @Sendable (Conditions) -> Void = { _ in },
        onEvent: @escaping @Sendable (MachineEvent) -> Void = { _ in },
        onDelayLock: @escaping @Sendable (DelayLockState) -> Void = { _ in }
    ) throws(SystemFailure) -> ConditionsWatch {
        let commands = try ConditionCommands(
            onChange: onChange, onEvent: onEvent, onDelayLock: onDelayLock)
        commands.change { wants in
            wants.interest = interest
            wants.overrides = overrides
            wants.fileSystems = fileSystems
        }
        return try ConditionsWatch(commands, snapshot)
    }

    private init(
        _ commands: ConditionCommands, _ snapshot: ConditionContext
    ) throws(SystemFailure) {
        self.commands = commands
        thread = try SystemThread(name: "longhaul-cond") {
            ConditionsLoop(commands, snapshot).run()
        }
    }

    deinit {
        stop()
    }

    /// The values last passed to `onChange`; all unknown before the first call.
    package var current: Conditions { commands.conditions }

    /// Waits until every source has answered the present interest, at most so many seconds, and
    /// returns what is known then. For one caller at a time.
    package func read(within seconds: Double) -> Conditions {
        commands.waitUntilRead(within: seconds)
        return current
    }

    /// Sets the conditions to read from now on.
    ///
    /// - Parameter fileSystems: The names to look for among the mounts; `nil` = as before.
    package func setInterest(_ interest: ConditionInterest, fileSystems: Set<String>? = nil) {
        commands.change { wants in
            wants.interest = interest
            if let fileSystems { wants.fileSystems = fileSystems }
        }
    }

    /// Sets the paths to watch from now on.
    package func setPaths(_ triggers: Set<TaskTrigger>) {
        commands.change { $0.paths = triggers }
    }

    /// Delays sleep and shutdown from now on for this reason, which logind shows, and reads nothing
    /// else. Another reason than before takes the lock anew.
    package func delayMachine(reason: String) {
        commands.change { wants in
            wants.interest = .machineEvents
            wants.delayReason = reason
        }
    }

    /// Keeps the machine, while nobody uses it, from going to sleep for this reason, which logind
    /// shows, and reads nothing else. Sleep that a user asks for is not delayed.
    package func keepMachineAwake(reason: String) {
        commands.change { wants in
            wants.interest = .stayAwake
            wants.awakeReason = reason
        }
    }

    /// Sets the overrides from now on.
    package func setOverrides(_ overrides: ConditionOverrides) {
        commands.change { $0.overrides = overrides }
    }

    /// Reads again the conditions without notification, and tries again to connect to a missing
    /// bus.
    package func lookAnew() {
        commands.change { $0.looksAnew = true }
    }

    /// Ends the thread. When it returns, no callback runs any more, and the machine waits for this
    /// process only because of permits that were handed out. A callback may call it: that callback
    /// is then the last one.
    package func stop() {
        commands.stop()
        thread.join()
    }
}
