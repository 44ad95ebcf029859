package import LonghaulModel

/// How a source is asked for its files: chooses the next request, and judges the answer. A value;
/// pure.
package protocol ManifestConversation: Sendable {
    /// The next request; `nil` = the manifest is whole.
    func next() -> ManifestRequest?
    /// The answer to ``next()``, any but 429 and 5xx, which are retried.
    ///
    /// - Throws: The error that the check ends with: `invalidManifest` with the line of a list,
    ///   `unauthorized`, `forbidden` or `notFound` with the page to visit, `clientError`,
    ///   `tooLarge`; `serverError`, retryable, where the server asks for a pause.
    mutating func judge(_ answer: ManifestAnswer) throws(LonghaulError)
    /// `nil` = there are requests to make.
    var manifest: Manifest? { get }
}

/// Which secret goes with a request, to the origin of its URL alone.
package enum ManifestCredential: Hashable, Sendable {
    case none
    /// The token of the source, as `Bearer`; of S3 the signature.
    case source
    /// User and password of the registry, as `Basic`, to the server that gives out tokens.
    case registryLogin
    /// A token that the conversation was given.
    case bearer(String)
}

package struct ManifestRequest: Hashable, Sendable {
    /// `file:///…` for a list on this machine, `-` for standard input.
    package var url: String
    package var headers = HeaderFields()
    package var credential = ManifestCredential.none
    /// A longer body ends the check with `tooLarge`.
    package var maxSize = ManifestLimits.bytes

    init(
        _ url: String, credential: ManifestCredential = .none,
        maxSize: Int64 = ManifestLimits.bytes
    ) {
        self.url = url
        self.credential = credential
        self.maxSize = maxSize
    }
}

package struct ManifestAnswer: Sendable {
    /// 200 for a list on this machine.
    package var status: Int
    package var headers: HeaderFields
    /// URL that answered, after redirects.
    package var url: String
    package var body: [UInt8]
    /// SHA-256 of ``body``, lower-case hexadecimal.
    package var sha256: String

    package init(
        status: Int, headers: HeaderFields = HeaderFields(), url: String, body: [UInt8],
        sha256: String
    ) {
        self.status = status
        self.headers = headers
        self.url = url
        self.body = body
        self.sha256 = sha256
    }
}

/// Bounds of a manifest. What comes from a server is held in memory once.
package enum ManifestLimits {
    /// All answers together.
    package static let bytes: Int64 = 64 << 20
    package static let files = 1_000_000
    /// A signature, a token.
    static let smallBytes: Int64 = 1 << 20
}

package enum ManifestSources {
    /// - Parameters:
    ///   - signedBy: Kind of the key that must have signed the list; `nil` = no key is required.
    ///     Only for a source that ``BundleSource/mayBeSigned``.
    ///   - hasCredential: A token goes with requests of ``ManifestCredential/source``.
    package static func conversation(
        for source: BundleSource, signedBy: SignatureForm? = nil, hasCredential: Bool = false
    ) -> any ManifestConversation {
        precondition(signedBy == nil || source.mayBeSigned, "only lists of digests are signed")
        return switch source.kind {
        case .list: ListedFiles(source)
        case .checksums: ChecksumFiles(source, signedBy: signedBy)
        case .huggingFace: HubFiles(source)
        case .gitHub: ReleaseFiles(source, hasCredential: hasCredential)
        case .zenodo: RecordFiles(source)
        case .ociImage: ImageFiles(source)
        case .s3: ObjectFiles(source)
        }
    }
}

extension BundleSource {
    /// The credential may go to this URL: its origin is that of the source.
    func owns(_ url: String) -> Bool {
        guard let own = try? URLParts(endpoint ?? name) else { return false }
        return (try? URLParts(url))?.origin == own.origin
    }
}

extension ManifestAnswer {
    /// Refuses an answer that is not a success, or a page.
    func requireList(of source: BundleSource) throws(LonghaulError) {
        if (200...299).contains(status) {
            if !isPage { return }
            throw .invalidManifest(
                "the server sent an HTML page in place of a list; check the URL in a browser")
        }
        let (code, what): (LonghaulError.Code, String) =
            switch status {
            case 401: (.unauthorized, "the server asks for credentials for")
            case 403: (.forbidden, "the server refuses access to")
            case 404, 410: (.notFound, "the server has no")
            default: (.clientError, "the server does not answer for")
            }
        let visit = source.page.map { "; visit \($0)" } ?? ""
        throw LonghaulError(
            code, "\(what) \(source.shown) (\(status))\(visit)", httpStatus: status)
    }

    /// An HTML page where a list was asked for: a login, an error with status 200, an index.
    var isPage: Bool {
        let start = body.prefix(512).drop { $0.isBlank || $0 == 0x0A || $0 == 0x0D || $0 >= 0x80 }
        let text = String(decoding: start, as: UTF8.self)
        return text.beginsIgnoringCase(with: "<!doctype html")
            || text.beginsIgnoringCase(with: "<html")
    }
}
