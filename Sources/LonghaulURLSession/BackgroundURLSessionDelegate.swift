#if !canImport(Darwin)
public import Foundation
@_exported public import FoundationNetworking

/// Told about a session as a whole (URLSession's `URLSessionDelegate`). All methods are optional.
///
/// Methods of all delegates run on the session's delegate queue, one after the other.
public protocol BackgroundURLSessionDelegate: NSObjectProtocol, Sendable {
    /// The session is over in this process. The error is `nil` after
    /// ``BackgroundURLSession/finishTasksAndInvalidate()`` and
    /// ``BackgroundURLSession/invalidateAndCancel()``; otherwise it tells why the session could not
    /// be opened.
    func urlSession(
        _ session: BackgroundURLSession, didBecomeInvalidWithError error: (any Error)?)

    /// All events were delivered: called after the last event of a launch, and when all transfers
    /// of the session have ended.
    func urlSessionDidFinishEvents(forBackgroundURLSession session: BackgroundURLSession)
}

/// Told about tasks of either kind (URLSession's `URLSessionTaskDelegate`).
public protocol BackgroundURLSessionTaskDelegate: BackgroundURLSessionDelegate {
    /// The task has ended. Told again after a crash until the method has returned. The error is
    /// `nil` for success; else a `URLError`, whose `userInfo[NSUnderlyingErrorKey]` is the
    /// `LonghaulError`.
    func urlSession(
        _ session: BackgroundURLSession, task: BackgroundURLSessionTask,
        didCompleteWithError error: (any Error)?)

    /// An upload has progressed. `totalBytesSent` counts the bytes that the server has
    /// acknowledged.
    func urlSession(
        _ session: BackgroundURLSession, task: BackgroundURLSessionTask,
        didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64)

    /// A task with an ``BackgroundURLSessionTask/earliestBeginDate`` is about to begin. Asked for
    /// sessions with a host; without one the task begins. Default: it begins.
    ///
    /// The completion handler has to be called once, on any thread. Only the URL and the header
    /// fields of a new request count.
    func urlSession(
        _ session: BackgroundURLSession, task: BackgroundURLSessionTask,
        willBeginDelayedRequest request: URLRequest,
        completionHandler:
            @escaping @Sendable (
                BackgroundURLSession.DelayedRequestDisposition, URLRequest?
            ) -> Void)
}

/// Told about the bodies of answers (URLSession's `URLSessionDataDelegate`).
public protocol BackgroundURLSessionDataDelegate: BackgroundURLSessionTaskDelegate {
    /// The server's answer to an upload has a body: at most 64 KiB of it, in one call, before
    /// `urlSession(_:task:didCompleteWithError:)`.
    func urlSession(
        _ session: BackgroundURLSession, dataTask: BackgroundURLSessionDataTask,
        didReceive data: Data)
}

/// Notified about downloads (URLSession's `URLSessionDownloadDelegate`). Completed downloads stay
/// unacknowledged, with their files, while the session's delegate does not conform to this
/// protocol.
public protocol BackgroundURLSessionDownloadDelegate: BackgroundURLSessionTaskDelegate {
    /// The file is there, whole and durable. It is deleted when the method returns; move it
    /// elsewhere before. Told again after a crash until the method has returned.
    func urlSession(
        _ session: BackgroundURLSession, downloadTask: BackgroundURLSessionDownloadTask,
        didFinishDownloadingTo location: URL)

    /// The download has progressed. `totalBytesExpectedToWrite` is -1
    /// (`NSURLSessionTransferSizeUnknown`) while the size is unknown.
    func urlSession(
        _ session: BackgroundURLSession, downloadTask: BackgroundURLSessionDownloadTask,
        didWriteData bytesWritten: Int64, totalBytesWritten: Int64,
        totalBytesExpectedToWrite: Int64)
}

extension BackgroundURLSessionDelegate {
    /// Does nothing.
    public func urlSession(
        _ session: BackgroundURLSession, didBecomeInvalidWithError error: (any Error)?
    ) {}

    /// Does nothing.
    public func urlSessionDidFinishEvents(
        forBackgroundURLSession session: BackgroundURLSession
    ) {}
}

extension BackgroundURLSessionTaskDelegate {
    /// Does nothing.
    public func urlSession(
        _ session: BackgroundURLSession, task: BackgroundURLSessionTask,
        didCompleteWithError error: (any Error)?
    ) {}

    /// Does nothing.
    public func urlSession(
        _ session: BackgroundURLSession, task: BackgroundURLSessionTask,
        didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {}

    /// Lets the task begin.
    public func urlSession(
        _ session: BackgroundURLSession, task: BackgroundURLSessionTask,
        willBeginDelayedRequest request: URLRequest,
        completionHandler:
            @escaping @Sendable (
                BackgroundURLSession.DelayedRequestDisposition, URLRequest?
            ) -> Void
    ) {
        completionHandler(.continueLoading, nil)
    }
}

extension BackgroundURLSessionDataDelegate {
    /// Does nothing.
    public func urlSession(
        _ session: BackgroundURLSession, dataTask: BackgroundURLSessionDataTask,
        didReceive data: Data
    ) {}
}

extension BackgroundURLSessionDownloadDelegate {
    /// Does nothing.
    public func urlSession(
        _ session: BackgroundURLSession, downloadTask: BackgroundURLSessionDownloadTask,
        didWriteData bytesWritten: Int64, totalBytesWritten: Int64,
        totalBytesExpectedToWrite: Int64
    ) {}
}
#endif
