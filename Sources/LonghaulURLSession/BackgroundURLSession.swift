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
    let registry = TaskRegistry()
    private let commands: AsyncStream<Command>.Continuation
    private let text = Mutex<String?>(nil)

    /// Answer of the delegate about a delayed request (URLSession's type of this name).
    public enum DelayedRequestDisposition: Sendable {
        /// The task begins unchanged.
        case continueLoading
        /// The task begins with the URL and the header fields of another request.
        case useNewRequest
        /// The task ends with `URLError.cancelled`.
        case cancel
    }

    /// Answer of the delegate to a challenge: Foundation's type.
    public typealias AuthChallengeDisposition = URLSession.AuthChallengeDisposition

    /// Performed one after the other; without a session where it could not be opened or is
    /// invalidated.
    typealias Command = @Sendable (OpenSession?) async -> Void

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

    /// Opens the session without a delegate: its async methods return results, and the events of
    /// its other tasks wait for a session with a delegate, or for a launch of the
    /// configuration's host.
    public convenience init(configuration: BackgroundURLSessionConfiguration) {
        self.init(configuration: configuration, delegate: nil, delegateQueue: nil)
    }

    /// The program's own text. Default: `nil`.
    public var sessionDescription: String? {
        get { text.withLock { $0 } }
        set { text.withLock { $0 = newValue } }
    }

    // MARK: - Tasks

    /// A download of a URL. Nothing of it is recorded before its first `resume()`.
    public func downloadTask(with url: URL) -> BackgroundURLSessionDownloadTask {
        downloadTask(with: URLRequest(url: url))
    }

    /// A download by a request, as for a URL.
    public func downloadTask(with request: URLRequest) -> BackgroundURLSessionDownloadTask {
        add(BackgroundURLSessionDownloadTask(request, source: nil, self))
    }

    /// A download that continues a cancelled or failed one, with its bytes. Works in any process
    /// that has the store. Its first `resume()` reads the data; if they are damaged, of another
    /// store, or of a download that is forgotten or continued already, the task ends with
    /// `URLError.resourceUnavailable`.
    ///
    /// If the server has another version of the file by then, the download begins again.
    public func downloadTask(withResumeData data: Data) -> BackgroundURLSessionDownloadTask {
        let request = ResumeData(data)?.request
        return add(BackgroundURLSessionDownloadTask(request, source: nil, resumeData: data, self))
    }

    /// An upload of a file by PUT or POST, as the request says. The file must not change until the
    /// end. Nothing of the task is recorded before its first `resume()`.
    public func uploadTask(
        with request: URLRequest, fromFile file: URL
    ) -> BackgroundURLSessionUploadTask {
        add(BackgroundURLSessionUploadTask(request, source: file, self))
    }

    /// An upload that continues a cancelled or failed one, as ``downloadTask(withResumeData:)``
    /// does. What the server has is not sent again, where it can continue.
    public func uploadTask(withResumeData data: Data) -> BackgroundURLSessionUploadTask {
        let resume = ResumeData(data)
        let source = resume?.source.map { URL(fileURLWithPath: $0, isDirectory: false) }
        return add(
            BackgroundURLSessionUploadTask(
                resume?.request, source: source ?? URL(fileURLWithPath: "/"), resumeData: data,
                self))
    }

    func add<Added: BackgroundURLSessionTask>(_ task: Added) -> Added {
        precondition(
            registry.add(task), "the session has been invalidated: no task is created in it")
        calls.created(task)
        return task
    }

    var calls: DelegateCalls { DelegateCalls(session: self) }

    // MARK: - The end

    /// Accepts no new task, and leaves the session when all of its tasks have ended, tasks of
    /// earlier processes included. The delegate is then notified.
    public func finishTasksAndInvalidate() {
        registry.refuseNewTasks()
        send { [self] _ in finishIfIdle() }
    }

    /// Cancels all tasks, then leaves the session as ``finishTasksAndInvalidate()``.
    public func invalidateAndCancel() {
        registry.refuseNewTasks()
        send { [self] _ in
            for task in registry.all { task.cancel() }
            send { [self] _ in finishIfIdle() }
        }
    }

    func finishIfIdle() {
        if registry.isOver { commands.finish() }
    }

    func forget(_ task: BackgroundURLSessionTask) {
        registry.remove(task)
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
            open = try await OpenSession(self)
            for transfer in try await open.transfers() { _ = task(of: transfer) }
        } catch {
            return await refuse(stream, error)
        }
        open.session.onInputNeeded { need in try await open.answer(need) }
        let events = Task { await open.followEvents() }
        let waits = Task { await open.followWaits() }
        defer { waits.cancel() }
        for task in registry.all where task.now.id != nil { open.follow(task) }
        for await command in stream { await command(open) }
        if delegate != nil { open.acknowledgeFinish() }
        try? await open.session.invalidate()
        await events.value
        await calls.invalidated(nil)
    }

    /// The end of a session that cannot be opened.
    private func refuse(_ stream: AsyncStream<Command>, _ error: LonghaulError) async {
        registry.refuseNewTasks(because: error)
        for task in registry.all { await giveUp(task, error) }
        finishIfIdle()
        for await command in stream { await command(nil) }
        await calls.invalidated(URLError(error, nil))
    }

    /// The end of a task that is not recorded.
    func giveUp(_ task: BackgroundURLSessionTask, _ error: LonghaulError) async {
        await calls.end(task, error)
        forget(task)
    }

    /// The task of a transfer. One of an earlier process is made anew.
    func task(of transfer: Transfer) -> BackgroundURLSessionTask {
        let task = registry.task(of: transfer) { identifier in
            transfer.source == nil
                ? BackgroundURLSessionDownloadTask(transfer, identifier, self)
                : BackgroundURLSessionUploadTask(transfer, identifier, self)
        }
        return task
    }
}
#endif
