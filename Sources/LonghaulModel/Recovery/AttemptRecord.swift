/// A request that went out for a transfer, and its result.
public struct AttemptRecord: Hashable, Codable, Sendable {
    /// Counts the transfer's requests, from 1.
    public var number: Int
    /// When the request was sent.
    public var startedAt: Timestamp
    /// When its answer ended, or when it was stopped.
    public var endedAt: Timestamp
    /// The URL that was asked.
    public var url: String
    /// Body bytes received, or sent.
    public var bytes: Int64
    /// `nil` = no answer, or not HTTP.
    public var httpStatus: Int?
    /// 10, 11, 20 or 30.
    public var httpVersion: Int?
    /// `completed`, `stopped`, `unchanged` (the kept file is copied), `unusable`, or an error code.
    public var outcome: String
    /// The error in a sentence; `nil`: no error.
    public var message: String?
    /// The server's address and the time of each phase.
    public var phases: RequestPhases

    package init(
        number: Int, startedAt: Timestamp, endedAt: Timestamp, url: String, bytes: Int64,
        httpStatus: Int?, httpVersion: Int?, outcome: String, message: String?,
        phases: RequestPhases = RequestPhases()
    ) {
        self.number = number
        self.startedAt = startedAt
        self.endedAt = endedAt
        self.url = url
        self.bytes = bytes
        self.httpStatus = httpStatus
        self.httpVersion = httpVersion
        self.outcome = outcome
        self.message = message
        self.phases = phases
    }

    /// Nothing has gone wrong with it.
    package var isWell: Bool { ["completed", "stopped", "unchanged"].contains(outcome) }

    /// The server, or a proxy before it, has refused the credentials or what they are to allow.
    package var isRefusedAccess: Bool {
        outcome == LonghaulError.Code.unauthorized.rawValue
            || outcome == LonghaulError.Code.forbidden.rawValue
    }
}
