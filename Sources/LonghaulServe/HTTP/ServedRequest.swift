internal import Longhaul
internal import LonghaulPlatform
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
    /// Bytes of a file follow in place of the body.
    var file: ServedFile?
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
        case .noSuchTransfer, .noSuchSession, .noSuchHost, .noSuchEvent, .noSuchTask,
            .noSuchBundle, .noSuchFolder:
            .notFound
        case .invalidRequest, .unsupported: .badRequest
        case .notPermitted: .forbidden
        case .conflict, .destinationExists, .permission, .noSpace, .tooLarge, .sourceChanged,
            .tooManyPendingTaskRequests, .immediateRunIneligible, .unavailable, .unauthorized,
            .invalidManifest:
            .conflict
        case .storeUnavailable: .serviceUnavailable
        // Codes are open: a code that no refusal can have is an internal error.
        default: .internalServerError
        }
    }
}

/// A part of a file that is sent as a body.
struct ServedFile: Sendable {
    var file: ReadableFile
    /// Bytes that are left to send.
    var range: Range<Int64>

    /// The next piece; empty at the end of the range. `nil` = the file has become shorter.
    func piece(atMost size: Int) -> [UInt8]? {
        let count = Int(min(Int64(size), range.upperBound - range.lowerBound))
        if count == 0 { return [] }
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            let room = UnsafeMutableRawBufferPointer(buffer)
            initialized = (try? file.read(into: room, at: range.lowerBound)) ?? 0
        }
        return bytes.isEmpty ? nil : bytes
    }

    /// The header field that has a browser save the file under its name (RFC 6266, RFC 8187).
    static func disposition(of path: String) -> String {
        let plain = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~".utf8)
        var name = ""
        for byte in PathParts.names(in: path).last?.utf8 ?? "file".utf8 {
            if plain.contains(byte) {
                name.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                let digits = String(byte, radix: 16, uppercase: true)
                name += "%" + (digits.utf8.count < 2 ? "0" : "") + digits
            }
        }
        return "attachment; filename*=UTF-8''" + name
    }
}
