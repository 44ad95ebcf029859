/// Refusals of the same credentials by an origin, after which no other transfer asks with them.
private let refusalsOfCredentials = 3

/// The credentials of a transfer at its origin. Equal ones are refused alike.
package struct Credentials: Hashable, Sendable {
    private var user: String?
    private var userInfo: String?
    private var fields: [String]
    private var files: SecretFiles
    private var usesNetrc: Bool
    private var proxy: String?
    private var profile: S3Profile?
    /// When the files of secrets were last changed: other ones may hold other secrets.
    private var changes: [Timestamp?]

    /// `nil` = the transfer has none.
    ///
    /// - Parameter changed: When a file was last changed; `nil` = it is missing.
    package init?(of request: TransferRequest, changed: (String) -> Timestamp?) {
        let options = request.options
        user = options.user
        userInfo =
            request.url.utf8.contains(UInt8(ascii: "@"))
            ? (try? URLParts(request.url))?.userInfo : nil
        fields = options.headers.fields.lazy
            .filter { Redaction.isSecret(parameter: $0.name) }.map { "\($0.name): \($0.value)" }
        files = options.secretFiles
        usesNetrc = options.netrc
        proxy = options.proxy.flatMap { ProxyAddress.userInfo(of: $0) }.map { String($0) }
        profile = options.s3?.profile
        changes = [files.headers, files.user, files.cookies].compactMap(\.self).map(changed)
        if user == nil, userInfo == nil, fields.isEmpty, files.isEmpty, !usesNetrc, proxy == nil,
            profile == nil
        {
            return nil
        }
    }

    /// The credentials are read from files, which other programs may renew at any time.
    package var mayBeRenewed: Bool { !files.isEmpty }
}

/// Credentials that one origin has refused since its last good answer to the same ones. After a few
/// refusals no further transfer uses them: servers lock an account, or an address, after hundreds
/// of errors.
package struct RefusedCredentials: Sendable {
    private var refusals: [Credentials: (count: Int, error: String)] = [:]

    package init() {}

    package var isEmpty: Bool { refusals.isEmpty }

    /// - Returns: whether they are not to be used from now on.
    package mutating func refused(_ credentials: Credentials, saying message: String) -> Bool {
        let count = (refusals[credentials]?.count ?? 0) + 1
        refusals[credentials] = (count, message)
        return count == refusalsOfCredentials
    }

    package mutating func accepted(_ credentials: Credentials) {
        refusals[credentials] = nil
    }

    /// A client has corrected something, or wants another try.
    package mutating func forget() { refusals = [:] }

    /// Why a transfer is not to ask with these; `nil` = it may.
    package func obstacle(to credentials: Credentials) -> String? {
        guard let (count, message) = refusals[credentials],
            count >= refusalsOfCredentials
        else { return nil }
        let (what, _) = LonghaulError(.unauthorized, message).parts
        return "\(what), \(count) times with the same credentials; correct them with `set` or in "
            + "their file, then `resume`"
    }
}

extension WaitReason {
    /// The need of a transfer whose credentials were refused for others, see
    /// ``RefusedCredentials``.
    package static let otherCredentials = "other credentials"

    /// - Parameter next: Time of the next check of the secret files; `nil` = there are no such
    ///   files.
    package static func credentials(
        _ obstacle: String, since: Timestamp, nextCheck next: Timestamp?
    ) -> WaitReason {
        WaitReason(
            .originCooldown, required: otherCredentials, current: obstacle, since: since,
            nextCheck: next)
    }
}
