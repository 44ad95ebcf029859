/// The protocol that a server speaks. Raw values are stored.
package enum UploadDialect: String, Hashable, Codable, Sendable {
    /// A single request with all bytes.
    case plain
    /// draft-ietf-httpbis-resumable-upload, -12 and later.
    case ietf9
    /// The same, -09 to -11.
    case ietf8
    /// The same, -04 and -05.
    case ietf6
    /// tus 1.0.0.
    case tus
    /// S3 multipart.
    case s3
    /// A file over FTP or SFTP: see ``RemoteFile``.
    case remoteFile

    /// The field `Upload-Draft-Interop-Version`; `nil` = it is not that draft.
    package var interopVersion: Int? {
        switch self {
        case .ietf9: 9
        case .ietf8: 8
        case .ietf6: 6
        case .plain, .tus, .s3, .remoteFile: nil
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
        case .ietf6, .plain, .tus, .s3, .remoteFile: nil
        }
    }
}
