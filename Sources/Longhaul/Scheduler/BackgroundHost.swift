public import LonghaulCore
internal import LonghaulPlatform
internal import LonghaulStore

/// A program's part in a launch by Longhaul: a handler for each task, session and wake-up. The
/// counterpart of the scene modifier `backgroundTask(_:action:)` of SwiftUI.
///
/// One launch may carry several tasks, wake-ups and the events of a session. Their handlers run at
/// the same time, and share the time of the launch. When it is over, or a requirement is lost, the
/// Swift tasks of the handlers are cancelled; five seconds later the process is killed.
public struct BackgroundHost: Sendable {
    /// The name of the host, as in ``HostProgram/identifier``.
    public let identifier: String
    private let store: String?
    private var handlers = HostHandlers()

    /// A host without handlers.
    ///
    /// - Parameters:
    ///   - identifier: The name of the host.
    ///   - store: The state directory in which a use is recorded by ``runIfLaunched()``; `nil` = as
    ///     for the command. A launch has the directory of its engine.
    public init(identifier: String, store: String? = nil) {
        self.identifier = identifier
        self.store = store
    }

    // MARK: - Handlers

    /// Selects the tasks of a handler.
    public struct TaskLaunch: Sendable {
        let identifier: String

        /// A task that was submitted with ``AppRefreshTaskRequest`` or ``TriggerRequest``.
        public static func appRefresh(_ identifier: String) -> TaskLaunch {
            TaskLaunch(identifier: identifier)
        }

        /// A task that was submitted with ``ProcessingTaskRequest`` or ``TriggerRequest``.
        public static func processing(_ identifier: String) -> TaskLaunch {
            TaskLaunch(identifier: identifier)
        }

        /// A task that was submitted with ``ContinuedTaskRequest``; `NAME.*` is all of them whose
        /// identifiers begin with `NAME.` and that have no handler of their own.
        public static func continued(_ identifier: String) -> TaskLaunch {
            TaskLaunch(identifier: identifier)
        }
    }

    /// Selects the session of a handler.
    public struct SessionLaunch: Sendable {
        let identifier: String

        /// The events of a ``BackgroundSession`` whose host this is.
        public static func urlSession(_ identifier: String) -> SessionLaunch {
            SessionLaunch(identifier: identifier)
        }
    }

    /// Selects the wake-ups of a handler.
    public struct WakeUpLaunch: Sendable {
        let identifier: String

        /// Wake-ups of an identifier; `nil` = those without one.
        public static func wakeUp(_ identifier: String? = nil) -> WakeUpLaunch {
            WakeUpLaunch(identifier: identifier ?? "")
        }
    }

    /// Registers the handler of a task. A return is success, an error is failure,
    /// ``BackgroundTask/Deferred`` and ``BackgroundTask/NoData`` are what they are called. An error
    /// after the launch has expired is no result: the task comes again as its expiration says. A
    /// return is success then, too: a handler that stops early because its Swift task was cancelled
    /// throws. A second handler takes the place of the first.
    public mutating func backgroundTask(
        _ launch: TaskLaunch,
        action: @escaping @Sendable (BackgroundTask) async throws -> Void
    ) {
        handlers.tasks[launch.identifier] = action
    }

    /// Registers the handler of a session's events. When the handler has returned, all of them
    /// are acknowledged; after an error they are handed over again, but for those that the handler
    /// has acknowledged itself. The session is left then. A second handler takes the place of the
    /// first.
    public mutating func backgroundTask(
        _ launch: SessionLaunch,
        action: @escaping @Sendable (BackgroundSession, [SessionEvent]) async throws -> Void
    ) {
        handlers.sessions[launch.identifier] = action
    }

    /// Registers the handler of a wake-up, which gets its payload. A wake-up whose handler throws
    /// is handed over again. A second handler takes the place of the first.
    public mutating func backgroundTask(
        _ launch: WakeUpLaunch,
        action: @escaping @Sendable (JSONPayload?) async throws -> Void
    ) {
        handlers.wakeUps[launch.identifier] = action
    }

    // MARK: - Launches

    /// Does what this process was launched for, all at once, and returns when it is done. To be
    /// called once, before the program does anything else. A process that was started otherwise
    /// goes on at once; that counts as a use of the host, by which refreshes are planned.
    ///
    /// The result of each task is reported when its handler ends. If events or wake-ups were not
    /// handled, or a task has expired without a result, this does not return: the process ends with
    /// status 1, and what was not done is handed over again. Tasks, sessions and wake-ups without a
    /// handler have failed; a line on standard error names them.
    ///
    /// - Returns: Whether the process was launched for this host.
    /// - Throws: `io` when SIGTERM cannot be caught: no thread is left, or this library does so
    ///   already for another call.
    public func runIfLaunched() async throws(LonghaulError) -> Bool {
        // Another host may have started this process.
        guard BackgroundLaunch.host == identifier,
            let launch = BackgroundLaunch.current
        else {
            await recordUse()
            return false
        }
        if try await HostRun(launch, handlers).perform() { return true }
        guard let simulated = SimulatedLaunch.current else { OwnProcess.exit(1) }
        simulated.fail()
        return true
    }

    /// Takes the host's launches while this program runs: due tasks, wake-ups and the events of
    /// sessions come to the handlers in this process, as in a launch, and no other process is
    /// started for them. To be called beside the program's own work, until the Swift task is
    /// cancelled:
    ///
    ///     if try await host.runIfLaunched() { return }
    ///     async let handed: Void = host.run()
    ///
    /// Launches come one after the other. The time, the expiration and the results of tasks are
    /// those of a launched process, but for one thing: this process is not killed. When the launch
    /// has expired the Swift tasks of the handlers are cancelled, and five seconds later its end
    /// counts; while handlers go on after that, the program is launched again. What is not done
    /// when the process ends or the Swift task is cancelled is handed over again. A session that
    /// this process has opened gets its events itself, see ``BackgroundSession``.
    ///
    /// The latest of several processes of a host gets the launches. The call counts as a use of the
    /// host, and ends its delay for having failed.
    ///
    /// - Throws: `noSuchHost` for one that ``BackgroundTaskScheduler`` or a session has not made
    ///   known; `storeUnavailable`. Not later: a store that fails for a while is tried again.
    public func run() async throws(LonghaulError) {
        try await enter().serve()
    }

    func enter() async throws(LonghaulError) -> ResidentHost {
        try await ResidentHost.enter(self, handlers, store: store)
    }

    /// A queue that cannot be opened keeps no program from its work.
    private func recordUse() async {
        let (identifier, store) = (identifier, store)
        try? await Blocking.run { () throws(LonghaulError) in
            let queue = try TransferQueue(directory: store)
            defer { try? queue.store.close() }
            try queue.recordUse(ofHost: identifier)
        }
    }
}

/// The handlers of a host, by identifier.
struct HostHandlers: Sendable {
    var tasks: [String: @Sendable (BackgroundTask) async throws -> Void] = [:]
    var sessions: [String: @Sendable (BackgroundSession, [SessionEvent]) async throws -> Void] = [:]
    var wakeUps: [String: @Sendable (JSONPayload?) async throws -> Void] = [:]

    /// The handler of a task, or of the longest wildcard that it is one of.
    func task(_ identifier: String) -> (@Sendable (BackgroundTask) async throws -> Void)? {
        if let exact = tasks[identifier] { return exact }
        let pattern = tasks.keys.filter { HostSettings.matches($0, identifier) }
            .max { $0.utf8.count < $1.utf8.count }
        return pattern.flatMap { tasks[$0] }
    }
}
