internal import LonghaulCore
internal import LonghaulPlatform

/// Finds the URL and the keys of an object of S3 from the environment of the command and the files
/// of the AWS command line.
struct S3Location {
    private let environment: (String) -> String?

    init(environment: @escaping (String) -> String? = Environment.value) {
        self.environment = environment
    }

    /// The request with a URL over HTTP, the region, and the means of signing: keys of the
    /// environment in place of user and password, or the profile that has them.
    func located(_ request: TransferRequest) throws(LonghaulError) -> TransferRequest {
        try withKeys(try placed(request))
    }

    /// The request with a URL over HTTP, the region, and the certificates that are trusted there.
    func placed(_ request: TransferRequest) throws(LonghaulError) -> TransferRequest {
        var request = request
        let profile = try profile()
        let texts = try read(profile)
        let settings = profile.settings(texts) ?? [:]
        let region =
            variable("AWS_REGION") ?? variable("AWS_DEFAULT_REGION") ?? settings["region"]
            ?? "us-east-1"
        request.options.s3 = S3Access(region: region)
        request.options.upload?.uploadProtocol = .s3
        if request.options.caCertificate == nil,
            let file = variable("AWS_CA_BUNDLE") ?? settings["ca_bundle"]
        {
            request.options.caCertificate = try absolute(file)
            try RequestValidator.checkFile(request.options.caCertificate ?? file)
        }
        let requested = request.url
        if requested.beginsIgnoringCase(with: "s3:") {
            request.options.s3?.askedURL = requested
            let endpoint = try endpoint(profile, texts, settings)
            request.url = try url(
                for: requested, region, endpoint,
                isVirtual: settings["s3.addressing_style"] == "virtual")
        }
        return request
    }

    /// The request with its signing keys or profile.
    func withKeys(_ request: TransferRequest) throws(LonghaulError) -> TransferRequest {
        if request.options.user != nil { return request }
        var request = request
        let profile = try profile()
        if let id = variable("AWS_ACCESS_KEY_ID") {
            guard let secret = variable("AWS_SECRET_ACCESS_KEY") else {
                throw LonghaulError(
                    .unauthorized, "AWS_ACCESS_KEY_ID is set without AWS_SECRET_ACCESS_KEY")
            }
            request.options.user = "\(id):\(secret)"
            if let token = variable("AWS_SESSION_TOKEN") {
                request.options.headers[S3Keys.tokenField] = token
            }
            return request
        }
        do throws(S3KeysProblem) {
            _ = try profile.keys()
        } catch {
            throw LonghaulError(
                .unauthorized,
                "there are no keys for S3: \(error.said(of: profile)); set AWS_ACCESS_KEY_ID and"
                    + " AWS_SECRET_ACCESS_KEY, or AWS_PROFILE; \(S3KeysProblem.export(profile))")
        }
        request.options.s3?.profile = profile
        return request
    }

    /// Finds the endpoint by the rules of the AWS command line; `nil` = Amazon's own.
    private func endpoint(
        _ profile: S3Profile, _ texts: S3Profile.Texts, _ settings: [String: String]
    ) throws(LonghaulError) -> String? {
        let ignores =
            variable("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS")
            ?? settings["ignore_configured_endpoint_urls"]
        if ignores?.lowercased() == "true" { return nil }
        if let named = variable("AWS_ENDPOINT_URL_S3") ?? variable("AWS_ENDPOINT_URL") {
            return named
        }
        do throws(S3KeysProblem) {
            return try profile.endpoint(texts)
        } catch {
            throw LonghaulError(.invalidRequest, "\(error.said(of: profile)); mend that")
        }
    }

    private func url(
        for text: String, _ region: String, _ endpoint: String?, isVirtual: Bool
    ) throws(LonghaulError) -> String {
        // Without a key it is the place of a file that keeps its name: see ``UploadPlace``.
        let rest = text.dropFirst("s3://".count).split(
            separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard text.beginsIgnoringCase(with: "s3://"), let bucket = rest.first, !bucket.isEmpty
        else {
            throw LonghaulError(.invalidRequest, "an object of S3 is written s3://BUCKET/KEY")
        }
        if bucket.contains("@") || bucket.contains(":") {
            throw LonghaulError(
                .invalidRequest,
                "an s3: URL has no user and no password; give the keys with --user or a profile")
        }
        let key = rest.count > 1 ? S3Key.escaped(String(rest[1])) : ""
        if var endpoint {
            while endpoint.hasSuffix("/") { endpoint.removeLast() }
            guard isVirtual, let mark = endpoint.firstRange(of: "://") else {
                return "\(endpoint)/\(bucket)/\(key)"
            }
            return endpoint[..<mark.upperBound] + "\(bucket)."
                + endpoint[mark.upperBound...] + "/\(key)"
        }
        let domain = region.hasPrefix("cn-") ? "amazonaws.com.cn" : "amazonaws.com"
        // A certificate for *.s3 does not cover a bucket with dots.
        return bucket.contains(".")
            ? "https://s3.\(region).\(domain)/\(bucket)/\(key)"
            : "https://\(bucket).s3.\(region).\(domain)/\(key)"
    }

    // MARK: - Settings

    private func variable(_ name: String) -> String? {
        environment(name).flatMap { $0.isEmpty ? nil : $0 }
    }

    /// The profile that the environment names.
    var namedProfile: String? { variable("AWS_DEFAULT_PROFILE") ?? variable("AWS_PROFILE") }

    /// The environment contains keys or names a profile.
    var namesKeys: Bool { variable("AWS_ACCESS_KEY_ID") != nil || namedProfile != nil }

    /// The keys that the environment contains or names; `nil` = no keys.
    var namedKeys: S3FoundKeys? {
        if !namesKeys { return nil }
        var request = TransferRequest(url: "", destination: .file(""))
        request.options.s3 = S3Access()
        return (try? withKeys(request)).map { S3FoundKeys(of: $0.options) }
    }

    private func profile() throws(LonghaulError) -> S3Profile {
        S3Profile(
            name: namedProfile ?? "default",
            credentialsFile: try file("AWS_SHARED_CREDENTIALS_FILE", "credentials"),
            configFile: try file("AWS_CONFIG_FILE", "config"))
    }

    private func file(_ name: String, _ standard: String) throws(LonghaulError) -> String {
        try absolute(variable(name) ?? "~/.aws/\(standard)")
    }

    /// An engine may run in another directory, or with another environment.
    private func absolute(_ path: String) throws(LonghaulError) -> String {
        if path.hasPrefix("~/") { return (variable("HOME") ?? "") + path.dropFirst() }
        return try CurrentDirectory.absolute(path)
    }

    /// A profile that is named and not there, or a file that cannot be read, may have said where
    /// the private server is: the request must not go to Amazon's.
    private func read(_ profile: S3Profile) throws(LonghaulError) -> S3Profile.Texts {
        do throws(S3KeysProblem) {
            let texts = try profile.texts()
            if namedProfile != nil, profile.settings(texts) == nil { throw .noProfile }
            return texts
        } catch {
            throw LonghaulError(
                .unauthorized, "\(error.said(of: profile)); set AWS_PROFILE to one that is there")
        }
    }
}

/// The keys or profile that sign requests to S3.
struct S3FoundKeys: Equatable, Sendable {
    private let user: String?
    private let token: String?
    private let profile: S3Profile?

    init(of options: TransferOptions) {
        user = options.user
        token = options.headers[S3Keys.tokenField]
        profile = options.s3?.profile
    }

    func apply(to options: inout TransferOptions) {
        options.user = user
        options.headers[S3Keys.tokenField] = token
        options.s3?.profile = profile
    }
}
