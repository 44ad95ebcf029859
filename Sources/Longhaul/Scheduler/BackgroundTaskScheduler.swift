public import FoundationEssentials
public import LonghaulCore
internal import LonghaulPlatform
internal import LonghaulStore
internal import Synchronization

/// Asks for launches of a host. The counterpart of `BGTaskScheduler`.
///
/// Requests are recorded in the store of the queue: they survive this process, the engine and the
/// machine, and the engine that runs, or the next one, launches the host for them. Every
/// asynchronous method may be cancelled, which ends the wait alone.
public final class BackgroundTaskScheduler: Sendable {
    /// The host that is launched, as it was given to ``init(host:store:)``.
    public let host: HostProgram
    private let store: String?
    private let sharedStore: SharedStore
    private let handlers = Mutex<[String: @Sendable (BackgroundTask) -> Void]>([:])
    /// Takes the host's launches while this program runs.
    private let residence = Mutex<Task<Void, Never>?>(nil)

    /// Opens the queue and makes the host known, durably: its program and, unless they are `nil`,
    /// the tasks that it is permitted. Pending requests of other tasks are cancelled then.
    ///
    /// - Parameters:
    ///   - host: The program that is launched.
    ///   - store: The state directory; `nil` = as for the command, see
    ///     ``BackgroundSession/Configuration/store``.
    /// - Throws: `storeUnavailable`; `invalidRequest` for a name that is none, or a program without
    ///   an absolute path.
    public init(host: HostProgram, store: String? = nil) async throws(LonghaulError) {
        self.host = host
        self.store = store
        sharedStore = try await Blocking.run { () throws(LonghaulError) in
            try SharedStore.enter(store)
        }
        try await sharedStore.executor.change { queue throws(LonghaulError) in
            _ = try host.learn(in: queue)
        }
    }

    deinit {
        residence.withLock { $0 }?.cancel()
        sharedStore.abandon()
    }

    // MARK: - Requests

    /// Records a request, durably. A pending request of the same identifier is replaced; one that
    /// repeats keeps its interval, so that submitting at each start of a program is right. The
    /// counterpart of `BGTaskScheduler.submit(_:)`.
    ///
    /// While no engine runs, the installed service starts one. Without a service, and without a
    /// session of this program that is the engine, a warning on standard error says that the task
    /// waits for one.
    ///
    /// - Throws: `notPermitted` for an identifier that the host is not permitted;
    ///   `tooManyPendingTaskRequests` when as many wait as may: 1 refresh and 10 processing
    ///   requests; `immediateRunIneligible` for a ``ContinuedTaskRequest`` with the strategy `fail`
    ///   that cannot begin at once; `unavailable` when the host's program is missing or may not be
    ///   run; `invalidRequest`, also for a ``TriggerRequest`` without a trigger;
    ///   `storeUnavailable`. Then nothing was recorded.
    public func submit(_ request: any BackgroundTaskRequest) async throws(LonghaulError) {
        if let standing = request as? TriggerRequest, standing.triggers.isEmpty {
            throw LonghaulError(.invalidRequest, "a standing request has at least one trigger")
        }
        var wanted = request.request
        wanted.host = host.identifier
        let recorded = wanted
        let isEngineWanted = sharedStore.isEngineWanted
        let isAnyEngine = try await sharedStore.executor.change { queue throws(LonghaulError) in
            let isAnyEngine =
                queue.isEngineRunning || ActivationFile.touch(in: queue.directory)
            if recorded.continued?.strategy == .fail, !isAnyEngine, !isEngineWanted {
                throw LonghaulError.cannotBegin(recorded.identifier, [])
            }
            _ = try queue.tasks.submit(recorded)
            return isAnyEngine
        }
        if !isAnyEngine, !isEngineWanted {
            ProgramNotice.noEngine(host: host.identifier, task: recorded.identifier).log()
        }
    }

    /// The host's requests that wait, by identifier, each of the type that it was submitted with. A
    /// request whose task runs is not among them, unless it was submitted again. The counterpart of
    /// `BGTaskScheduler.pendingTaskRequests()`.
    ///
    /// - Throws: `storeUnavailable`.
    public var pendingTaskRequests: [any BackgroundTaskRequest] {
        get async throws(LonghaulError) {
            let host = host.identifier
            let waiting = try await sharedStore.executor.perform { context throws(LonghaulError) in
                try context.queue.store.tasks.all(host: host).filter { $0.launch == nil }
                    .map(\.request)
            }
            return waiting.map(\.typed)
        }
    }

    /// Cancels a pending request, durably; without one nothing happens. A launch that carries the
    /// task goes on, but that of a continued task expires; the task does not come again. The
    /// counterpart of `BGTaskScheduler.cancel(taskRequestWithIdentifier:)`.
    ///
    /// - Throws: `storeUnavailable`.
    public func cancel(taskRequestWithIdentifier identifier: String) async throws(LonghaulError) {
        let host = host.identifier
        try await sharedStore.executor.change { queue throws(LonghaulError) in
            do throws(LonghaulError) {
                try queue.tasks.cancel([identifier], host: host)
            } catch {
                if error.code != .noSuchTask { throw error }
            }
        }
    }

    /// Cancels all requests of the host, durably. Running launches are not interrupted, but for
    /// those of continued tasks. The counterpart of `BGTaskScheduler.cancelAllTaskRequests()`.
    ///
    /// - Throws: `storeUnavailable`.
    public func cancelAllTaskRequests() async throws(LonghaulError) {
        let host = host.identifier
        try await sharedStore.executor.change { queue throws(LonghaulError) in
            _ = try queue.tasks.cancelAll(host: host)
        }
    }

    /// Hands a wake-up to any host of the queue, durably. The counterpart of a push.
    ///
    /// - Parameters:
    ///   - host: The name of the host.
    ///   - identifier: Waiting wake-ups of one identifier are merged: the newest payload counts.
    ///   - payload: Handed over with it; `nil` = nothing.
    ///   - urgent: Handed over at once, also while the host is delayed after a failure.
    ///   - expires: Dropped when it was not handed over by then; `nil` = never.
    /// - Throws: `noSuchHost`; `invalidRequest` for a payload of more than 64 KiB or an identifier
    ///   that is none; `storeUnavailable`.
    public func wake(
        host: String, identifier: String? = nil, payload: JSONPayload? = nil, urgent: Bool = false,
        expires: Date? = nil
    ) async throws(LonghaulError) {
        let wakeUp = WakeUp(
            identifier: identifier, payload: payload?.text, isUrgent: urgent,
            expiresAt: expires.map(Timestamp.init))
        try await sharedStore.executor.change { queue throws(LonghaulError) in
            try queue.tasks.wake(host: host, wakeUp)
        }
    }

    // MARK: - Launches

    /// Registers the handler of a task, for when this process was launched for it, see ``run()``.
    /// The handler calls ``BackgroundTask/setTaskCompleted(success:)``, then or later, on any
    /// thread.
    ///
    /// The counterpart of `BGTaskScheduler.register(forTaskWithIdentifier:using:launchHandler:)`.
    /// Programs written for Swift concurrency use ``BackgroundHost`` instead.
    ///
    /// A handler of a permitted wildcard (`NAME.*`) gets all continued tasks of it that have no
    /// handler of their own.
    ///
    /// - Returns: `false` for a task that the host is not permitted or that has a handler already;
    ///   then nothing was registered.
    @discardableResult
    public func register(
        forTaskWithIdentifier identifier: String,
        launchHandler: @escaping @Sendable (BackgroundTask) -> Void
    ) -> Bool {
        if let permitted = host.permittedTaskIdentifiers, !permitted.contains(identifier),
            !permitted.contains(where: { HostSettings.matches($0, identifier) })
        {
            return false
        }
        return handlers.withLock { handlers in
            if handlers[identifier] != nil { return false }
            handlers[identifier] = launchHandler
            return true
        }
    }

    /// Does what this process was launched for: calls the handlers that were registered, all at
    /// once, and returns when all tasks are completed.
    ///
    /// A process that was started otherwise returns at once, and the call counts as a use of the
    /// host. From then on, as long as this object lives, tasks that are due come to the handlers in
    /// this process, see ``BackgroundHost/run()``. Without a handler the program is launched all
    /// the same.
    ///
    /// A task that was completed without success after it had expired has no result: it
    /// comes again as its expiration says. A launch that could not be done in full does not return:
    /// the process ends with status 1, see ``BackgroundHost/runIfLaunched()``.
    ///
    /// - Returns: Whether the process was launched for the host.
    /// - Throws: `io` when SIGTERM cannot be caught: no thread is left, or this library does so
    ///   already for another call; `storeUnavailable`.
    @discardableResult
    public func run() async throws(LonghaulError) -> Bool {
        var program = BackgroundHost(identifier: host.identifier, store: store)
        for (identifier, handler) in handlers.withLock({ $0 }) {
            program.backgroundTask(.processing(identifier)) { task in
                handler(task)
                guard let isSuccess = await task.completion(), isSuccess || !task.hasExpired else {
                    throw CancellationError()
                }
                if !isSuccess { throw CompletedWithoutSuccess() }
            }
        }
        if try await program.runIfLaunched() { return true }
        if !handlers.withLock({ $0.isEmpty }), residence.withLock({ $0 == nil }) {
            let resident = try await program.enter()
            let task = Task { await resident.serve() }
            residence.withLock { residence in
                residence?.cancel()
                residence = task
            }
        }
        return false
    }
}

private struct CompletedWithoutSuccess: Error, CustomStringConvertible {
    let description = "it was completed without success"
}
