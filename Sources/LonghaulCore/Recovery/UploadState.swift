/// What is known of an upload besides the offset that the server has acknowledged
/// (``FetchState/durable``). A part of the fetch's row.
package struct UploadState: Hashable, Codable, Sendable {
    /// `nil` = the server is still to be asked.
    package var dialect: UploadDialect?
    /// The server has not shown yet that it speaks the dialect.
    package var isGuess = false
    /// The dialect is what the origin spoke before.
    package var isRemembered = false
    /// What the origin spoke before is not spoken at this URL.
    package var mustDiscover = false
    /// The resource at the server that takes the bytes. Committed before any byte is sent to it.
    package var address: String?
    /// The version that was sent so far; `nil` = that of the request.
    package var source: SourceVersion?
    /// No byte at or after this offset has been sent to the address. Committed before the bytes go
    /// out: after a crash the kernel still delivers some of them.
    package var sentBound: Int64 = 0
    /// How far the server is, is not known: it is asked before anything else is sent.
    package var mustAsk = false
    /// The server may have the whole file in a request whose answer is not known.
    package var mayHaveArrived = false
    /// Most bytes that the server takes in one request.
    package var appendLimit: Int64?

    package init() {}
}

/// What a server speaks. Raw values are stored.
package enum UploadDialect: String, Hashable, Codable, Sendable {
    /// One request with all bytes.
    case plain
    /// draft-ietf-httpbis-resumable-upload, -12 and later.
    case ietf9
    /// The same, -09 to -11.
    case ietf8
    /// The same, -04 and -05.
    case ietf6
    /// tus 1.0.0.
    case tus

    /// The field `Upload-Draft-Interop-Version`; `nil` = it is not that draft.
    package var interopVersion: Int? {
        switch self {
        case .ietf9: 9
        case .ietf8: 8
        case .ietf6: 6
        case .plain, .tus: nil
        }
    }

    package init?(interopVersion: Int) {
        switch interopVersion {
        case 9: self = .ietf9
        case 8: self = .ietf8
        case 6: self = .ietf6
        default: return nil
        }
    }

    /// The version of the draft to ask for where this one is not understood.
    package var older: UploadDialect? {
        switch self {
        case .ietf9: .ietf8
        case .ietf8: .ietf6
        case .ietf6, .plain, .tus: nil
        }
    }
}
