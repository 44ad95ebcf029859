public import LonghaulCore

extension LonghaulError {
    /// What a part of the machine that is not ours said.
    public enum Underlying: Hashable, Sendable {
        /// A status of HTTP, or the reply of an FTP server.
        case http(status: Int)
        /// A code of libcurl (`CURLcode`).
        case curl(code: Int)
    }

    public var underlying: Underlying? {
        if let httpStatus { return .http(status: httpStatus) }
        return curlCode.map { .curl(code: $0) }
    }

    /// Whether `resume` and `retry` go on from bytes that are kept.
    public var areBytesKept: Bool { bytesKept > 0 }
}
