/// The keys that requests to S3 are signed with.
package struct S3Keys: Hashable, Sendable {
    package var id: String
    package var secret: String
    /// Token of keys that expire: sent along as `x-amz-security-token`.
    package var token: String?

    package static let tokenField = "x-amz-security-token"

    package init(id: String, secret: String, token: String? = nil) {
        self.id = id
        self.secret = secret
        self.token = token
    }
}

/// How requests for objects of S3 are signed. Keys of the environment are the user of the options.
package struct S3Access: Hashable, Codable, Sendable {
    /// The `s3:` URL that was asked for; the request has the URL of its object over HTTP.
    package var askedURL: String?
    /// Region that requests are signed for.
    package var region: String
    /// Place of the keys, unless the options have a user.
    package var profile: S3Profile?
    /// When `set` has given these keys; `nil` = it has not.
    package var keysChosenAt: Timestamp?

    package init(region: String = "us-east-1") {
        self.region = region
    }

    /// The value of CURLOPT_AWS_SIGV4.
    package var signature: String { "aws:amz:\(region):s3" }

    /// The body of a request is not signed: that takes as long as reading it once more. Servers
    /// want the field to be there.
    package static let unsignedBody = HeaderFields.Field(
        name: "x-amz-content-sha256", value: "UNSIGNED-PAYLOAD")
}

/// Place of the keys for S3: a profile in the files of the AWS command line. Only the
/// place is stored; the keys are read for each request, so that renewed ones are used.
package struct S3Profile: Hashable, Codable, Sendable {
    package var name: String
    /// Absolute paths.
    package var credentialsFile: String
    package var configFile: String

    package init(name: String, credentialsFile: String, configFile: String) {
        self.name = name
        self.credentialsFile = credentialsFile
        self.configFile = configFile
    }

    /// The two files; `nil` = there is no such file.
    package struct Texts: Hashable, Sendable {
        package var credentials: String?
        package var config: String?

        package init(credentials: String?, config: String?) {
            self.credentials = credentials
            self.config = config
        }
    }

    /// All settings of the profile; `nil` = it is in neither file. Users that may not write to one
    /// file put settings into the other, and Amazon's clients read both.
    package func settings(_ texts: Texts) -> [String: String]? {
        let credentials = AWSSettings.of(name, in: texts.credentials, isConfig: false)
        let config = AWSSettings.of(name, in: texts.config, isConfig: true)
        if credentials == nil, config == nil { return nil }
        return (credentials ?? [:]).merging(config ?? [:]) { own, _ in own }
    }

    /// The endpoint that the files name for S3, by the profile's section `services` before its
    /// own setting (AWS SDKs and Tools Reference Guide, "Service-specific endpoints").
    package func endpoint(_ texts: Texts) throws(S3KeysProblem) -> String? {
        let all = settings(texts) ?? [:]
        if let name = all["services"] {
            guard let services = AWSSettings.services(name, in: texts.config) else {
                throw .noServices(name)
            }
            if let endpoint = services["s3.endpoint_url"] { return endpoint }
        }
        return all["endpoint_url"] ?? all["s3.endpoint_url"]
    }

    /// The keys that the files have for the profile.
    package func keys(_ texts: Texts) throws(S3KeysProblem) -> S3Keys {
        let credentials = AWSSettings.of(name, in: texts.credentials, isConfig: false)
        let config = AWSSettings.of(name, in: texts.config, isConfig: true)
        let all = settings(texts) ?? [:]
        // Keys beside a role must not sign its requests.
        if all["role_arn"] != nil { throw .unsupported("role_arn") }
        if let keys = credentials?.keys ?? config?.keys { return keys }
        if let other = S3Profile.otherSources.first(where: { all[$0] != nil }) {
            throw .unsupported(other)
        }
        throw credentials == nil && config == nil ? .noProfile : .noKeys
    }

    /// Settings of profiles whose keys come from a program, a login or a role.
    private static let otherSources = [
        "credential_process", "sso_session", "sso_start_url", "login_session",
        "web_identity_token_file", "credential_source", "source_profile",
    ]
}

/// Why there are no keys.
package enum S3KeysProblem: Error, Hashable, Sendable {
    case noProfile
    case noKeys
    /// The profile names a section of services that is not there.
    case noServices(String)
    /// The profile has this setting, which is for the AWS command line to carry out.
    case unsupported(String)
    /// The file, and the system's reason.
    case unreadable(String, String)

    /// A sentence without advice.
    package func said(of profile: S3Profile) -> String {
        let name = TerminalText.shown(profile.name)
        return switch self {
        case .noProfile:
            "there is no profile \(name) in \(profile.credentialsFile) or \(profile.configFile)"
        case .noKeys: "the profile \(name) has no keys in \(profile.credentialsFile)"
        case .noServices(let services):
            "the profile \(name) names the services \(TerminalText.shown(services)), which are not "
                + "in \(profile.configFile)"
        case .unsupported(let setting):
            "the profile \(name) has its keys by \(setting), which is not supported"
        case .unreadable(let path, let reason): "\(path) cannot be read (\(reason))"
        }
    }

    /// Advice for users that cannot put keys into the file.
    package static func export(_ profile: S3Profile) -> String {
        "`aws configure export-credentials --profile \(TerminalText.shown(profile.name)) "
            + "--format env` gives keys for the environment"
    }
}

/// The files of the AWS command line (AWS SDKs and Tools Reference Guide, "Format of the
/// configuration files").
package enum AWSSettings {
    /// The settings of a profile, names in lower case; `nil` = the file has no such profile.
    ///
    /// - Parameter isConfig: It is the file `config`, which writes `[profile NAME]`.
    package static func of(
        _ profile: String, in text: String?, isConfig: Bool
    ) -> [String: String]? {
        settings(in: text, of: names(profile, isConfig))
    }

    /// The settings of services, as `s3.endpoint_url`.
    static func services(_ name: String, in config: String?) -> [String: String]? {
        settings(in: config, of: ["services \(name)"])
    }

    private static func settings(
        in text: String?, of sections: [String]
    ) -> [String: String]? {
        var found: [String: String]?
        var isOwn = false
        // Lines that are indented more than the setting before them belong to it.
        var (indent, parent) = (Int.max, "")
        for line in (text ?? "").byteLines {
            let content = line.trimmingBlanks
            guard let first = content.utf8.first, !comments.contains(first) else { continue }
            if first == UInt8(ascii: "["), line.utf8.first == first {
                isOwn = sections.contains { name(of: content) == $0 }
                if isOwn { found = found ?? [:] }
                indent = .max
                continue
            }
            let own = line.utf8.prefix(while: \.isBlank).count
            guard let equals = content.utf8.firstIndex(of: UInt8(ascii: "=")) else { continue }
            var setting = content[..<equals].trimmingBlanks.lowercased()
            if own <= indent {
                (indent, parent) = (own, setting)
            } else {
                setting = "\(parent).\(setting)"
            }
            let value = content[content.utf8.index(after: equals)...].trimmingBlanks
            if isOwn, !value.isEmpty { found?[setting] = String(value) }
        }
        return found
    }

    private static let comments = [UInt8(ascii: "#"), UInt8(ascii: ";")]

    private static func names(_ profile: String, _ isConfig: Bool) -> [String] {
        if !isConfig { return [profile] }
        return profile == "default" ? ["default", "profile default"] : ["profile \(profile)"]
    }

    /// Name of a section, with a blank between its words and without quotation marks.
    private static func name(of header: Substring) -> String {
        let inside = header.dropFirst().prefix { $0 != "]" }
        return inside.split { $0 == " " || $0 == "\t" }.joined(separator: " ")
            .filter { $0 != "\"" && $0 != "'" }
    }
}

extension [String: String] {
    fileprivate var keys: S3Keys? {
        guard let id = self["aws_access_key_id"], let secret = self["aws_secret_access_key"]
        else { return nil }
        return S3Keys(id: id, secret: secret, token: self["aws_session_token"])
    }
}
