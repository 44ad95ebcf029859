public import FoundationEssentials
public import HTTPTypes
public import Longhaul

/// The calls of a session for requests of swift-http-types. Each makes a `TransferRequest` of it,
/// whose initializer says which requests are refused.
extension BackgroundSession {
    /// Records a download that continues in the background, as `download(_:to:)` with a
    /// `TransferRequest`.
    ///
    /// - Throws: `LonghaulError`: `unsupported` for a method other than GET, `invalidRequest` for
    ///   an invalid URL; else as the call with a `TransferRequest`.
    public func download(
        _ request: HTTPRequest, to file: URL
    ) async throws(LonghaulError) -> DownloadTask {
        try await download(Self.download(request), to: file)
    }

    /// The content of a URL, in memory, as `data(for:)` with a `TransferRequest`.
    ///
    /// - Throws: As `download(_:to:)`; `CancellationError` when it was promoted.
    public func data(for request: HTTPRequest) async throws -> (Data, HTTPResponse) {
        let (data, response) = try await data(for: Self.download(request))
        return (data, try Self.http(response))
    }

    /// The content of a URL, in a file that is the caller's to move or delete, as `download(for:)`
    /// with a `TransferRequest`.
    ///
    /// - Throws: As `data(for:)`.
    public func download(for request: HTTPRequest) async throws -> (URL, HTTPResponse) {
        let (file, response) = try await download(for: Self.download(request))
        return (file, try Self.http(response))
    }

    /// Records an upload that continues in the background, as `upload(_:with:)` with a
    /// `TransferRequest`.
    ///
    /// - Throws: `LonghaulError`: `unsupported` for a method other than PUT and POST,
    ///   `invalidRequest` for an invalid URL; else as the call with a `TransferRequest`.
    public func upload(
        _ file: URL, with request: HTTPRequest
    ) async throws(LonghaulError) -> UploadTask {
        try await upload(file, with: Self.upload(request))
    }

    /// Sends a file and waits for the answer, as `upload(for:from:)` with a `TransferRequest`.
    ///
    /// - Throws: As `upload(_:with:)`; `CancellationError` when it was promoted.
    public func upload(
        for request: HTTPRequest, from file: URL
    ) async throws -> (Data, HTTPResponse) {
        let (data, response) = try await upload(for: Self.upload(request), from: file)
        return (data, try Self.http(response))
    }

    private static func download(_ request: HTTPRequest) throws(LonghaulError) -> TransferRequest {
        guard request.method == .get else {
            throw LonghaulError(
                .unsupported, "a download is asked for with GET, not with \(request.method)")
        }
        return try TransferRequest(request)
    }

    private static func upload(_ request: HTTPRequest) throws(LonghaulError) -> TransferRequest {
        guard request.method == .put || request.method == .post else {
            throw LonghaulError(
                .unsupported, "an upload is asked for with PUT or POST, not with \(request.method)")
        }
        return try TransferRequest(request)
    }

    private static func http(_ response: TransferResponse) throws(LonghaulError) -> HTTPResponse {
        if let http = response.httpResponse { return http }
        throw LonghaulError(.unsupported, "\(response.url) has not answered over HTTP")
    }
}
