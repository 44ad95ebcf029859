/// The identity of a request: transfers of equal identity get the same bytes, in the same way, and
/// fail for the same reasons. They may share a fetch.
///
/// The identity includes each value that can change the bytes, their source, or their acceptance.
/// It excludes time, speed, attempts and names: each transfer has its own, see ``Subscribers``.
package struct FetchIdentity: Hashable, Sendable {
    package var method: String
    /// Canonical, without user information.
    package var url: ExactText
    /// Names in lower case, in the order of the names, then as given.
    package var headers: [HeaderFields.Field]
    package var credentials: Credentials
    /// The body that is sent, for methods that have one.
    package var bodyDigest: Checksum?
    /// The expected digest. A transfer that expects another digest must neither fail with its
    /// neighbour nor make it fail.
    package var checksum: Checksum?
    package var maxSize: Int64?
    /// The file may be the page of an error.
    package var deliversErrorPages: Bool
    /// The existing file that it continues: its bytes were not fetched.
    package var continued: ContinuedFile?
    /// A request that did not name a mirror does not get its bytes.
    package var mirrors: [ExactText]
    /// Sending options and file version; `nil` = a download.
    package var upload: UploadOptions?
    /// How its requests are signed.
    package var s3: S3Access?
    /// The path of that file: some servers are sent its name.
    package var source: ExactText?

    /// The credentials, and the trusted certificates. Files are identified by their paths.
    package struct Credentials: Hashable, Sendable {
        package var userInfo: ExactText?
        package var user: ExactText?
        package var netrc: Bool
        package var proxy: ExactText?
        package var proxyVariables: ProxyVariables?
        package var caCertificate: ExactText?
        package var clientCertificate: ExactText?
        package var clientKey: ExactText?
        package var insecure: Bool
        package var privateAddresses: PrivateAddresses
        package var headersFrom: ExactText?
        package var userFrom: ExactText?
        package var cookiesFrom: ExactText?
        package var authentication: HTTPAuthentication
    }

    /// `nil` if the URL cannot be fetched.
    package init?(
        _ request: TransferRequest, method: String = "GET", bodyDigest: Checksum? = nil
    ) {
        guard let url = CanonicalURL.of(request.url) else { return nil }
        let options = request.options
        self.method = method
        self.url = ExactText(url)
        headers = FetchIdentity.selecting(options.headers)
        credentials = Credentials(
            userInfo: (try? URLParts(request.url))?.userInfo.map(ExactText.init),
            user: options.user.map(ExactText.init), netrc: options.netrc,
            proxy: options.proxy.map(ExactText.init),
            proxyVariables: options.proxy == nil ? options.proxyVariables : nil,
            caCertificate: options.caCertificate.map(ExactText.init),
            clientCertificate: options.clientCertificate.map(ExactText.init),
            clientKey: options.clientKey.map(ExactText.init), insecure: options.insecure,
            privateAddresses: options.privateAddresses,
            headersFrom: options.headersFrom.map(ExactText.init),
            userFrom: options.userFrom.map(ExactText.init),
            cookiesFrom: options.cookiesFrom.map(ExactText.init),
            authentication: options.authentication)
        self.bodyDigest = bodyDigest
        checksum = options.checksum
        maxSize = options.maxSize
        deliversErrorPages = options.deliversErrorPages
        continued = options.continued
        mirrors = options.mirrors.map { ExactText(CanonicalURL.of($0) ?? $0) }
        upload = options.upload
        s3 = options.s3
        s3?.askedURL = nil
        s3?.keysChosenAt = nil
        if upload != nil, case .file(let path) = request.destination { source = ExactText(path) }
    }

    /// Fields that select no representation on any server: fields between one hop and the next (RFC
    /// 9110 §7.6.1), the priority of a response (RFC 9218), and trace marks (W3C Trace Context, and
    /// the usual names before it). Every other field may select one: `Vary` names a server's fields
    /// only once it has answered, and custom fields carry keys and tenants.
    package static let notSelecting: Set<String> = [
        "connection", "keep-alive", "proxy-connection", "te", "trailer", "upgrade", "priority",
        "traceparent", "tracestate", "x-request-id", "x-correlation-id",
    ]

    private static func selecting(_ headers: HeaderFields) -> [HeaderFields.Field] {
        let named = headers.fields.map {
            HeaderFields.Field(
                name: $0.name.lowercased(), value: $0.value.trimmingBlanks)
        }.filter { !notSelecting.contains($0.name) }
        // Stable: fields of one name keep their order, which counts (RFC 9110 §5.3).
        return named.enumerated().sorted {
            ($0.element.name, $0.offset) < ($1.element.name, $1.offset)
        }.map(\.element)
    }
}

// MARK: - Requests of one user for one representation

extension FetchIdentity {
    /// Both requests are of one user and select one representation, through any proxy and with any
    /// check of the result. Passwords may change.
    package func selectsSame(as other: FetchIdentity) -> Bool { marks == other.marks }

    /// Marks that distinguish files that uploads may leave at one URL. They are kept for longer
    /// than the credentials, and have the names of users without their passwords.
    package var marks: [String] {
        var fields = headers
        var user = credentials.user?.text
        if upload?.isSigned == true {
            // Temporary keys have another name each time, and a bucket has no separate object for
            // each.
            let token = S3Keys.tokenField
            if fields.contains(where: { $0.name == token }) { user = nil }
            fields.removeAll { $0.name == token }
        }
        let users = [credentials.userInfo?.text, user].map { $0.map(Self.userName) ?? "" }
        let files = [
            credentials.clientCertificate, credentials.headersFrom, credentials.userFrom,
            credentials.cookiesFrom,
        ].map { $0?.text ?? "" }
        let form = [upload?.contentType, upload?.formField, s3?.profile?.name].map { $0 ?? "" }
        let parts = (upload?.formFields ?? []).map { "\($0.name)=\($0.value)" }
        return users + files + form + ["\(credentials.netrc)"] + fields.map(Self.mark) + parts
    }

    private static func mark(_ field: HeaderFields.Field) -> String {
        var value = field.value
        if field.name == "authorization", value.beginsIgnoringCase(with: "basic "),
            let user = Base64.decode(value.dropFirst(6))
        {
            value = userName(String(decoding: user, as: UTF8.self))
        }
        return "\(field.name): \(value)"
    }

    private static func userName(_ user: String) -> String { String(user.prefix { $0 != ":" }) }
}

/// The policy for an enqueued transfer where an equal one is live.
public enum DuplicatePolicy: String, Codable, Sendable, CaseIterable {
    /// Shares one fetch; each transfer has its own file and end.
    case join
    /// A separate fetch, regardless of equal transfers.
    case separate
    /// The older one is cancelled; this one takes over its fetch and bytes.
    case replace
    /// Refuses the new one, naming the older one.
    case fail
}
