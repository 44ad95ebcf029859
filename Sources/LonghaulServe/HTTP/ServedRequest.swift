internal import Longhaul
internal import NIOHTTP1

/// A whole request.
struct ServedRequest: Sendable {
    var method: HTTPMethod
    /// Decoded parts between the slashes of the path.
    var path: [String]
    /// Decoded; of equal names the last counts.
    var query: [String: String] = [:]
    /// The query as it was sent.
    var rawQuery = ""
    var headers: HTTPHeaders
    var body: [UInt8] = []

    init(_ head: HTTPRequestHead, body: [UInt8] = []) {
        method = head.method
        headers = head.headers
        self.body = body
        let parts = head.uri.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        path = (parts.first ?? "").split(separator: "/").map { PercentDecoding.text($0) }
        guard parts.count > 1 else { return }
        rawQuery = String(parts[1])
        for pair in parts[1].split(separator: "&") {
            let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let texts = sides.map { PercentDecoding.text($0.replacing("+", with: " ")) }
            query[texts[0]] = texts.count > 1 ? texts[1] : ""
        }
    }
}

/// An answer: a body, or a stream of events.
struct ServedAnswer: Sendable {
    var status: HTTPResponseStatus
    var type = "application/json"
    var headers: [(String, String)] = []
    var body: [UInt8] = []
    /// Events follow for as long as the client reads.
    var events: EventSubscription?
    /// The connection ends with it.
    var closes = false
    /// The secret was wrong: guessing has to wait.
    var isSlow = false
    /// The request had the secret, or none is asked for.
    var isProven = false

    init(_ status: HTTPResponseStatus = .ok, json: JSONText) {
        self.status = status
        body = json.bytes + [UInt8(ascii: "\n")]
    }

    init(_ status: HTTPResponseStatus = .ok, type: String, _ text: String) {
        self.status = status
        self.type = type
        body = Array(text.utf8)
    }

    init(events: EventSubscription) {
        status = .ok
        type = "text/event-stream"
        self.events = events
    }

    init(_ error: LonghaulError, _ status: HTTPResponseStatus? = nil) {
        var json = JSONText()
        json.refusal(error)
        self.init(status ?? ServedAnswer.status(of: error), json: json)
    }

    private static func status(of error: LonghaulError) -> HTTPResponseStatus {
        switch error.code {
        case .noSuchTransfer, .noSuchSession, .noSuchHost, .noSuchEvent, .noSuchTask: .notFound
        case .invalidRequest, .unsupported: .badRequest
        case .notPermitted: .forbidden
        case .conflict, .destinationExists, .permission, .noSpace, .tooLarge, .sourceChanged,
            .tooManyPendingTaskRequests, .unavailable, .unauthorized:
            .conflict
        case .storeUnavailable: .serviceUnavailable
        // Codes are open: a code that no refusal can have is an internal error.
        default: .internalServerError
        }
    }
}
