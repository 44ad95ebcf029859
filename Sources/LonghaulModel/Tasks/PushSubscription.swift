/// A stream of another machine whose events wake a host.
public struct PushSubscription: Hashable, Sendable {
    package typealias ID = Int64

    /// Another one each time that it is made.
    package var id: ID
    package var host: String
    /// URL of a `text/event-stream`, or of ntfy's JSON lines.
    public var url: String
    /// Header fields from this file, read at each connection and never stored; `nil` = none.
    public var headersFrom: String?
    /// Its wake-ups are urgent.
    public var isUrgent: Bool
    /// The place after the last event.
    public var lastID: String?
    /// When the connection was made; `nil` = there is none.
    public var connectedAt: Timestamp?
    /// Attempts in a row that failed.
    public var failures: Int
    /// When the next attempt begins.
    public var retryAt: Timestamp?
    /// Why the last attempt failed.
    public var error: LonghaulError?

    package init(
        id: ID, host: String, url: String, headersFrom: String? = nil, isUrgent: Bool = false
    ) {
        self.id = id
        self.host = host
        self.url = url
        self.headersFrom = headersFrom
        self.isUrgent = isUrgent
        failures = 0
    }
}
