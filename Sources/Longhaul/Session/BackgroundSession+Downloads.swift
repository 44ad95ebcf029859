public import FoundationEssentials
public import LonghaulCore
internal import LonghaulPlatform

extension BackgroundSession {
    /// Requests a file. When this returns, the request survives a power cut; the transfer does not
    /// depend on this process. Where the session has a download of the same URL to the same file
    /// that has not completed, that one is returned; if it had failed, it is retried.
    ///
    /// - Parameters:
    ///   - request: unset options come from the session's configuration.
    ///   - file: where the file is to appear, whole, in one step. No existing file is replaced
    ///     unless the request's options say so.
    /// - Throws: `LonghaulError` a refusal (`invalidRequest`, `unsupported`, `conflict`,
    ///   `permission`, `destinationExists`); `sessionInvalidated`, `storeUnavailable`. Then nothing
    ///   is recorded.
    public func download(
        _ request: TransferRequest, to file: URL
    ) async throws(LonghaulError) -> DownloadTask {
        guard file.isFileURL else {
            throw LonghaulError(.invalidRequest, "\(file) is no file's URL")
        }
        return try await enqueue(request, to: file.path(percentEncoded: false))
    }

    /// Several at once, all or none, in one durable step: a thousand cost little more than one.
    ///
    /// - Throws: `LonghaulError` as ``download(_:to:)``; then none is recorded.
    public func download(
        _ requests: [(request: TransferRequest, file: URL)]
    ) async throws(LonghaulError) -> [DownloadTask] {
        var prepared: [TransferRequest] = []
        for (request, file) in requests {
            guard file.isFileURL else {
                throw LonghaulError(.invalidRequest, "\(file) is no file's URL")
            }
            prepared.append(try completed(request, file.path(percentEncoded: false)))
        }
        return try await enqueue(prepared).map { DownloadTask($0, self) }
    }

    func enqueue(
        _ request: TransferRequest, to path: String
    ) async throws(LonghaulError) -> DownloadTask {
        let ids = try await enqueue([try completed(request, path)])
        guard let id = ids.first else { preconditionFailure("one request, one outcome") }
        return DownloadTask(id, self)
    }

    /// Records requests, in their order. Throws when one is refused, and then none is recorded.
    private func enqueue(_ requests: [TransferRequest]) async throws(LonghaulError) -> [TransferID]
    {
        try await executor.change { queue throws(LonghaulError) in
            var ids: [TransferID] = []
            for outcome in try queue.enqueue(requests) {
                switch outcome {
                case .recorded(let id, _), .existing(let id, _): ids.append(id)
                case .refused(let error): throw error
                case .skipped(let path):
                    throw LonghaulError(
                        .destinationExists, "\(path) exists, and the request says to skip it then")
                }
            }
            return ids
        }
    }

    /// Completes a request with the session's settings.
    func completed(
        _ request: TransferRequest, _ path: String
    ) throws(LonghaulError) -> TransferRequest {
        var request = request
        request.destination = .file(path)
        request.session = identifier
        request.options.keepsResponse = true
        request.fill(from: configuration)
        if let checksum = request.options.checksum, Checksum(parsing: "\(checksum)") == nil {
            throw LonghaulError(.invalidRequest, "\(checksum) is no digest of its kind")
        }
        return request
    }
}
