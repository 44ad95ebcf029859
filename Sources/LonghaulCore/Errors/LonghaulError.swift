/// Why something could not be done: a stable code for programs, a sentence for people that says
/// what happened and what to do, and whether the bytes fetched so far are kept.
public struct LonghaulError: Error, Hashable, Codable, Sendable {
    /// For programs; stable.
    public var code: Code
    /// For people: what happened and, where something can be done, what to do. Not stable.
    public var message: String
    /// Whom it is about, where it is about one.
    public var transferID: TransferID?
    /// The status of the last answer over HTTP, where that is the reason.
    public var httpStatus: Int?
    /// libcurl's CURLcode, where the error came from there.
    public var curlCode: Int?
    /// Whether trying again without changing anything may help.
    public var retryable: Bool
    /// Bytes that are kept for a later `resume` or `retry`.
    public var bytesKept: Int64

    public init(
        _ code: Code, _ message: String, transferID: TransferID? = nil, httpStatus: Int? = nil,
        curlCode: Int? = nil, retryable: Bool = false, bytesKept: Int64 = 0
    ) {
        self.code = code
        self.message = message
        self.transferID = transferID
        self.httpStatus = httpStatus
        self.curlCode = curlCode
        self.retryable = retryable
        self.bytesKept = bytesKept
    }
}

extension LonghaulError {
    /// For an id that names nothing.
    package static func noSuchTransfer(_ id: TransferID) -> LonghaulError {
        LonghaulError(
            .noSuchTransfer, "no such transfer; `longhaul list --all` shows all", transferID: id)
    }

    /// What happened, and what to do about it where the message says so.
    package var parts: (what: String, advice: String?) {
        guard let mark = message.firstRange(of: "; ") else { return (message, nil) }
        return (String(message[..<mark.lowerBound]), String(message[mark.upperBound...]))
    }
}

extension LonghaulError: CustomStringConvertible {
    public var description: String { message }
}
