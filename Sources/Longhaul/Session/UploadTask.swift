public import FoundationEssentials
public import LonghaulCore

/// An upload of a session (URLSession's `URLSessionUploadTask` of a background session). It is the
/// store's, not this value's: letting go of the value, or the process ending, changes nothing.
public struct UploadTask: Sendable, Identifiable {
    private let task: DownloadTask

    init(_ id: TransferID, _ session: BackgroundSession) {
        task = DownloadTask(id, session)
    }

    /// The number that the command prints and takes.
    public var id: TransferID { task.id }

    /// Progress from now to the transfer's end. Only bytes acknowledged by the server count as
    /// done.
    public var progress: ProgressUpdates { task.progress }

    /// The server's answer, as soon as it has the whole file.
    ///
    /// Throws the transfer's `LonghaulError` when it has failed (`sourceChanged`: the file is not
    /// the one that was handed over) or was cancelled, by any process. Cancelling the Swift task
    /// ends the wait (`CancellationError`), not the transfer.
    public var value: UploadResult {
        get async throws { UploadResult(try await task.value) }
    }

    /// The store's knowledge of the transfer, and how far it is.
    public var transfer: Transfer {
        get async throws(LonghaulError) { try await task.transfer }
    }

    /// Wait reasons and forecast, as `longhaul why` shows them.
    public var explanation: TransferExplanation {
        get async throws(LonghaulError) { try await task.explanation }
    }

    /// Pauses, as ``DownloadTask/pause()`` does. The bytes at the server stay there.
    ///
    /// - Throws: `LonghaulError` as there.
    public func pause() async throws(LonghaulError) { try await task.pause() }

    /// Resumes, as ``DownloadTask/resume()`` does. The server is asked how far it is.
    ///
    /// - Throws: `LonghaulError` as there.
    public func resume() async throws(LonghaulError) { try await task.resume() }

    /// Ends it; its event follows. The server's part of it is deleted, where the protocol can.
    ///
    /// - Throws: `LonghaulError` as ``DownloadTask/cancel(keepingBytes:)``.
    public func cancel() async throws(LonghaulError) { try await cancel(keepingBytes: false) }

    /// Ends it; its event follows. The server's part of it is deleted, where the protocol can,
    /// unless it is kept for ``retry()``.
    ///
    /// - Throws: `LonghaulError` as ``DownloadTask/cancel(keepingBytes:)``.
    public func cancel(keepingBytes: Bool) async throws(LonghaulError) {
        try await task.cancel(keepingBytes: keepingBytes)
    }

    /// Tries again, as ``DownloadTask/retry()`` does.
    ///
    /// - Throws: `LonghaulError` as there.
    public func retry() async throws(LonghaulError) { try await task.retry() }
}

/// The answer of a server to an upload.
public struct UploadResult: Sendable {
    /// The status and the header fields of the answer.
    public var response: TransferResponse
    /// The body of the answer, at most 64 KiB of it.
    public var body: Data
    /// The cost of the transfer.
    public var metrics: TransferMetrics

    init(_ ended: DownloadedFile) {
        response = ended.response
        body = Data(ended.response.body ?? [])
        metrics = ended.metrics
    }
}
