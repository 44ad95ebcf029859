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
    let session: BackgroundURLSession
    private let facts: Mutex<Facts>

    struct Facts {
        var taskDescription: String?
        var earliestBeginDate: Date?
        var expectedToSend: Int64?
        var expectedToReceive: Int64?
        var priority: Float = 0.5
        var state = State.suspended
        var id: TransferID?
        var bytesDone: Int64 = 0
        var bytesTotal: Int64?
        var response: URLResponse?
        var error: (any Error)?
        /// Error of a link refused by the server, because of which the task was cancelled.
        var refusal: LonghaulError?
    }

    init(
        _ identifier: Int, _ request: URLRequest?, source: URL?, _ facts: Facts,
        _ session: BackgroundURLSession
    ) {
        taskIdentifier = identifier
        originalRequest = request
        self.source = source
        self.session = session
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
        get { now.taskDescription }
        set {
            update { $0.taskDescription = newValue }
            session.change(self) { $0.metadata = TaskNote(self).text }
        }
    }

    /// Earliest moment of the start; `nil`, the default, is at once.
    public var earliestBeginDate: Date? {
        get { now.earliestBeginDate }
        set {
            update { $0.earliestBeginDate = newValue }
            session.change(self) { $0.earliestBegin = .some(newValue.map(Timestamp.init)) }
        }
    }

    /// Expected number of bytes to send; -1, the default, is unknown. A hint that counts until
    /// the task is recorded.
    public var countOfBytesClientExpectsToSend: Int64 {
        get { now.expectedToSend ?? Self.unknown }
        set { update { $0.expectedToSend = newValue < 0 ? nil : newValue } }
    }

    /// Expected number of bytes to receive, as ``countOfBytesClientExpectsToSend``.
    public var countOfBytesClientExpectsToReceive: Int64 {
        get { now.expectedToReceive ?? Self.unknown }
        set { update { $0.expectedToReceive = newValue < 0 ? nil : newValue } }
    }

    /// 0 to 1. Below 0.5, the default, the task comes after others, above before them.
    public var priority: Float {
        get { now.priority }
        set {
            update { $0.priority = newValue }
            session.change(self) { $0.priority = Priority(urlSession: newValue) }
        }
    }

    // MARK: - State

    /// The state; that of a task which waits for its turn or for a network is `running`.
    public var state: State { now.state }

    /// Bytes of a download that are kept.
    public var countOfBytesReceived: Int64 { source == nil ? now.bytesDone : 0 }

    /// Bytes of an upload that the server has acknowledged.
    public var countOfBytesSent: Int64 { source == nil ? 0 : now.bytesDone }

    /// The size of a download; -1 while it is unknown.
    public var countOfBytesExpectedToReceive: Int64 {
        source == nil ? now.bytesTotal ?? Self.unknown : Self.unknown
    }

    /// The size of an upload; -1 while it is unknown.
    public var countOfBytesExpectedToSend: Int64 {
        source == nil ? Self.unknown : now.bytesTotal ?? Self.unknown
    }

    /// The server's answer, an `HTTPURLResponse` over HTTP. `nil` before the end.
    public var response: URLResponse? { now.response }

    /// Reason of the failure, a `URLError`; `nil` before the end and after success.
    public var error: (any Error)? { now.error }

    static let unknown: Int64 = -1
}

/// A task whose answer has a body (URLSession's `URLSessionDataTask`): an upload.
public class BackgroundURLSessionDataTask: BackgroundURLSessionTask, @unchecked Sendable {}

/// An upload of a file (URLSession's `URLSessionUploadTask`).
public final class BackgroundURLSessionUploadTask: BackgroundURLSessionDataTask,
    @unchecked Sendable
{}

/// A download (URLSession's `URLSessionDownloadTask`).
public final class BackgroundURLSessionDownloadTask: BackgroundURLSessionTask,
    @unchecked Sendable
{}

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
