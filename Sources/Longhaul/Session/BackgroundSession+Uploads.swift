public import FoundationEssentials
public import LonghaulCore

extension BackgroundSession {
    /// Sends a file. When this returns, the request survives a power cut; the transfer does not
    /// depend on this process. The file must not change until the end, unless the request asks for
    /// a snapshot (`TransferRequest.snapshot`); while one is copied, other calls of the process's
    /// sessions wait. Where the session has an upload of the same version of the file to the same
    /// URL that has not completed, that one is returned.
    ///
    /// - Throws: `LonghaulError` a refusal (`invalidRequest`, `unsupported`, `permission`);
    ///   `sessionInvalidated`, `storeUnavailable`. Then nothing is recorded.
    public func upload(
        _ file: URL, with request: TransferRequest
    ) async throws(LonghaulError) -> UploadTask {
        let task = try await enqueue(try upload(of: file, request), to: path(of: file))
        return UploadTask(task.id, self)
    }

    /// Sends a file and waits for the answer; at most 64 KiB of the answer's body are kept.
    ///
    /// When the Swift task is cancelled, or the process dies, the transfer is *promoted*, as
    /// ``data(for:)`` is: it continues in the background, and its event is among ``events``.
    ///
    /// - Throws: `LonghaulError` of the transfer, or a refusal, as ``upload(_:with:)``;
    ///   `CancellationError` when it was promoted.
    public func upload(
        for request: TransferRequest, from file: URL
    ) async throws -> (Data, TransferResponse) {
        var request = try upload(of: file, request)
        // The answer belongs to this task.
        request.options.onDuplicate = .separate
        let id = try await begin(request, at: path(of: file))
        defer { sharedStore.release(id) }
        let result = UploadResult(try await fetch(id))
        try await consume(id)
        return (result.body, result.response)
    }

    private func upload(
        of file: URL, _ request: TransferRequest
    ) throws(LonghaulError) -> TransferRequest {
        guard file.isFileURL else {
            throw LonghaulError(.invalidRequest, "\(file) is no file's URL")
        }
        var request = request
        request.options.upload = request.options.upload ?? UploadOptions()
        return request
    }

    private func path(of file: URL) -> String { file.path(percentEncoded: false) }
}
