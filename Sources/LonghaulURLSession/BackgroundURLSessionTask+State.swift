#if !canImport(Darwin)
public import Foundation
public import FoundationNetworking
internal import Longhaul

/// How far a task is.
extension BackgroundURLSessionTask {
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

    /// ``originalRequest``; after the end with the URL that redirects have led to.
    public var currentRequest: URLRequest? {
        guard var request = originalRequest else { return nil }
        if let url = response?.url { request.url = url }
        return request
    }

    /// The progress in bytes, of unknown size (-1) at first. Cancelling, pausing and resuming it
    /// cancel, suspend and resume the task.
    public var progress: Progress {
        let fresh = Progress(totalUnitCount: Self.unknown)
        let (progress, isFresh) = update { facts in
            defer { facts.progress = facts.progress ?? fresh }
            return (facts.progress ?? fresh, facts.progress == nil)
        }
        guard isFresh else { return progress }
        progress.isPausable = true
        progress.cancellationHandler = { [weak self] in self?.cancel() }
        progress.pausingHandler = { [weak self] in self?.suspend() }
        progress.resumingHandler = { [weak self] in self?.resume() }
        showProgress()
        return progress
    }

    /// Writes the bytes into ``progress``, where the program has asked for it.
    func showProgress() {
        let facts = now
        guard let progress = facts.progress else { return }
        progress.totalUnitCount = facts.bytesTotal ?? Self.unknown
        progress.completedUnitCount = facts.bytesDone
    }
}

/// A task whose answer has a body (URLSession's `URLSessionDataTask`): an upload.
public class BackgroundURLSessionDataTask: BackgroundURLSessionTask, @unchecked Sendable {}

/// An upload of a file (URLSession's `URLSessionUploadTask`).
public final class BackgroundURLSessionUploadTask: BackgroundURLSessionDataTask,
    @unchecked Sendable
{
    /// Ends the task, as `cancel()`, and calls back with data for
    /// ``BackgroundURLSession/uploadTask(withResumeData:)``; with `nil` if it was never recorded,
    /// or has ended. What the server has stays there.
    public func cancel(
        byProducingResumeData completionHandler: @escaping @Sendable (Data?) -> Void
    ) {
        session.cancel(self, producing: completionHandler)
    }

    /// Ends the task, as ``cancel(byProducingResumeData:)``, and returns the data.
    public func cancelByProducingResumeData() async -> Data? {
        await withCheckedContinuation { continuation in
            cancel { continuation.resume(returning: $0) }
        }
    }
}

/// A download (URLSession's `URLSessionDownloadTask`).
public final class BackgroundURLSessionDownloadTask: BackgroundURLSessionTask,
    @unchecked Sendable
{
    /// Ends the task, as `cancel()`, and calls back with data for
    /// ``BackgroundURLSession/downloadTask(withResumeData:)``; with `nil` if it was never recorded,
    /// or has ended. The bytes stay in the state directory, for as long as those of failed
    /// downloads.
    public func cancel(
        byProducingResumeData completionHandler: @escaping @Sendable (Data?) -> Void
    ) {
        session.cancel(self, producing: completionHandler)
    }

    /// Ends the task, as ``cancel(byProducingResumeData:)``, and returns the data.
    public func cancelByProducingResumeData() async -> Data? {
        await withCheckedContinuation { continuation in
            cancel { continuation.resume(returning: $0) }
        }
    }
}
#endif
