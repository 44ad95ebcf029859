/// The head of one response as it came: the final one of an exchange, not of an interim or redirect
/// answer that was followed.
package struct ResponseHead: Hashable, Sendable {
    package enum Scheme: Hashable, Sendable {
        case http, ftp, sftp
    }

    package var scheme: Scheme { didSet { read() } }
    /// HTTP status; for FTP and SFTP 206 when the server honoured the offset and 200 when the
    /// transfer starts at zero.
    package var status: Int { didSet { read() } }
    package var headers: HeaderFields { didSet { read() } }
    /// The URL that answered, after redirects.
    package var effectiveURL: String
    /// 10, 11, 20 or 30.
    package var httpVersion: Int
    /// When the head arrived.
    package var receivedAt: Timestamp { didSet { read() } }
    /// What it says of the version that it belongs to. Read once, where the head arrives: on the
    /// transport's thread, and not again by each who judges it.
    private(set) var announced = Validator()

    package init(
        scheme: Scheme = .http, status: Int, headers: HeaderFields, effectiveURL: String,
        httpVersion: Int = 11, receivedAt: Timestamp
    ) {
        self.scheme = scheme
        self.status = status
        self.headers = headers
        self.effectiveURL = effectiveURL
        self.httpVersion = httpVersion
        self.receivedAt = receivedAt
        read()
    }

    private mutating func read() {
        announced = Validator(reading: self)
    }
}
