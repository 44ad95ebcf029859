#if !canImport(Darwin)
internal import Foundation
internal import FoundationNetworking
internal import Longhaul

// Foundation's values of a transfer.

extension URLRequest {
    /// The request of a transfer, as far as the store has it.
    init?(_ transfer: Transfer) {
        guard let url = URL(string: transfer.url) else { return nil }
        self.init(url: url)
        if let method = transfer.options.upload?.method {
            httpMethod = method.rawValue
        }
        for field in transfer.options.headers.fields {
            addValue(field.value, forHTTPHeaderField: field.name)
        }
    }
}

extension URLError {
    /// The error that URLSession has for it; the `LonghaulError` is its
    /// `NSUnderlyingErrorKey`.
    ///
    /// - Parameter more: Further entries of `userInfo`.
    init(_ error: LonghaulError, _ url: URL?, _ more: [String: Any] = [:]) {
        var details = more
        details[NSUnderlyingErrorKey] = error
        details[NSLocalizedDescriptionKey] = error.localizedDescription
        if let url { details[NSURLErrorFailingURLErrorKey] = url }
        self.init(URLError.codes[error.code] ?? .unknown, userInfo: details)
    }

    private static let codes: [LonghaulError.Code: URLError.Code] = [
        .cancelled: .cancelled, .timedOut: .timedOut, .dns: .cannotFindHost,
        .network: .networkConnectionLost, .tls: .secureConnectionFailed,
        .unauthorized: .userAuthenticationRequired, .forbidden: .noPermissionsToReadFile,
        .notFound: .fileDoesNotExist, .clientError: .badServerResponse,
        .serverError: .badServerResponse, .permission: .noPermissionsToReadFile,
        .noSpace: .cannotWriteToFile, .io: .cannotWriteToFile,
        .sourceChanged: .cannotOpenFile, .invalidRequest: .badURL,
        .unsupported: .unsupportedURL, .checksumMismatch: .cannotDecodeRawData,
        .noSuchTransfer: .resourceUnavailable,
    ]
}

extension Transfer {
    /// The server's answer as URLSession has it.
    var urlResponse: URLResponse? {
        let url = URL(string: response?.url ?? self.url)
        guard let url else { return nil }
        if let status = response?.statusCode ?? error?.httpStatus {
            let fields = response?.headers.fields.map { ($0.name, $0.value) } ?? []
            return HTTPURLResponse(
                url: url, statusCode: status, httpVersion: nil,
                headerFields: Dictionary(fields) { "\($0), \($1)" })
        }
        guard state == .completed else { return nil }
        return URLResponse(
            url: url, mimeType: response?.mediaType,
            expectedContentLength: Int(bytesTotal ?? -1), textEncodingName: nil)
    }
}
#endif
