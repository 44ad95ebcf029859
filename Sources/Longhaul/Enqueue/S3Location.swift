internal import LonghaulCore
internal import LonghaulPlatform

/// Where an upload to S3 goes, and with which keys: by the environment of the command, and by the
/// files of the AWS command line.
struct S3Location {
    private let environment: (String) -> String?

    init(environment: @escaping (String) -> String? = Environment.value) {
        self.environment = environment
    }

    /// The request with a URL over HTTP, the region, and what it is signed with: keys of the
    /// environment in place of user and password, or the profile that has them.
    func located(_ request: TransferRequest) throws(LonghaulError) -> TransferRequest {
        try withKeys(try placed(request))
    }

    /// The request with a URL over HTTP and the region.
    func placed(_ request: TransferRequest) throws(LonghaulError) -> TransferRequest {
        var request = request
        let settings = settings(of: try profile())
        let region =
            variable("AWS_REGION") ?? variable("AWS_DEFAULT_REGION") ?? settings["region"]
            ?? "us-east-1"
        request.options.upload?.region = region
        request.options.upload?.uploadProtocol = .s3
        let asked = request.url
        if asked.beginsIgnoringCase(with: "s3:") {
            request.options.upload?.askedURL = asked
            request.url = try url(for: asked, region, settings["endpoint_url"])
        }
        return request
    }

    /// The request with what it is signed with.
    func withKeys(_ request: TransferRequest) throws(LonghaulError) -> TransferRequest {
        if request.options.user != nil { return request }
        var request = request
        let profile = try profile()
        if let id = variable("AWS_ACCESS_KEY_ID"), let secret = variable("AWS_SECRET_ACCESS_KEY") {
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
        request.options.upload?.profile = profile
        return request
    }

    private func url(
        for text: String, _ region: String, _ setting: String?
    ) throws(LonghaulError) -> String {
        let rest = text.utf8.dropFirst("s3://".utf8.count)
        guard text.beginsIgnoringCase(with: "s3://"),
            let slash = rest.firstIndex(of: UInt8(ascii: "/")), slash > rest.startIndex,
            rest.index(after: slash) < rest.endIndex
        else {
            throw LonghaulError(.invalidRequest, "an object of S3 is written s3://BUCKET/KEY")
        }
        let bucket = String(Substring(rest[..<slash]))
        if bucket.contains("@") || bucket.contains(":") {
            throw LonghaulError(
                .invalidRequest,
                "an s3: URL has no user and no password; give the keys with --user or a profile")
        }
        let key = S3Key.escaped(String(Substring(rest[rest.index(after: slash)...])))
        let endpoint =
            variable("AWS_ENDPOINT_URL_S3") ?? variable("AWS_ENDPOINT_URL") ?? setting
        if var endpoint {
            while endpoint.hasSuffix("/") { endpoint.removeLast() }
            return "\(endpoint)/\(bucket)/\(key)"
        }
        // A certificate for *.s3 does not cover a bucket with dots.
        return bucket.contains(".")
            ? "https://s3.\(region).amazonaws.com/\(bucket)/\(key)"
            : "https://\(bucket).s3.\(region).amazonaws.com/\(key)"
    }

    // MARK: - Settings

    private func variable(_ name: String) -> String? {
        environment(name).flatMap { $0.isEmpty ? nil : $0 }
    }

    private func profile() throws(LonghaulError) -> S3Profile {
        S3Profile(
            name: variable("AWS_PROFILE") ?? "default",
            credentialsFile: try file("AWS_SHARED_CREDENTIALS_FILE", "credentials"),
            configFile: try file("AWS_CONFIG_FILE", "config"))
    }

    /// Absolute: an engine may run in another directory, or with another environment.
    private func file(_ name: String, _ standard: String) throws(LonghaulError) -> String {
        let home = variable("HOME") ?? ""
        guard let path = variable(name) else { return "\(home)/.aws/\(standard)" }
        if path.hasPrefix("~/") { return home + path.dropFirst() }
        return try CurrentDirectory.absolute(path)
    }

    private func settings(of profile: S3Profile) -> [String: String] {
        guard let bytes = try? TextFile.read(profile.configFile) else { return [:] }
        let text = String(decoding: bytes, as: UTF8.self)
        return AWSSettings.of(profile.name, in: text, isConfig: true) ?? [:]
    }
}
