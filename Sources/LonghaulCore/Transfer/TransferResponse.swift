/// What a server said of the file that a transfer has brought, as one answer, however many requests
/// it took.
public struct TransferResponse: Hashable, Codable, Sendable {
    /// The URL that answered, after redirects.
    public var url: String
    /// The HTTP status of the whole file: 200 also where a part of it came with a 206. `nil` for
    /// FTP and SFTP.
    public var statusCode: Int?
    /// As the server sent them, at most 16 KiB.
    public var headers: HeaderFields
    /// 10, 11, 20 or 30.
    public var httpVersion: Int?

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

    private static let headerBytes = 16 << 10

    /// - Parameter length: of the whole file, where it is known.
    init(_ head: ResponseHead, length: Int64?) {
        self.init(url: head.effectiveURL)
        guard head.scheme == .http else { return }
        httpVersion = head.httpVersion
        statusCode = head.status == 206 ? 200 : head.status
        var room = TransferResponse.headerBytes
        for field in head.headers.fields {
            room -= field.name.utf8.count + field.value.utf8.count
            if room >= 0 { headers.fields.append(field) }
        }
        // Of a part, as the answer's own fields would have it (RFC 9110 §15.3.7).
        guard head.status == 206 else { return }
        headers["Content-Range"] = nil
        headers["Content-Length"] = length.map { "\($0)" }
    }
}
