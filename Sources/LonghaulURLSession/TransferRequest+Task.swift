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
        _ task: BackgroundURLSessionTask, _ configuration: BackgroundURLSessionConfiguration
    ) throws(LonghaulError) {
        guard let request = task.originalRequest, let url = request.url else {
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
        let facts = task.now
        earliestBeginDate = facts.settings.earliestBeginDate
        expectedBytes =
            task.source == nil
            ? facts.settings.expectedToReceive : facts.settings.expectedToSend
        priority = Priority(urlSession: facts.settings.priority)
        metadata = TaskNote(task).text
        if task.waiter != nil { isDiscretionary = false }
        options.deliversErrorPages = task.source == nil && configuration.deliversErrorPages
        try add(configuration, request, url)
        add(facts.credentials, of: configuration.urlCredentialStorage, url)
        if task.source != nil { try send(request) }
    }

    /// The file goes by the request's method.
    private mutating func send(_ request: URLRequest) throws(LonghaulError) {
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

    /// The settings of the session that hold for each request.
    private mutating func add(
        _ configuration: BackgroundURLSessionConfiguration, _ request: URLRequest, _ url: URL
    ) throws(LonghaulError) {
        let settings = configuration.values.requests
        for (name, value) in settings.headers where headers[name] == nil {
            headers[name] = value
        }
        if !settings.allowsCellularAccess { schedule.requires.unmetered = true }
        if !settings.allowsConstrainedNetworkAccess { schedule.requires.fullPower = true }
        if [settings.networkServiceType, request.networkServiceType].contains(.background) {
            priority = .low
        }
        if let count = settings.connectionsPerHost {
            options.connections = .exactly(min(max(count, 1), 16))
        }
        if let proxies = settings.proxies { options.proxy = proxies.proxy(for: url) }
        if [settings.cachePolicy, request.cachePolicy].contains(where: \.passesCaches),
            headers["Cache-Control"] == nil
        {
            headers["Cache-Control"] = "no-cache"
        }
        if settings.setsCookies, request.httpShouldHandleCookies, headers["Cookie"] == nil,
            let storage = configuration.httpCookieStorage
        {
            headers["Cookie"] = storage.header(for: url)
        }
        if settings.minimumTLS == .TLSv13 {
            throw LonghaulError(
                .unsupported,
                "TLS 1.3 cannot be demanded; tlsMinimumSupportedProtocolVersion is at"
                    + " most TLSv12")
        }
    }

    /// Credentials that the task was given for a challenge, else those stored for the host.
    private mutating func add(
        _ credentials: TaskCredentials, of storage: URLCredentialStorage?, _ url: URL
    ) {
        options.clientCertificate = credentials.identity
        options.clientKey = credentials.identity
        options.insecure = credentials.trustsServer
        if let user = credentials.user {
            options.user = user
            options.authentication = credentials.scheme
            return
        }
        guard headers["Authorization"] == nil, let storage else { return }
        let port = url.port ?? (url.scheme == "http" ? 80 : 443)
        let space = storage.allCredentials.keys.first {
            $0.host == url.host && $0.port == port && $0.protocol == url.scheme
        }
        guard let space, let credential = storage.defaultCredential(for: space),
            let user = credential.user, let password = credential.password
        else { return }
        options.user = "\(user):\(password)"
        let isDigest = space.authenticationMethod == NSURLAuthenticationMethodHTTPDigest
        options.authentication = isDigest ? .digest : .basic
    }
}

extension URLRequest.CachePolicy {
    /// Caches on the way are to ask the server.
    fileprivate var passesCaches: Bool {
        switch self {
        case .reloadIgnoringLocalAndRemoteCacheData, .reloadRevalidatingCacheData: true
        default: false
        }
    }
}

extension HTTPCookieStorage {
    /// The value of `Cookie` for a URL (RFC 6265, section 5.4).
    fileprivate func header(for url: URL) -> String? {
        let path = url.path.isEmpty ? "/" : url.path
        let sent = (cookies(for: url) ?? []).filter { cookie in
            if cookie.isSecure, url.scheme != "https" { return false }
            if let end = cookie.expiresDate, end < Date.now { return false }
            let place = cookie.path.hasSuffix("/") ? cookie.path : cookie.path + "/"
            return path == cookie.path || (path + "/").hasPrefix(place)
        }
        if sent.isEmpty { return nil }
        return sent.sorted { ($1.path.count, $0.name) < ($0.path.count, $1.name) }
            .map { "\($0.name)=\($0.value)" }.joined(separator: "; ")
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
#endif
