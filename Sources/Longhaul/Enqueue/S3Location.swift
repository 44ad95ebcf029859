internal import LonghaulCore
internal import LonghaulPlatform

/// Where an upload to S3 goes, and with which keys: by the environment of the command, and by the
/// files of the AWS command line.
struct S3Location {
    private let environment: (String) -> String?

    init(environment: @escaping (String) -> String? = Environment.value) {
        self.environment = environment
    }

    /// The request with a URL over HTTP, the region, and the keys in place of user and password.
    func located(_ request: TransferRequest) throws(LonghaulError) -> TransferRequest {
        var request = request
        let profile = variable("AWS_PROFILE") ?? "default"
        let region =
            variable("AWS_REGION") ?? variable("AWS_DEFAULT_REGION")
            ?? setting("region", of: profile) ?? "us-east-1"
        request.options.upload?.region = region
        request.options.upload?.uploadProtocol = .s3
        if request.url.beginsIgnoringCase(with: "s3:") {
            request.url = try url(for: request.url, region, profile)
        }
        if request.options.user != nil { return request }
        guard let key = variable("AWS_ACCESS_KEY_ID") ?? secret("aws_access_key_id", of: profile),
            let password = variable("AWS_SECRET_ACCESS_KEY")
                ?? secret("aws_secret_access_key", of: profile)
        else {
            throw LonghaulError(
                .unauthorized,
                "there are no keys for S3; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or"
                    + " AWS_PROFILE")
        }
        request.options.user = "\(key):\(password)"
        let token =
            variable("AWS_SESSION_TOKEN") ?? secret("aws_session_token", of: profile)
        if let token { request.options.headers["x-amz-security-token"] = token }
        return request
    }

    private func url(
        for text: String, _ region: String, _ profile: String
    ) throws(LonghaulError) -> String {
        let rest = text.utf8.dropFirst("s3://".utf8.count)
        guard text.beginsIgnoringCase(with: "s3://"),
            let slash = rest.firstIndex(of: UInt8(ascii: "/")), slash > rest.startIndex,
            rest.index(after: slash) < rest.endIndex
        else {
            throw LonghaulError(.invalidRequest, "an object of S3 is written s3://BUCKET/KEY")
        }
        let bucket = String(Substring(rest[..<slash]))
        let key = S3Key.escaped(String(Substring(rest[rest.index(after: slash)...])))
        let endpoint =
            variable("AWS_ENDPOINT_URL_S3") ?? variable("AWS_ENDPOINT_URL")
            ?? setting("endpoint_url", of: profile)
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

    private func setting(_ name: String, of profile: String) -> String? {
        let section = profile == "default" ? "default" : "profile \(profile)"
        return value(of: name, in: section, file("AWS_CONFIG_FILE", "config"))
    }

    private func secret(_ name: String, of profile: String) -> String? {
        value(of: name, in: profile, file("AWS_SHARED_CREDENTIALS_FILE", "credentials"))
    }

    private func file(_ name: String, _ standard: String) -> String {
        variable(name) ?? "\(variable("HOME") ?? "")/.aws/\(standard)"
    }

    private func value(of name: String, in section: String, _ path: String) -> String? {
        guard let bytes = try? TextFile.read(path) else { return nil }
        var current = ""
        for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
            let text = line.trimmingBlanks
            if text.hasPrefix("["), text.hasSuffix("]") {
                current = String(text.dropFirst().dropLast().trimmingBlanks)
            } else if current == section, let equals = text.firstIndex(of: "="),
                text[..<equals].trimmingBlanks == name
            {
                return String(text[text.index(after: equals)...].trimmingBlanks)
            }
        }
        return nil
    }
}
