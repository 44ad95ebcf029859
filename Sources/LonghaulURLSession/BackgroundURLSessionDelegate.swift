#if !canImport(Darwin)
public import Foundation
@_exported public import FoundationNetworking

/// Notified about a session as a whole (URLSession's `URLSessionDelegate`). All methods are
/// optional.
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

    /// A server was not trusted, or asks for a certificate of the client. Asked when an attempt has
    /// ended by that, since libcurl does not wait in a handshake; with a credential the task begins
    /// again. By `.performDefaultHandling`, the default, the task's delegate is asked.
    ///
    /// The completion handler has to be called once, on any thread; other events of the session
    /// wait for it.
    func urlSession(
        _ session: BackgroundURLSession, didReceive challenge: URLAuthenticationChallenge,
        completionHandler:
            @escaping @Sendable (
                BackgroundURLSession.AuthChallengeDisposition, URLCredential?
            ) -> Void)
}

/// Notified about tasks of either kind (URLSession's `URLSessionTaskDelegate`).
public protocol BackgroundURLSessionTaskDelegate: BackgroundURLSessionDelegate {
    /// A task was created, and is not resumed yet. That of an async method is given to the method's
    /// delegate, other ones to the session's.
    func urlSession(_ session: BackgroundURLSession, didCreateTask task: BackgroundURLSessionTask)

    /// A task waits for a network, or for an unmetered one. Called once for a task, in each
    /// process.
    func urlSession(
        _ session: BackgroundURLSession,
        taskIsWaitingForConnectivity task: BackgroundURLSessionTask)

    /// The task has ended. Called again after a crash until the method has returned. The error is
    /// `nil` for success; else a `URLError`, whose `userInfo[NSUnderlyingErrorKey]` is the
    /// `LonghaulError`.
    func urlSession(
        _ session: BackgroundURLSession, task: BackgroundURLSessionTask,
        didCompleteWithError error: (any Error)?)

    /// The cost of the task, before its end.
    func urlSession(
        _ session: BackgroundURLSession, task: BackgroundURLSessionTask,
        didFinishCollecting metrics: BackgroundURLSessionTaskMetrics)

    /// An upload has progressed. `totalBytesSent` counts the bytes that the server has
    /// acknowledged.
    func urlSession(
        _ session: BackgroundURLSession, task: BackgroundURLSessionTask,
        didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64)

    /// The server asks for user and password (401, basic or digest), or the session's delegate has
    /// left a challenge of the connection to this one. With a credential the task begins again; by
    /// `.performDefaultHandling`, the default, it ends with the server's answer. Asked at most five
    /// times for a task. A program that does not run is asked at its next launch.
    ///
    /// The completion handler has to be called once, on any thread; other events of the session
    /// wait for it.
    func urlSession(
        _ session: BackgroundURLSession, task: BackgroundURLSessionTask,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler:
            @escaping @Sendable (
                BackgroundURLSession.AuthChallengeDisposition, URLCredential?
            ) -> Void)

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

/// Notified about the bodies of answers (URLSession's `URLSessionDataDelegate`).
public protocol BackgroundURLSessionDataDelegate: BackgroundURLSessionTaskDelegate {
    /// The server's answer to an upload has a body: at most 64 KiB of it, in one call, before
    /// `urlSession(_:task:didCompleteWithError:)`.
    func urlSession(
        _ session: BackgroundURLSession, dataTask: BackgroundURLSessionDataTask,
        didReceive data: Data)
}

/// Notified about downloads (URLSession's `URLSessionDownloadDelegate`). Completed downloads stay
/// unacknowledged, with their files, while neither the task's delegate nor the session's conforms
/// to this protocol.
public protocol BackgroundURLSessionDownloadDelegate: BackgroundURLSessionTaskDelegate {
    /// The file is there, whole and durable. It is deleted when the method returns; move it
    /// elsewhere before. Called again after a crash until the method has returned.
    func urlSession(
        _ session: BackgroundURLSession, downloadTask: BackgroundURLSessionDownloadTask,
        didFinishDownloadingTo location: URL)

    /// The download has progressed. `totalBytesExpectedToWrite` is -1
    /// (`NSURLSessionTransferSizeUnknown`) while the size is unknown.
    func urlSession(
        _ session: BackgroundURLSession, downloadTask: BackgroundURLSessionDownloadTask,
        didWriteData bytesWritten: Int64, totalBytesWritten: Int64,
        totalBytesExpectedToWrite: Int64)

    /// The download continues another one by its resume data: so many bytes are kept of it.
    func urlSession(
        _ session: BackgroundURLSession, downloadTask: BackgroundURLSessionDownloadTask,
        didResumeAtOffset fileOffset: Int64, expectedTotalBytes: Int64)
}
#endif
