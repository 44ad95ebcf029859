#if !canImport(Darwin)
public import Foundation
public import FoundationNetworking

// The methods of delegates are optional, as Foundation's.

extension BackgroundURLSessionDelegate {
    /// Does nothing.
    public func urlSession(
        _ session: BackgroundURLSession, didBecomeInvalidWithError error: (any Error)?
    ) {}

    /// Does nothing.
    public func urlSessionDidFinishEvents(
        forBackgroundURLSession session: BackgroundURLSession
    ) {}

    /// Leaves the challenge to the task's delegate.
    public func urlSession(
        _ session: BackgroundURLSession, didReceive challenge: URLAuthenticationChallenge,
        completionHandler:
            @escaping @Sendable (
                BackgroundURLSession.AuthChallengeDisposition, URLCredential?
            ) -> Void
    ) {
        completionHandler(.performDefaultHandling, nil)
    }
}

extension BackgroundURLSessionTaskDelegate {
    /// Does nothing.
    public func urlSession(
        _ session: BackgroundURLSession, didCreateTask task: BackgroundURLSessionTask
    ) {}

    /// Does nothing.
    public func urlSession(
        _ session: BackgroundURLSession,
        taskIsWaitingForConnectivity task: BackgroundURLSessionTask
    ) {}

    /// Does nothing.
    public func urlSession(
        _ session: BackgroundURLSession, task: BackgroundURLSessionTask,
        didCompleteWithError error: (any Error)?
    ) {}

    /// Does nothing.
    public func urlSession(
        _ session: BackgroundURLSession, task: BackgroundURLSessionTask,
        didFinishCollecting metrics: BackgroundURLSessionTaskMetrics
    ) {}

    /// Does nothing.
    public func urlSession(
        _ session: BackgroundURLSession, task: BackgroundURLSessionTask,
        didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {}

    /// Lets the task end with the server's answer.
    public func urlSession(
        _ session: BackgroundURLSession, task: BackgroundURLSessionTask,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler:
            @escaping @Sendable (
                BackgroundURLSession.AuthChallengeDisposition, URLCredential?
            ) -> Void
    ) {
        completionHandler(.performDefaultHandling, nil)
    }

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

    /// Does nothing.
    public func urlSession(
        _ session: BackgroundURLSession, downloadTask: BackgroundURLSessionDownloadTask,
        didResumeAtOffset fileOffset: Int64, expectedTotalBytes: Int64
    ) {}
}
#endif
