/// Where the secret of a source is.
package enum BundleSecret: Hashable, Codable, Sendable {
    /// From the environment of the command: kept with the bundle, as keys of S3 are.
    case token(String)
    /// Files that are read for each request, by their paths; a file may be missing.
    case tokenFile(String)
    /// The same with the logins of registries, in the order of their precedence: see
    /// `RegistryLogins`.
    case logins([String])
}

extension BundleSource {
    /// - Returns: `nil` if requests go without a secret, or with S3's keys.
    package func secret(in environment: [String: String]) -> BundleSecret? {
        let value = { (name: String) in environment[name].flatMap { $0.isEmpty ? nil : $0 } }
        let home = value("HOME") ?? ""
        switch kind {
        case .huggingFace:
            if let token = value("HF_TOKEN") { return .token(token) }
            return .tokenFile(Self.hubHome(environment) + "/token")
        case .gitHub:
            return (value("GITHUB_TOKEN") ?? value("GH_TOKEN")).map { .token($0) }
        case .ociImage:
            let docker = value("DOCKER_CONFIG") ?? "\(home)/.docker"
            let containers = value("XDG_RUNTIME_DIR").map { "\($0)/containers/auth.json" }
            return .logins(["\(docker)/config.json"] + [containers].compactMap(\.self))
        case .list, .checksums, .zenodo, .s3: return nil
        }
    }

    /// Directory of the hub's cache: the default of the layout ``BundleLayoutKind/hfCache``.
    package static func hubCache(_ environment: [String: String]) -> String {
        hubHome(environment) + "/hub"
    }

    /// The directory of the hub's own client (huggingface_hub, "Environment variables").
    private static func hubHome(_ environment: [String: String]) -> String {
        if let home = environment["HF_HOME"], !home.isEmpty { return home }
        return (environment["HOME"] ?? "") + "/.cache/huggingface"
    }
}
