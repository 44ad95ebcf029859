#if !canImport(Darwin)
public import Foundation
public import FoundationNetworking
internal import Longhaul
internal import Synchronization

/// A task of a background session (URLSession's `URLSessionTask`).
///
/// A task is recorded by its first ``resume()``; one that was never resumed ends with its process.
/// From then on it belongs to the store and does not depend on the process.
// Unchecked, because subclasses exist: they add no property, and the state is under its lock.
public class BackgroundURLSessionTask: @unchecked Sendable {
    /// URLSession's states of a task.
    public typealias State = URLSessionTask.State

    /// Identifies the task in its session, also in later processes.
    public let taskIdentifier: Int
    /// The request that the task was made with. In a later process: its URL, its method and
    /// its header fields.
    public let originalRequest: URLRequest?
    /// The file that an upload sends.
    let source: URL?
    /// The async method that awaits the task; `nil` = the delegate gets its end.
    let waiter: TaskWaiter?
    let session: BackgroundURLSession
    private let facts: Mutex<Facts>

    struct Facts {
        var settings = Settings()
        var state = State.suspended
        var id: TransferID?
        var bytesDone: Int64 = 0
        var bytesTotal: Int64?
        var response: URLResponse?
        var error: (any Error)?
        /// Error of a link refused by the server, because of which the task was cancelled.
        var refusal: LonghaulError?
        /// What the task continues.
        var resumeData: Data?
        /// What continues the task, which was cancelled.
        var resumeDataLeft: Data?
        /// The task that continues a cancelled async method.
        var successor: BackgroundURLSessionTask?
        /// Answers to challenges so far.
        var credentials = TaskCredentials()
        /// The delegate knows that the task waits for a network.
        var isWaitReported = false
        var progress: Progress?
    }

    struct Settings {
        var taskDescription: String?
        var earliestBeginDate: Date?
        var expectedToSend: Int64?
        var expectedToReceive: Int64?
        var priority: Float = 0.5
        var delegate: (any BackgroundURLSessionTaskDelegate)?
    }

    init(
        _ request: URLRequest?, source: URL?, resumeData: Data? = nil, waiter: TaskWaiter? = nil,
        _ session: BackgroundURLSession
    ) {
        taskIdentifier = TaskRegistry.freshIdentifier()
        originalRequest = request
        self.source = source
        self.waiter = waiter
        self.session = session
        var facts = Facts()
        facts.resumeData = resumeData
        self.facts = Mutex(facts)
    }

    /// The task of a transfer that an earlier process has recorded.
    init(_ transfer: Transfer, _ identifier: Int, _ session: BackgroundURLSession) {
        taskIdentifier = identifier
        originalRequest = URLRequest(transfer)
        source = transfer.source.map { URL(fileURLWithPath: $0, isDirectory: false) }
        waiter = nil
        self.session = session
        var facts = Facts()
        facts.settings.taskDescription = TaskNote(transfer)?.taskDescription
        facts.settings.earliestBeginDate = transfer.earliestBegin.map(Date.init)
        facts.settings.priority = transfer.priority.urlSession
        if transfer.source == nil {
            facts.settings.expectedToReceive = transfer.expectedBytes
        } else {
            facts.settings.expectedToSend = transfer.expectedBytes
        }
        facts.state = transfer.state == .paused ? .suspended : .running
        facts.id = transfer.id
        facts.bytesDone = transfer.bytesDone
        facts.bytesTotal = transfer.bytesTotal
        self.facts = Mutex(facts)
    }

    var now: Facts { facts.withLock { $0 } }

    @discardableResult
    func update<Result: Sendable>(_ change: @Sendable (inout Facts) -> Result) -> Result {
        facts.withLock { change(&$0) }
    }

    // MARK: - Commands

    /// Starts or resumes the task. The task survives the process once it is recorded, soon after;
    /// `allTasks` of the session returns when it is.
    public func resume() { session.resume(self) }

    /// Stops the task with its bytes kept, until ``resume()``.
    public func suspend() { session.suspend(self) }

    /// Ends the task; the delegate is notified with `URLError.cancelled`.
    public func cancel() { session.cancel(self) }

    // MARK: - Settings

    /// The program's own text, kept with the task across processes. Default: `nil`.
    public var taskDescription: String? {
        get { now.settings.taskDescription }
        set {
            update { $0.settings.taskDescription = newValue }
            session.change(self) { $0.metadata = TaskNote(self).text }
        }
    }

    /// Earliest moment of the start; `nil`, the default, is at once.
    public var earliestBeginDate: Date? {
        get { now.settings.earliestBeginDate }
        set {
            update { $0.settings.earliestBeginDate = newValue }
            session.change(self) { $0.earliestBegin = .some(newValue.map(Timestamp.init)) }
        }
    }

    /// Expected number of bytes to send; -1, the default, is unknown. A hint that counts until
    /// the task is recorded.
    public var countOfBytesClientExpectsToSend: Int64 {
        get { now.settings.expectedToSend ?? Self.unknown }
        set { update { $0.settings.expectedToSend = newValue < 0 ? nil : newValue } }
    }

    /// Expected number of bytes to receive, as ``countOfBytesClientExpectsToSend``.
    public var countOfBytesClientExpectsToReceive: Int64 {
        get { now.settings.expectedToReceive ?? Self.unknown }
        set { update { $0.settings.expectedToReceive = newValue < 0 ? nil : newValue } }
    }

    /// A ``priority`` before others: 0.75.
    public static let highPriority: Float = URLSessionTask.highPriority
    /// The default of ``priority``: 0.5.
    public static let defaultPriority: Float = URLSessionTask.defaultPriority
    /// A ``priority`` after others: 0.25.
    public static let lowPriority: Float = URLSessionTask.lowPriority

    /// 0 to 1. Below 0.5, the default, the task comes after others, above before them.
    public var priority: Float {
        get { now.settings.priority }
        set {
            update { $0.settings.priority = newValue }
            session.change(self) { $0.priority = Priority(urlSession: newValue) }
        }
    }

    /// A delegate of this task alone, in this process: it gets the calls of the protocols that it
    /// conforms to, in place of the session's delegate. Held until the task ends. Default: `nil`.
    public var delegate: (any BackgroundURLSessionTaskDelegate)? {
        get { now.settings.delegate }
        set { update { $0.settings.delegate = newValue } }
    }

    static let unknown: Int64 = -1
}

extension BackgroundURLSessionTask: Hashable {
    /// True if both are the same task of the same session object.
    public static func == (
        left: BackgroundURLSessionTask, right: BackgroundURLSessionTask
    ) -> Bool {
        left === right
    }

    /// Hashes the identifier.
    public func hash(into hasher: inout Hasher) { hasher.combine(taskIdentifier) }
}
#endif
