internal import LonghaulCore
internal import LonghaulPlatform

extension Bundles.New {
    /// Keeps what the environment of a command has for the source: a token, or the file where one
    /// is.
    ///
    /// - Throws: `LonghaulError` `unsupported` where a helper program has the credentials.
    package mutating func adoptCredential(
        _ environment: [String: String]
    ) throws(LonghaulError) {
        func first(_ names: String...) -> String? {
            names.lazy.compactMap { environment[$0] }.first { !$0.isEmpty }
        }
        switch source.kind {
        case .huggingFace:
            settings.token = first("HF_TOKEN")
            let file = PathParts.join(HubCache.home(environment), "token")
            if settings.token == nil, FileInspection.kind(at: file) == .file {
                settings.tokenFile = file
            }
        case .gitHub: settings.token = first("GITHUB_TOKEN", "GH_TOKEN")
        case .ociImage: settings.token = try RegistryLogins(environment).login(source)
        case .list, .checksums, .zenodo, .s3: break
        }
    }
}

/// Where the Hugging Face Hub's own client keeps its files.
package enum HubCache {
    static func home(_ environment: [String: String]) -> String {
        if let home = environment["HF_HOME"], home.isAbsolutePath { return home }
        let cache = environment["XDG_CACHE_HOME"].flatMap { $0.isAbsolutePath ? $0 : nil }
        return PathParts.join(
            cache ?? PathParts.join(environment["HOME"] ?? "/", ".cache"), "huggingface")
    }

    /// The directory of its cache.
    package static func directory() -> String {
        let environment = Environment.all()
        if let cache = environment["HF_HUB_CACHE"], cache.isAbsolutePath { return cache }
        return PathParts.join(home(environment), "hub")
    }
}

/// Users and passwords of container registries, as `docker login` and `podman login` keep them.
struct RegistryLogins {
    private let environment: [String: String]

    init(_ environment: [String: String]) {
        self.environment = environment
    }

    /// `user:password`; `nil` = the registry is asked without.
    ///
    /// - Throws: `LonghaulError` `unsupported` where a helper program has the credentials;
    ///   `permission`, `io`.
    func login(_ source: BundleSource) throws(LonghaulError) -> String? {
        for path in paths {
            let text: String?
            do throws(SystemFailure) {
                text = try TextFile.read(path).map { String(decoding: $0, as: UTF8.self) }
            } catch {
                throw error.longhaulError()
            }
            guard let text, let file = try? JSONPayload(parsing: text) else { continue }
            for registry in source.registryNames {
                if let auth = file["auths"]?[registry]?["auth"]?.string,
                    let bytes = Base64.decode(auth[...])
                {
                    return String(decoding: bytes, as: UTF8.self)
                }
                if file["credHelpers"]?[registry]?.string != nil {
                    throw LonghaulError(
                        .unsupported,
                        "\(path) names a helper program for \(registry), which is not run; "
                            + "log in without one, or remove the entry")
                }
            }
        }
        return nil
    }

    private var paths: [String] {
        var paths: [String] = []
        if let runtime = environment["XDG_RUNTIME_DIR"], runtime.isAbsolutePath {
            paths.append(PathParts.join(runtime, "containers/auth.json"))
        }
        let docker = environment["DOCKER_CONFIG"] ?? (environment["HOME"] ?? "/") + "/.docker"
        paths.append(PathParts.join(docker, "config.json"))
        return paths
    }
}

extension Bundles {
    /// Keeps a list that comes on standard input, and returns its path.
    ///
    /// - Throws: `LonghaulError` `io`, `noSpace`.
    package func keepInput() throws(LonghaulError) -> String {
        do throws(SystemFailure) {
            let bytes = try TextFile.readStandardInput()
            let directory = PathParts.join(queue.directory, "bundles")
            let incoming = PathParts.join(directory, "list-\(ProcessIdentity.current.pid)")
            try PlacedFile.write(bytes, to: incoming)
            defer { SpooledFile.remove(incoming) }
            let digest = try PlacedFile.read(incoming, atMost: .max).sha256
            // The same list is the same source.
            let path = PathParts.join(directory, "list-\(digest).jsonl")
            try PlacedFile.write(bytes, to: path)
            return path
        } catch {
            throw error.longhaulError()
        }
    }
}

extension BundleSource {
    /// The names under which a login to the registry may be kept.
    fileprivate var registryNames: [String] {
        let registry = String(name.split(separator: "/").first ?? "")
        return registry == "docker.io" ? [registry, "https://index.docker.io/v1/"] : [registry]
    }
}
