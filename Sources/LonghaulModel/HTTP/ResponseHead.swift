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
    /// The origin that answered, where a redirect had led to another than the request's.
    package var otherOrigin: String? { didSet { if otherOrigin != oldValue { read() } } }
    /// The answer came through a proxy, which may have made it.
    package var isProxied = false
    /// The body of the upload had been sent whole when this head came.
    package var isAfterBody = false
    /// Validator of the version that the head belongs to. Read once, on the transport's thread when
    /// the head arrives, so that no judgement reads it again.
    private(set) var announced = Validator()
    /// The body is a part of the file, or may be. Many scripts send the range that was asked for
    /// and forget the status; a cache that has stored such an answer gives it to others.
    package private(set) var isPart = false

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

    package var isElsewhere: Bool { otherOrigin != nil }

    private mutating func read() {
        isPart = status == 206 || ((status == 200 || status == 203) && deniesWhole)
        announced = Validator(reading: self)
    }

    /// Content-Range means nothing with a 200 (RFC 9110 §14.4), but no server sends it for the
    /// whole.
    private var deniesWhole: Bool {
        guard scheme == .http, headers.contains("Content-Range") else { return false }
        guard case .bytes(let range, let total?) = contentRange, range == 0..<total else {
            return true
        }
        return bodyLength.map { $0 != total } ?? false
    }
}

extension ResponseHead {
    /// End of the body that has the whole file; `nil` = the connection's end tells. Over FTP the
    /// length is what SIZE says, which is advice (RFC 3659 §4): the file ends with the data
    /// connection and 226 (RFC 959 §3.4).
    package func bodyEnd(length: Int64?) -> Int64? {
        scheme == .ftp ? nil : length
    }
}
