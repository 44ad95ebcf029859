public import LonghaulCore

extension LonghaulError {
    /// The error of a part of the machine that is not ours.
    public enum Underlying: Hashable, Sendable {
        /// A status of HTTP, or the reply of an FTP server.
        case http(status: Int)
        /// A code of libcurl (`CURLcode`).
        case curl(code: Int)
    }

    /// The answer or the code that is the reason; HTTP before libcurl. `nil` = neither.
    public var underlying: Underlying? {
        if let httpStatus { return .http(status: httpStatus) }
        return curlCode.map { .curl(code: $0) }
    }

    /// True if `resume` and `retry` continue from bytes that are kept.
    public var areBytesKept: Bool { bytesKept > 0 }
}

extension LonghaulError {
    package static func noThread(_ consequence: String = "") -> LonghaulError {
        LonghaulError(
            .io, "no thread can be started (see ulimit -u)" + consequence, retryable: true)
    }
}
