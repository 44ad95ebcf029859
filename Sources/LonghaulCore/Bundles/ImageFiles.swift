internal import LonghaulModel

/// Manifests in a row: an index may list indexes.
private let imageIndexDepth = 3
/// Registries refuse manifests of more (OCI Distribution Specification, "Pushing Manifests").
private let imageManifestBytes: Int64 = 4 << 20

/// `oci:`: an image of a registry (OCI Distribution Specification). An index leads to the manifest
/// of the platform, and that lists configuration and layers.
struct ImageFiles: ManifestConversation {
    private enum Stage {
        case manifest(ImageStep)
        /// A token is asked for.
        case token(RegistryToken, then: ImageStep)
        case whole(Manifest)
    }

    private let source: BundleSource
    private var stage: Stage
    private var access = RegistryAccess.open

    init(_ source: BundleSource) {
        self.source = source
        stage = .manifest(ImageStep(source))
    }

    var manifest: Manifest? {
        if case .whole(let manifest) = stage { return manifest }
        return nil
    }

    func next() -> ManifestRequest? {
        switch stage {
        case .manifest(let step):
            var request = ManifestRequest(
                "\(address)/manifests/\(step.reference)", credential: access.credential,
                maxSize: imageManifestBytes)
            request.headers["Accept"] = ImageType.accepted
            return request
        case .token(let token, _): return token.request
        case .whole: return nil
        }
    }

    private var address: String {
        let slash = source.name.firstIndex(of: "/") ?? source.name.startIndex
        return "\(source.endpoint ?? "")/v2\(source.name[slash...])"
    }

    mutating func judge(_ answer: ManifestAnswer) throws(LonghaulError) {
        switch stage {
        case .manifest(let step):
            if answer.status == 401, access == .open {
                return try authorize(answer, then: step)
            }
            try answer.requireList(of: source)
            try judge(manifest: answer, step)
        case .token(var token, let step):
            try answer.requireList(of: source)
            try token.receive(answer)
            access = .bearer(token)
            stage = .manifest(step)
        case .whole: preconditionFailure("nothing is asked after the manifest")
        }
    }

    private mutating func authorize(
        _ answer: ManifestAnswer, then step: ImageStep
    ) throws(LonghaulError) {
        if let token = try RegistryToken(answer.headers, of: source) {
            stage = .token(token, then: step)
        } else {
            access = .basic
        }
    }

    private mutating func judge(
        manifest answer: ManifestAnswer, _ step: ImageStep
    ) throws(LonghaulError) {
        let digest = Checksum(algorithm: .sha256, hex: answer.sha256)
        if let expected = step.digest, expected != digest {
            throw LonghaulError(
                .checksumMismatch,
                "the registry sent another manifest than \(expected); try again, or ask who runs it"
            )
        }
        let read = try ImageManifest(answer)
        if let index = read.index {
            guard step.depth < imageIndexDepth else { throw .endlessList }
            return stage = .manifest(
                ImageStep(
                    try index.entry(for: source.platform ?? "").digest, depth: step.depth + 1))
        }
        var files: [ManifestFile] = []
        var known: Set<Checksum> = []
        // Layers may be equal.
        for blob in read.blobs where known.insert(blob.digest).inserted {
            files.append(file(blob))
        }
        if files.isEmpty { throw .emptyManifest }
        var manifest = Manifest(version: digest.description, files: files)
        manifest.layout = .ociManifest(answer.body, mediaType: read.mediaType)
        manifest.access = access
        stage = .whole(manifest)
    }

    private func file(_ blob: ImageBlob) -> ManifestFile {
        ManifestFile(
            path: "blobs/\(blob.digest.algorithm.rawValue)/\(blob.digest.hex)",
            url: "\(address)/blobs/\(blob.digest)", size: blob.size, digest: blob.digest,
            sendsCredential: true)
    }
}

/// A manifest to be asked for.
private struct ImageStep {
    /// Tag or digest.
    var reference: String
    var digest: Checksum?
    var depth = 0

    init(_ source: BundleSource) {
        let version = source.version ?? "latest"
        reference = version.split(separator: "@").last.map(String.init) ?? version
        digest = Checksum(ociDigest: reference)
    }

    init(_ digest: Checksum, depth: Int) {
        reference = digest.description
        self.digest = digest
        self.depth = depth
    }
}

/// A reference from one document of an image to another: a descriptor.
struct ImageBlob {
    var digest: Checksum
    var size: Int64
    /// Of an index' entry.
    var os = ""
    var architecture = ""
    var variant = ""

    init(_ scanner: inout JSONScanner) throws {
        var (digest, size): (Checksum?, Int64?) = (nil, nil)
        var platform: [String: String] = [:]
        try scanner.object { key, scanner in
            switch key {
            case "digest": digest = Checksum(ociDigest: try scanner.string())
            case "size": size = try scanner.integer()
            case "platform" where !scanner.null():
                try scanner.object { key, scanner in
                    if scanner.isString() {
                        platform[key] = try scanner.string()
                    } else {
                        try scanner.skip()
                    }
                }
            case "platform": break
            default: try scanner.skip()
            }
        }
        guard let digest, let size, size >= 0 else {
            throw JSONProblem(message: "digest or size is missing", byte: scanner.offset)
        }
        self.digest = digest
        self.size = size
        os = platform["os"] ?? ""
        architecture = platform["architecture"] ?? ""
        variant = platform["variant"] ?? ""
    }

    var platform: String {
        [os, architecture, variant].filter { !$0.isEmpty }.joined(separator: "/")
    }
}

/// Images by their platforms.
struct ImageIndex {
    var entries: [ImageBlob] = []

    /// The image of `OS/ARCH[/VARIANT]`. Without a variant any is taken, the first one listed; an
    /// entry without one is for all.
    func entry(for platform: String) throws(LonghaulError) -> ImageBlob {
        let parts = platform.split(separator: "/").map(String.init) + ["", "", ""]
        let fitting = entries.filter { $0.os == parts[0] && $0.architecture == parts[1] }
        let exact = fitting.first { $0.variant == parts[2] }
        let other = fitting.first { parts[2].isEmpty || $0.variant.isEmpty }
        if let found = exact ?? other { return found }
        let known = Set(entries.map(\.platform)).subtracting(["unknown/unknown", ""]).sorted()
        throw LonghaulError(
            .notFound,
            "there is no image for \(platform); there is one for "
                + TerminalText.shown(known.prefix(20).joined(separator: ", ")))
    }
}

enum ImageType {
    static let index = "application/vnd.oci.image.index.v1+json"
    static let manifest = "application/vnd.oci.image.manifest.v1+json"
    static let dockerManifest = "application/vnd.docker.distribution.manifest.v2+json"
    static let accepted = [
        index, manifest, "application/vnd.docker.distribution.manifest.list.v2+json",
        dockerManifest,
    ].joined(separator: ", ")
}

/// An image's manifest, or an index of manifests (OCI Image Specification).
struct ImageManifest {
    private(set) var index: ImageIndex?
    /// Configuration and layers.
    private(set) var blobs: [ImageBlob] = []
    private(set) var mediaType: String

    init(_ answer: ManifestAnswer) throws(LonghaulError) {
        var (index, config): (ImageIndex?, ImageBlob?)
        var layers: [ImageBlob]?
        var type: String?
        try answer.readObject { key, scanner in
            switch key {
            case "mediaType": type = try scanner.string()
            case "manifests":
                var list = ImageIndex()
                try scanner.array { list.entries.append(try ImageBlob(&$0)) }
                index = list
            case "config": config = try ImageBlob(&scanner)
            case "layers":
                var list: [ImageBlob] = []
                try scanner.array { list.append(try ImageBlob(&$0)) }
                layers = list
            default: try scanner.skip()
            }
        }
        let sent = answer.headers.single("Content-Type")?.prefix { $0 != ";" }
        let said = type ?? sent.map { String($0.trimmingBlanks) }
        mediaType = said == ImageType.dockerManifest ? ImageType.dockerManifest : ImageType.manifest
        self.index = index
        if index != nil { return }
        guard let config, let layers else {
            throw LonghaulError(
                .unsupported,
                "the registry has the image in an old form without digests; push it again with a "
                    + "newer tool")
        }
        blobs = [config] + layers
    }
}
