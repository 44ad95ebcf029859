internal import FoundationEssentials
public import LonghaulCore
internal import LonghaulPlatform
internal import Synchronization

/// A task that this process was launched for. The counterpart of `BGTask`.
///
/// In a handler of ``BackgroundHost`` the end of the handler is the task's result: a return is
/// success, an error is failure, ``Deferred`` and ``NoData`` say what they are called. With
/// ``BackgroundTaskScheduler/register(forTaskWithIdentifier:launchHandler:)`` the result is told by
/// ``setTaskCompleted(success:)``.
///
/// Each result is recorded by the engine as soon as it is reported: a crash after that does not
/// bring the task again, a crash before it does.
public final class BackgroundTask: Sendable {
    /// Thrown by a handler: the task cannot be done now. It comes again after 1 second, doubled up
    /// to 15 minutes, and at once when one of its conditions changes. That is no failure.
    public struct Deferred: Error {
        /// Says that the task cannot be done now.
        public init() {}
    }

    /// Thrown by a handler: the task is done, and there was nothing new.
    public struct NoData: Error {
        /// Says that there was nothing new.
        public init() {}
    }

    /// Names the task.
    public let identifier: String
    /// Kind of the task, which bounds the launch.
    public let kind: TaskKind
    /// Payload that was submitted with the request; `nil` = none.
    public let payload: JSONPayload?
    /// The triggers of a ``TriggerRequest``, in order; empty of any other.
    public let triggers: [TaskTrigger]
    /// The same with their details: where a file system is mounted, and which files are new.
    public let triggerEvents: [TriggerEvent]
    /// 1, and one more for each run in a row that has failed.
    public let attempt: Int
    /// The last of ``triggers``; `nil` = it is empty.
    public var trigger: TaskTrigger? { triggers.last }

    let store: String?
    let host: String
    private let machine: Machine
    private let endsAt: Instant?
    private let reporter: ProgressReporter
    private let state = Mutex(State())

    private struct State {
        var handler: (@Sendable () -> Void)?
        var hasExpired = false
        var isSuccess: Bool?
        private var waiter: CheckedContinuation<Bool?, Never>?
        /// The world of the waiter.
        private var world: SimulatedWaits?

        mutating func wait(_ continuation: CheckedContinuation<Bool?, Never>) {
            waiter = continuation
            world = SimulatedWaits.current
            world?.leaveOpen()
        }

        /// Takes the continuation of the caller that waits for the completion, once.
        mutating func takeWaiter() -> CheckedContinuation<Bool?, Never>? {
            world?.closeTask()
            world = nil
            defer { waiter = nil }
            return waiter
        }
    }

    /// - Parameter sendProgress: Tells the engine of the progress of a continued task.
    init(
        _ task: BackgroundLaunch.HandedTask, of launch: BackgroundLaunch,
        sendProgress: @escaping ProgressReporter.Send = { _ in }
    ) {
        reporter = ProgressReporter(task, send: sendProgress)
        identifier = task.identifier
        kind = task.kind
        payload = task.payload
        triggers = task.triggers
        triggerEvents = task.triggerEvents
        attempt = task.attempt
        store = launch.store
        machine = Machine.of(launch.store ?? "")
        host = launch.host ?? ""
        let now = machine.now()
        endsAt = (task.deadline ?? launch.deadline).map {
            now.monotonic + max(0, Timestamp($0) - now.wall)
        }
    }

    // MARK: - Progress

    /// Progress of a continued task; setting it reports it. A task that reports none for 60 seconds
    /// is expired, so the counts are kept current for as long as there is work, even if they change
    /// little. More than one report a second costs nothing. Counts that make no sense (more done
    /// than there is, a total of 0) are not reported. On tasks of other kinds it has no effect. The
    /// counterpart of `BGContinuedProcessingTask.progress`.
    public var progress: TaskProgress {
        get { reporter.progress }
        set { if kind == .continued { reporter.report(newValue) } }
    }

    /// Title of a continued task, as submitted or as replaced by ``updateTitle(_:subtitle:)``;
    /// empty for other kinds.
    public var title: String { reporter.work.title }

    /// Subtitle of a continued task; `nil` = none.
    public var subtitle: String? { reporter.work.subtitle }

    /// Replaces the title and the subtitle that a person sees. Each has 256 bytes at most, on one
    /// line; others are ignored, and so is the call on a task of another kind. It is no report of
    /// progress. The counterpart of `BGContinuedProcessingTask.updateTitle(_:subtitle:)`.
    ///
    /// - Parameters:
    ///   - title: Not empty.
    ///   - subtitle: `nil` = none.
    public func updateTitle(_ title: String, subtitle: String? = nil) {
        if kind == .continued { reporter.report(title: title, subtitle: subtitle) }
    }

    // MARK: - Expiration

    /// Seconds until the launch is asked to end; a requirement that is lost ends it earlier.
    /// Infinite without a deadline, as for a continued task. All tasks of a launch share it.
    public var remainingTime: Double {
        if hasExpired { return 0 }
        return endsAt.map { max(0, $0 - machine.now().monotonic) } ?? .infinity
    }

    /// Reasons to stop at a good point and come again later, see ``TaskDeferral``. The counterpart
    /// of `xpc_activity_should_defer`.
    public var shouldDefer: TaskDeferral { TaskDeferral(task: self) }

    /// Called once, on any thread, when the launch is asked to end (SIGTERM); at once where that
    /// has happened before. Five seconds later the process is killed. `nil` by default: a task of
    /// ``BackgroundTaskScheduler/run()`` without a handler ends with its expiration. The
    /// counterpart of `BGTask.expirationHandler`.
    public var expirationHandler: (@Sendable () -> Void)? {
        get { state.withLock { $0.handler } }
        set {
            let isLate = state.withLock { state in
                state.handler = newValue
                return state.hasExpired && state.isSuccess == nil
            }
            if isLate { newValue?() }
        }
    }

    /// The launch was asked to end.
    var hasExpired: Bool { state.withLock { $0.hasExpired } }

    func expire() {
        let (handler, waiter) = state.withLock {
            state -> ((@Sendable () -> Void)?, CheckedContinuation<Bool?, Never>?) in
            if state.hasExpired || state.isSuccess != nil { return (nil, nil) }
            state.hasExpired = true
            if let handler = state.handler { return (handler, nil) }
            return (nil, state.takeWaiter())
        }
        handler?()
        waiter?.resume(returning: nil)
    }

    // MARK: - Completion

    /// Tells the result of a task that was registered with
    /// ``BackgroundTaskScheduler/register(forTaskWithIdentifier:launchHandler:)``. The first call
    /// counts; in a handler of ``BackgroundHost`` it has no effect. The counterpart of
    /// `BGTask.setTaskCompleted(success:)`.
    public func setTaskCompleted(success: Bool) {
        let waiter = state.withLock { state in
            if state.isSuccess == nil { state.isSuccess = success }
            return state.takeWaiter()
        }
        waiter?.resume(returning: success)
    }

    /// Waits until the task is completed; `nil` = the task has expired, and has no handler to
    /// complete it.
    func completion() async -> Bool? {
        await withCheckedContinuation { continuation in
            let known: Bool?? = state.withLock { state in
                if let isSuccess = state.isSuccess { return .some(isSuccess) }
                if state.hasExpired, state.handler == nil { return .some(nil) }
                state.wait(continuation)
                return nil
            }
            if let known { continuation.resume(returning: known) }
        }
    }
}
