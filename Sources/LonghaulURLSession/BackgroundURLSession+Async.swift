#if !canImport(Darwin)
public import Foundation
public import FoundationNetworking
internal import Longhaul

/// Requests whose result a Swift task awaits. They are the engine's like all others: a break of the
/// network does not end them.
///
/// Cancelling the Swift task cancels the request, and throws `URLError.cancelled`. If a download
/// task of the same request is resumed in the cancellation handler around the call, it continues
/// that request, without another one on the wire:
///
/// ```swift
/// await withTaskCancellationHandler {
///     try? await session.data(for: request)
/// } onCancel: {
///     session.downloadTask(with: request).resume()
/// }
/// ```
///
/// When the process dies meanwhile, the request goes on as a task of the session, and the next
/// process gets its event.
extension BackgroundURLSession {
    /// The content of a URL, in memory. Bodies that memory should not hold are better downloaded.
    ///
    /// - Parameters:
    ///   - url: The address.
    ///   - delegate: Gets challenges and metrics of the request in place of the session's.
    /// - Throws: `URLError`.
    public func data(
        from url: URL, delegate: (any BackgroundURLSessionTaskDelegate)? = nil
    ) async throws -> (Data, URLResponse) {
        try await data(for: URLRequest(url: url), delegate: delegate)
    }

    /// The content that a request asks for, as ``data(from:delegate:)``.
    ///
    /// - Throws: `URLError`.
    public func data(
        for request: URLRequest, delegate: (any BackgroundURLSessionTaskDelegate)? = nil
    ) async throws -> (Data, URLResponse) {
        let (file, response) = try await download(for: request, delegate: delegate)
        defer { try? FileManager.default.removeItem(at: file) }
        return (try Data(contentsOf: file), response)
    }

    /// The content of a URL, in a file that is the caller's to move or to delete.
    ///
    /// - Parameters:
    ///   - url: The address.
    ///   - delegate: As of ``data(from:delegate:)``.
    /// - Throws: `URLError`.
    public func download(
        from url: URL, delegate: (any BackgroundURLSessionTaskDelegate)? = nil
    ) async throws -> (URL, URLResponse) {
        try await download(for: URLRequest(url: url), delegate: delegate)
    }

    /// The content that a request asks for, as ``download(from:delegate:)``.
    ///
    /// - Throws: `URLError`.
    public func download(
        for request: URLRequest, delegate: (any BackgroundURLSessionTaskDelegate)? = nil
    ) async throws -> (URL, URLResponse) {
        let task = BackgroundURLSessionDownloadTask(
            request, source: nil, waiter: TaskWaiter(), self)
        let result = try await result(of: task, delegate)
        guard let file = result.file else { throw URLError(.cannotCreateFile) }
        return (file, result.response)
    }

    /// Sends a file by PUT or POST, as the request says; at most 64 KiB of the answer are
    /// returned. The file must not change until the end.
    ///
    /// - Throws: `URLError`.
    public func upload(
        for request: URLRequest, fromFile file: URL,
        delegate: (any BackgroundURLSessionTaskDelegate)? = nil
    ) async throws -> (Data, URLResponse) {
        let task = BackgroundURLSessionUploadTask(
            request, source: file, waiter: TaskWaiter(), self)
        let result = try await result(of: task, delegate)
        return (result.body, result.response)
    }

    /// Sends bytes, as ``upload(for:fromFile:delegate:)`` sends a file. They are in a file of the
    /// state directory until the end; that file stays if the process dies before.
    ///
    /// - Throws: `URLError`.
    public func upload(
        for request: URLRequest, from bodyData: Data,
        delegate: (any BackgroundURLSessionTaskDelegate)? = nil
    ) async throws -> (Data, URLResponse) {
        let file = try await body(bodyData)
        defer { try? FileManager.default.removeItem(at: file) }
        return try await upload(for: request, fromFile: file, delegate: delegate)
    }

    private func body(_ data: Data) async throws -> URL {
        try await withCheckedThrowingContinuation { continuation in
            send { [self] open in
                continuation.resume(
                    with: Result {
                        guard let open else { throw URLError(registry.failure, nil) }
                        let file = open.incoming.appending(path: "body-\(UUID().uuidString)")
                        try data.write(to: file)
                        return file
                    })
            }
        }
    }

    private func result(
        of task: BackgroundURLSessionTask, _ delegate: (any BackgroundURLSessionTaskDelegate)?
    ) async throws -> AwaitedResult {
        guard let waiter = task.waiter, registry.add(task) else {
            throw URLError(registry.failure, task.originalRequest?.url)
        }
        task.delegate = delegate
        calls.created(task)
        do {
            return try await withTaskCancellationHandler {
                try await waiter.result(after: task.resume)
            } onCancel: {
                if waiter.end(.failure(URLError(.cancelled))) { registry.offer(task) }
            }
        } catch {
            // Cancellation handlers around this call have returned: a task that continues the
            // request was resumed by now, or never will be.
            if registry.withdraw(task) { task.cancel() }
            throw error
        }
    }
}
#endif
