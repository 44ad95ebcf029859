#if !canImport(Darwin)
public import Foundation
public import FoundationNetworking
internal import Longhaul

/// The cost of a task (URLSession's `URLSessionTaskMetrics`).
public struct BackgroundURLSessionTaskMetrics: Sendable {
    /// From the record of the task to its end.
    public let taskInterval: DateInterval
    /// How many redirects the last request has followed, if they led to another URL: 0 or 1, since
    /// those between are not recorded.
    public let redirectCount: Int
    /// The requests that were sent, oldest first. Of a task with very many the last ones.
    public let transactionMetrics: [BackgroundURLSessionTaskTransactionMetrics]
}

/// The cost of a request (URLSession's `URLSessionTaskTransactionMetrics`). Dates of phases that
/// the request did not have are `nil`: of a name that was known, of a connection that was open, of
/// TLS without `https`. After a redirect the phases are those of the last request.
public struct BackgroundURLSessionTaskTransactionMetrics: Sendable {
    /// The request.
    public let request: URLRequest
    /// The answer: of the last request alone.
    public let response: URLResponse?
    /// When the request began.
    public let fetchStartDate: Date?
    /// When the look-up of the name began.
    public let domainLookupStartDate: Date?
    /// When the name was known.
    public let domainLookupEndDate: Date?
    /// When the connection began.
    public let connectStartDate: Date?
    /// When TLS began.
    public let secureConnectionStartDate: Date?
    /// When TLS was there.
    public let secureConnectionEndDate: Date?
    /// When the connection was there, with TLS.
    public let connectEndDate: Date?
    /// When the request was sent.
    public let requestStartDate: Date?
    /// The same moment: when the last byte had left is not recorded.
    public let requestEndDate: Date?
    /// When the first byte of the answer came.
    public let responseStartDate: Date?
    /// When the answer ended.
    public let responseEndDate: Date?
    /// `http/1.0`, `http/1.1`, `h2` or `h3`; `nil` without an answer over HTTP.
    public let networkProtocolName: String?
    /// The request went out over a connection that was open already.
    public let isReusedConnection: Bool
    /// The task has a proxy of its configuration.
    public let isProxyConnection: Bool
    /// The address of the server, or of the proxy.
    public let remoteAddress: String?
    /// Its port.
    public let remotePort: Int?
    /// Bytes of an upload's body that were sent.
    public let countOfRequestBodyBytesSent: Int64
    /// Bytes of a download's body that were received.
    public let countOfResponseBodyBytesReceived: Int64
}

extension OpenSession {
    func metrics(
        of transfer: Transfer, _ task: BackgroundURLSessionTask
    ) -> BackgroundURLSessionTaskMetrics {
        let attempts = ((try? queue.attempts(of: transfer.id)) ?? []).sorted {
            $0.number < $1.number
        }
        let end = max(transfer.finishedAt ?? transfer.createdAt, transfer.createdAt)
        let hasMoved = transfer.response.map { $0.url != transfer.url } ?? false
        return BackgroundURLSessionTaskMetrics(
            taskInterval: DateInterval(start: Date(transfer.createdAt), end: Date(end)),
            redirectCount: hasMoved ? 1 : 0,
            transactionMetrics: attempts.map { attempt in
                let isLast = attempt.number == attempts.last?.number
                return BackgroundURLSessionTaskTransactionMetrics(
                    attempt, of: transfer, task, isLast ? task.response : nil)
            })
    }
}

extension BackgroundURLSessionTaskTransactionMetrics {
    fileprivate init(
        _ attempt: AttemptRecord, of transfer: Transfer, _ task: BackgroundURLSessionTask,
        _ response: URLResponse?
    ) {
        var request = task.originalRequest ?? URLRequest(url: URL(fileURLWithPath: "/"))
        if let url = URL(string: attempt.url) { request.url = url }
        self.request = request
        self.response = response
        let start = Date(attempt.startedAt)
        let phases = attempt.phases
        let isReused = phases.peer != nil && phases.connect == nil
        let lookedUp = phases.nameLookup.map { start + $0 }
        let connected = phases.connect.map { (lookedUp ?? start) + $0 }
        let secured = phases.tlsHandshake.map { (connected ?? start) + $0 }
        let sent = secured ?? connected ?? start
        fetchStartDate = start
        domainLookupStartDate = lookedUp.map { _ in start }
        domainLookupEndDate = lookedUp
        connectStartDate = connected.map { _ in lookedUp ?? start }
        secureConnectionStartDate = secured.map { _ in connected ?? start }
        secureConnectionEndDate = secured
        connectEndDate = secured ?? connected
        requestStartDate = phases.peer == nil ? nil : sent
        requestEndDate = requestStartDate
        responseStartDate = phases.firstByte.map { sent + $0 }
        responseEndDate = attempt.httpStatus == nil ? nil : Date(attempt.endedAt)
        networkProtocolName = attempt.httpVersion.flatMap { Self.names[$0] }
        isReusedConnection = isReused
        isProxyConnection = !(transfer.options.proxy ?? "").isEmpty
        let colon = phases.peer?.lastIndex(of: ":")
        remoteAddress = colon.flatMap { colon in
            phases.peer.map { $0[..<colon].filter { $0 != "[" && $0 != "]" } }
        }
        remotePort = colon.flatMap { colon in
            phases.peer.flatMap { Int($0[$0.index(after: colon)...]) }
        }
        countOfRequestBodyBytesSent = transfer.kind == .upload ? attempt.bytes : 0
        countOfResponseBodyBytesReceived = transfer.kind == .upload ? 0 : attempt.bytes
    }

    private static let names = [10: "http/1.0", 11: "http/1.1", 20: "h2", 30: "h3"]
}
#endif
