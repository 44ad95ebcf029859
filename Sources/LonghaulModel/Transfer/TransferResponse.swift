/// Bytes of header fields that are kept of an answer.
private let keptHeaderBytes = 16 << 10

/// The answer of a server about the file that a transfer has brought, as one answer, however many
/// requests it took.
public struct TransferResponse: Hashable, Codable, Sendable {
    /// The URL that answered, after redirects.
    public var url: String
    /// The HTTP status of the whole file: 200 also where a part of it came with a 206. `nil` for
    /// FTP and SFTP.
    public var statusCode: Int?
    /// Header fields as the server sent them, at most 16 KiB.
    public var headers: HeaderFields
    /// 10, 11, 20 or 30.
    public var httpVersion: Int?
    /// The body of the answer to an upload, at most 64 KiB of it.
    public var body: [UInt8]? {
        get { bodyBase64.flatMap { Base64.decode($0) } }
        set { bodyBase64 = newValue.flatMap { $0.isEmpty ? nil : Base64.encode($0) } }
    }
    package private(set) var bodyBase64: String?

    /// Serves tests, and hosts that make answers up.
    public init(
        url: String, statusCode: Int? = nil, headers: HeaderFields = HeaderFields(),
        httpVersion: Int? = nil
    ) {
        self.url = url
        self.statusCode = statusCode
        self.headers = headers
        self.httpVersion = httpVersion
    }

    /// Without parameters, in lower case: `image/jpeg`.
    public var mediaType: String? {
        guard let type = headers["Content-Type"]?.split(separator: ";").first else { return nil }
        return type.lowercased().filter { $0 != " " && $0 != "\t" }
    }

    /// - Parameter length: of the whole file, where it is known.
    package init(_ head: ResponseHead, length: Int64?) {
        self.init(url: head.effectiveURL)
        guard head.scheme == .http else { return }
        httpVersion = head.httpVersion
        statusCode = head.status == 206 ? 200 : head.status
        var room = keptHeaderBytes
        for field in head.headers.fields {
            room -= field.name.utf8.count + field.value.utf8.count
            if room >= 0 { headers.fields.append(field) }
        }
        // The answer to a range speaks of a part, as its own fields would have it (RFC 9110
        // §15.3.7).
        guard head.status == 206 else { return }
        headers["Content-Range"] = nil
        headers["Content-Length"] = length.map { "\($0)" }
    }
}

/// The want of a client about a transfer. Clients write it; the engine only reads it. Raw values
/// are stored: never renumber.
package enum Want: Int, Sendable, CaseIterable {
    case run = 0
    case pause = 1
    /// End it and free its part file.
    case cancel = 2
    /// End it, and keep its part file for a later `retry`.
    case cancelKeepingBytes = 3
}

/// The engine's record of a transfer. The lease holder alone writes it. Raw values are stored:
/// never renumber.
package enum Phase: Int, Sendable, CaseIterable {
    /// The transfer is not being moved: never started, or between attempts. Its fetch row, if any,
    /// records the bytes kept.
    case queued = 0
    /// Claimed by the engine; a fetch row exists. After a crash: back to `queued`, bytes kept, or
    /// completed where ``reconcile`` finds the file under its name.
    case running = 1
    /// The file is durable under its name; the terminal event was committed with this.
    case completed = 3
    /// Gave up; bytes are kept for `resume` or `retry`.
    case failed = 4
    case cancelled = 5

    package var hasEnded: Bool {
        switch self {
        case .completed, .failed, .cancelled: true
        case .queued, .running: false
        }
    }
}
