#if !canImport(Darwin)
public import Foundation
public import FoundationNetworking
internal import Longhaul
internal import Synchronization

/// A background session by Foundation's names (URLSession of a background configuration), on
/// top of `BackgroundSession`.
///
/// Tasks survive the process. A session that is made again with the same identifier finds them and
/// notifies its delegate of the events since. An event is acknowledged when the delegate's method
/// has returned; after a crash before that it is delivered again.
///
/// The session holds its delegate and itself until it is invalidated.
public final class BackgroundURLSession: Sendable {
    /// A copy of the configuration that the session was made with.
    public let configuration: BackgroundURLSessionConfiguration
    /// The delegate that the session was made with.
    public let delegate: (any BackgroundURLSessionDelegate)?
    /// The queue that calls the delegate.
    public let delegateQueue: OperationQueue
    private let commands: AsyncStream<Command>.Continuation
    private let state = Mutex(State())

    /// Answer of the delegate about a delayed request (URLSession's type of this name).
    public enum DelayedRequestDisposition: Sendable {
        /// The task begins unchanged.
        case continueLoading
        /// The task begins with the URL and the header fields of another request.
        case useNewRequest
        /// The task ends with `URLError.cancelled`.
        case cancel
    }

    /// Performed one after the other; without a session where it could not be opened or is
    /// invalidated.
    typealias Command = @Sendable (OpenSession?) async -> Void

    private struct State {
        /// Tasks that have not ended, by their identifiers.
        var tasks: [Int: BackgroundURLSessionTask] = [:]
        /// No new task is taken.
        var isInvalidating = false
        /// Reason why the session could not be opened.
        var failure: LonghaulError?
    }

    /// Opens the session; returns before it is open. If it cannot be opened, its tasks and then
    /// `urlSession(_:didBecomeInvalidWithError:)` get the error.
    ///
    /// - Parameters:
    ///   - configuration: Copied; later changes of it do not count.
    ///   - delegate: Held until the session is invalidated.
    ///   - delegateQueue: Has to be serial. `nil` = one of the session's own.
    public init(
        configuration: BackgroundURLSessionConfiguration,
        delegate: (any BackgroundURLSessionDelegate)?, delegateQueue: OperationQueue?
    ) {
        self.configuration = configuration.copy()
        self.delegate = delegate
        self.delegateQueue = delegateQueue ?? OperationQueue()
        if delegateQueue == nil { self.delegateQueue.maxConcurrentOperationCount = 1 }
        let (stream, continuation) = AsyncStream.makeStream(of: Command.self)
        commands = continuation
        Task { await perform(stream) }
    }

    // MARK: - Tasks

    /// A download of a URL. Nothing of it is recorded before its first `resume()`.
    public func downloadTask(with url: URL) -> BackgroundURLSessionDownloadTask {
        downloadTask(with: URLRequest(url: url))
    }

    /// A download by a request, as for a URL.
    public func downloadTask(with request: URLRequest) -> BackgroundURLSessionDownloadTask {
        add(
            BackgroundURLSessionDownloadTask(freshIdentifier(), request, source: nil, .init(), self)
        )
    }

    /// An upload of a file by PUT or POST, as the request says. The file must not change until the
    /// end. Nothing of the task is recorded before its first `resume()`.
    public func uploadTask(
        with request: URLRequest, fromFile file: URL
    ) -> BackgroundURLSessionUploadTask {
        add(
            BackgroundURLSessionUploadTask(freshIdentifier(), request, source: file, .init(), self))
    }

    /// Random, so that it differs from identifiers of earlier processes; less than 2^53.
    private func freshIdentifier() -> Int { Int.random(in: 1..<(1 << 53)) }

    private func add<Added: BackgroundURLSessionTask>(_ task: Added) -> Added {
        let isTaken = state.withLock { state in
            if !state.isInvalidating { state.tasks[task.taskIdentifier] = task }
            return !state.isInvalidating
        }
        precondition(isTaken, "the session has been invalidated: no task is created in it")
        return task
    }

    /// The tasks that have not ended, tasks of earlier processes included, once all earlier calls
    /// of the session are recorded.
    public var allTasks: [BackgroundURLSessionTask] {
        get async {
            await withCheckedContinuation { continuation in
                getAllTasks { continuation.resume(returning: $0) }
            }
        }
    }

    /// Calls back, on no certain thread, with ``allTasks``.
    public func getAllTasks(
        completionHandler: @escaping @Sendable ([BackgroundURLSessionTask]) -> Void
    ) {
        send { [self] _ in completionHandler(openTasks) }
    }

    // MARK: - The end

    /// Accepts no new task, and leaves the session when all of its tasks have ended, tasks of
    /// earlier processes included. The delegate is then notified.
    public func finishTasksAndInvalidate() {
        state.withLock { $0.isInvalidating = true }
        send { [self] _ in finishIfIdle() }
    }

    /// Cancels all tasks, then leaves the session as ``finishTasksAndInvalidate()``.
    public func invalidateAndCancel() {
        state.withLock { $0.isInvalidating = true }
        send { [self] _ in
            for task in openTasks { task.cancel() }
            send { [self] _ in finishIfIdle() }
        }
    }

    func finishIfIdle() {
        let isIdle = state.withLock { $0.isInvalidating && $0.tasks.isEmpty }
        if isIdle { commands.finish() }
    }

    // MARK: - Registry

    var openTasks: [BackgroundURLSessionTask] {
        let tasks = state.withLock { $0.tasks.values.filter { $0.state != .completed } }
        return tasks.sorted { $0.taskIdentifier < $1.taskIdentifier }
    }

    /// The task of a transfer, made if this process has none.
    func task(of transfer: Transfer) -> BackgroundURLSessionTask {
        let identifier = TaskNote(transfer)?.taskIdentifier ?? Int(transfer.id.rawValue)
        return state.withLock { state in
            if let known = state.tasks[identifier] { return known }
            let task = BackgroundURLSessionTask.found(transfer, identifier, in: self)
            state.tasks[identifier] = task
            return task
        }
    }

    func forget(_ task: BackgroundURLSessionTask) {
        state.withLock { _ = $0.tasks.removeValue(forKey: task.taskIdentifier) }
        finishIfIdle()
    }

    // MARK: - Commands

    func send(_ command: @escaping Command) {
        if case .terminated = commands.yield(command) { Task { await command(nil) } }
    }

    /// The life of the session: opens it, performs its commands and leaves it.
    private func perform(_ stream: AsyncStream<Command>) async {
        let open: OpenSession
        do {
            open = try await OpenSession(configuration)
            for transfer in try await open.transfers() { _ = task(of: transfer) }
        } catch {
            return await refuse(stream, error)
        }
        open.session.onInputNeeded { [self] need in try await answer(need, open) }
        let events = Task { await follow(open) }
        for task in openTasks where task.now.id != nil { follow(task, open) }
        for await command in stream { await command(open) }
        if delegate != nil { open.acknowledgeFinish() }
        try? await open.session.invalidate()
        await events.value
        await tell { [self] in
            delegate?.urlSession(self, didBecomeInvalidWithError: nil)
        }
    }

    /// The end of a session that cannot be opened.
    private func refuse(_ stream: AsyncStream<Command>, _ error: LonghaulError) async {
        state.withLock {
            $0.isInvalidating = true
            $0.failure = error
        }
        for task in openTasks { await give(up: task, error) }
        finishIfIdle()
        for await command in stream { await command(nil) }
        await tell { [self] in
            delegate?.urlSession(
                self, didBecomeInvalidWithError: URLError(error, nil))
        }
    }

    var failure: LonghaulError {
        state.withLock { $0.failure }
            ?? LonghaulError(.sessionInvalidated, "the session is invalidated")
    }

    /// Calls the delegate on its queue and waits for its return.
    func tell(_ body: @escaping @Sendable () -> Void) async {
        await withCheckedContinuation { continuation in
            delegateQueue.addOperation {
                body()
                continuation.resume()
            }
        }
    }
}
#endif
