/// The permission that less trusted clients need, such as clients in a network. It is asked for
/// within the transaction that records a request, so that it is about the changed row.
package struct RequestReview: Sendable {
    /// Throws if the request may not be recorded. The request has been validated: it has its final
    /// place and keys.
    package var admit: @Sendable (TransferRequest) throws(LonghaulError) -> Void
    /// Throws why a recorded request may not be changed.
    package var allow: @Sendable (ReviewedChange) throws(LonghaulError) -> Void
    /// A request that equals a failed one takes that up; otherwise it is a new transfer.
    package var takesUpFailed = true

    package init(
        admit: @escaping @Sendable (TransferRequest) throws(LonghaulError) -> Void,
        allow: @escaping @Sendable (ReviewedChange) throws(LonghaulError) -> Void
    ) {
        self.admit = admit
        self.allow = allow
    }
}

/// A change of a recorded request.
package struct ReviewedChange: Sendable {
    package var before: TransferRequest
    package var after: TransferRequest
    /// The fields that the client has given; the others have their defaults, and the URL is empty.
    package var given: TransferRequest

    package init(before: TransferRequest, after: TransferRequest, given: TransferRequest) {
        self.before = before
        self.after = after
        self.given = given
    }
}

extension ReviewedChange {
    /// Secrets that answers hide and the change would show to another server: the request goes to
    /// another server, through another proxy, or to a server that is proven in another way. Values
    /// that the client repeats are no secret to it. In words, for a message; empty = no secrets.
    package var exposedSecrets: [String] {
        guard leadsElsewhere else { return [] }
        let (old, new, said) = (before.options, after.options, given.options)
        var secrets: [String] = []
        func keep(_ path: KeyPath<TransferOptions, String?>, _ name: String) {
            if old[keyPath: path] != nil, said[keyPath: path] == nil,
                new[keyPath: path] == old[keyPath: path]
            {
                secrets.append(name)
            }
        }
        keep(\.user, "user")
        keep(\.userFrom, "userFrom")
        keep(\.headersFrom, "headersFrom")
        keep(\.cookiesFrom, "cookies")
        keep(\.clientCertificate, "cert")
        keep(\.clientKey, "key")
        if old.netrc, new.netrc, !said.netrc { secrets.append("netrc") }
        if let profile = old.s3?.profile, new.s3?.profile == profile {
            secrets.append("the keys for S3")
        }
        var names: Set<String> = []
        for field in new.headers.fields where field.isSecret && old.headers[field.name] != nil {
            let isNew = said.headers[field.name] != nil
            if !isNew, names.insert(field.name.lowercased()).inserted {
                secrets.append("the header \(field.name)")
            }
        }
        var kept = Set(old.mirrors).intersection(new.mirrors).subtracting(said.mirrors)
        if before.url == after.url, given.url.isEmpty { kept.insert(before.url) }
        if kept.contains(where: { Redaction.url($0) != $0 }) { secrets.append("the URL's own") }
        return secrets
    }

    /// - Throws: `conflict`, with the secrets that have to be said again.
    package func refuseExposure() throws(LonghaulError) {
        let secrets = exposedSecrets
        if secrets.isEmpty { return }
        throw LonghaulError(
            .conflict,
            "it leads to another server, through another proxy, or past a check of the server: give"
                + " \(secrets.joined(separator: ", ")) again with this change, or take that away")
    }

    private var leadsElsewhere: Bool {
        let (old, new) = (before.options, after.options)
        let isToldApart =
            new.proxy != old.proxy || new.insecure && !old.insecure
            || new.caCertificate != nil && new.caCertificate != old.caCertificate
            || new.authentication != old.authentication && new.authentication.mayShowPassword
        if isToldApart || origin(of: after.url) != origin(of: before.url) { return true }
        if new.mirrors == old.mirrors { return false }
        let known = Set(([before.url] + old.mirrors).map(origin))
        return new.mirrors.contains { !known.contains(origin(of: $0)) }
    }

    /// A URL that cannot be read stands for itself.
    private func origin(of url: String) -> String { (try? URLParts(url))?.origin ?? url }
}

extension HeaderFields.Field {
    /// Another origin may not have the value as it stands.
    fileprivate var isSecret: Bool { forElsewhere(at: nil)?.value != value }
}

extension HTTPAuthentication {
    /// The password may be sent unencrypted (RFC 7617).
    fileprivate var mayShowPassword: Bool {
        switch self {
        case .basic, .any: true
        case .digest, .negotiate: false
        }
    }
}
