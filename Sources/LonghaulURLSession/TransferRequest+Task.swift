#if !canImport(Darwin)
internal import Foundation
internal import FoundationNetworking
internal import Longhaul
internal import LonghaulURLRequest

/// The part of a task that is kept as the metadata of its transfer.
struct TaskNote: Codable {
    var taskIdentifier: Int
    var taskDescription: String?

    init(_ task: BackgroundURLSessionTask) {
        taskIdentifier = task.taskIdentifier
        taskDescription = task.taskDescription
    }

    /// The note of a transfer; `nil` where it was requested in another way.
    init?(_ transfer: Transfer) {
        guard let text = transfer.metadata,
            let note = try? JSONDecoder().decode(TaskNote.self, from: Data(text.utf8))
        else { return nil }
        self = note
    }

    var text: String? {
        (try? JSONEncoder().encode(self)).map { String(decoding: $0, as: UTF8.self) }
    }
}

extension TransferRequest {
    /// The request of a task that begins.
    init(
        _ task: BackgroundURLSessionTask, _ settings: BackgroundURLSessionConfiguration.State
    ) throws(LonghaulError) {
        guard let request = task.originalRequest else {
            throw LonghaulError(.invalidRequest, "the task has no request")
        }
        var plain = request
        if task.source != nil {
            // An upload sends the file; the request's body is ignored.
            plain.httpMethod = "GET"
            plain.httpBody = nil
            plain.httpBodyStream = nil
        }
        try self.init(plain)
        for (name, value) in settings.headers where headers[name] == nil {
            headers[name] = value
        }
        let facts = task.now
        earliestBeginDate = facts.earliestBeginDate
        expectedBytes = task.source == nil ? facts.expectedToReceive : facts.expectedToSend
        priority = Priority(urlSession: facts.priority)
        metadata = TaskNote(task).text
        if let count = settings.connectionsPerHost {
            options.connections = .exactly(min(max(count, 1), 16))
        }
        guard task.source != nil else { return }
        guard let method = UploadMethod(rawValue: request.httpMethod ?? "GET")
        else {
            throw LonghaulError(
                .unsupported,
                "an upload is sent with PUT or POST, not with \(request.httpMethod ?? "GET")")
        }
        self.method = method
        // Two tasks with the same file and URL are two requests.
        options.onDuplicate = .separate
    }
}

extension Priority {
    init(urlSession priority: Float) {
        self = priority < 0.5 ? .low : priority > 0.5 ? .high : .normal
    }

    var urlSession: Float {
        switch self {
        case .low: URLSessionTask.lowPriority
        case .normal: URLSessionTask.defaultPriority
        case .high: URLSessionTask.highPriority
        }
    }
}

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
    init(_ error: LonghaulError, _ url: URL?) {
        var details: [String: Any] = [
            NSUnderlyingErrorKey: error, NSLocalizedDescriptionKey: error.localizedDescription,
        ]
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
