package import LonghaulModel

/// Seconds that a token is valid where the server does not say (Distribution documentation, "Token
/// Authentication").
private let tokenSeconds: Double = 60

extension RegistryAccess {
    /// What goes with a request to the registry.
    package var credential: ManifestCredential {
        switch self {
        case .open: .none
        case .basic: .registryLogin
        case .bearer(let token): token.text.isEmpty ? .none : .bearer(token.text)
        }
    }
}

extension RegistryToken {
    /// The challenge of a registry's 401 (RFC 9110 §11.6.1); `nil` = it wants user and password
    /// itself.
    ///
    /// - Throws: `unauthorized` if the login could only be sent where others may read it.
    init?(_ headers: HeaderFields, of source: BundleSource) throws(LonghaulError) {
        let challenges = headers.values("WWW-Authenticate")
        guard let bearer = challenges.first(where: { $0.beginsIgnoringCase(with: "bearer ") })
        else {
            if challenges.contains(where: { $0.beginsIgnoringCase(with: "basic") }) { return nil }
            throw LonghaulError(
                .unauthorized, "the registry refuses access and names no way to log in (401)",
                httpStatus: 401)
        }
        let fields = Self.parameters(of: bearer.dropFirst("bearer ".utf8.count))
        guard let realm = fields["realm"], let parts = try? URLParts(realm),
            parts.userInfo == nil,
            parts.scheme == .https
                || (parts.scheme == .http && Loopback.isLoopback(host: parts.host))
        else {
            throw LonghaulError(
                .unauthorized,
                "the registry sends logins to a server without https; ask who runs it",
                httpStatus: 401)
        }
        let slash = source.name.firstIndex(of: "/") ?? source.name.startIndex
        let scope = fields["scope"] ?? "repository:\(source.name[slash...].dropFirst()):pull"
        let query = [("service", fields["service"]), ("scope", scope)].compactMap { name, value in
            value.map { "\(name)=\(PercentEncoding.encode($0.utf8))" }
        }
        let mark = parts.query == nil ? "?" : "&"
        self.init(url: realm + mark + query.joined(separator: "&"))
    }

    /// Asks for a token; also for the next one, before this one has expired. The login goes to the
    /// server that the registry names.
    package var request: ManifestRequest {
        ManifestRequest(url, credential: .registryLogin, maxSize: ManifestLimits.smallBytes)
    }

    /// Reads the answer to ``request``.
    package mutating func receive(_ answer: ManifestAnswer) throws(LonghaulError) {
        var tokens: [String: String] = [:]
        var lifetime: Double?
        try answer.readObject { key, scanner in
            switch key {
            case "token", "access_token":
                tokens[key] = scanner.null() ? nil : try scanner.string()
            case "expires_in": lifetime = scanner.null() ? nil : try scanner.double()
            default: try scanner.skip()
            }
        }
        guard let token = tokens["token"] ?? tokens["access_token"], !token.isEmpty,
            token.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
        else {
            throw LonghaulError(
                .unauthorized, "the registry's server gives no token; check the login")
        }
        text = token
        seconds = max(lifetime ?? tokenSeconds, tokenSeconds)
    }

    /// `name="value", name=value`.
    private static func parameters(of text: Substring) -> [String: String] {
        var fields: [String: String] = [:]
        var rest = text.utf8
        while let equals = rest.firstIndex(of: UInt8(ascii: "=")) {
            let name = Substring(rest[..<equals]).trimmingBlanks.lowercased()
            rest = rest[equals...].dropFirst()
            if rest.first == UInt8(ascii: "\"") {
                let value = rest.dropFirst().prefix { $0 != UInt8(ascii: "\"") }
                fields[name] = String(Substring(value))
                rest = rest[value.endIndex...].dropFirst()
            } else {
                fields[name] = String(Substring(rest.prefix { $0 != UInt8(ascii: ",") }))
            }
            rest = rest.drop { $0 != UInt8(ascii: ",") }.dropFirst()
        }
        return fields
    }
}
