internal import LonghaulModel

/// `github:`: the assets of a release (GitHub REST API, "Releases").
struct ReleaseFiles: ManifestConversation {
    private let source: BundleSource
    private let hasCredential: Bool
    private(set) var manifest: Manifest?

    /// - Parameter hasCredential: A token goes with the requests.
    init(_ source: BundleSource, hasCredential: Bool) {
        self.source = source
        self.hasCredential = hasCredential
    }

    func next() -> ManifestRequest? {
        if manifest != nil { return nil }
        let release =
            source.version.map { "tags/" + PercentEncoding.encode($0.utf8) } ?? "latest"
        var request = ManifestRequest(
            "\(source.endpoint ?? "")/repos/\(source.name)/releases/\(release)",
            credential: .source)
        request.headers["Accept"] = "application/vnd.github+json"
        request.headers["X-GitHub-Api-Version"] = "2022-11-28"
        return request
    }

    mutating func judge(_ answer: ManifestAnswer) throws(LonghaulError) {
        try answer.requireList(of: source)
        var tag: String?
        var assets: [Asset] = []
        try answer.readObject { key, scanner in
            switch key {
            case "tag_name": tag = try scanner.string()
            case "assets":
                try scanner.array { scanner in
                    var asset = Asset()
                    try scanner.object { try asset.read($0, &$1) }
                    // The others are being uploaded.
                    if asset.state == "uploaded" { assets.append(asset) }
                }
            default: try scanner.skip()
            }
        }
        guard let tag else { throw .invalidManifest("the answer is not a release") }
        if assets.isEmpty {
            throw .invalidManifest("the release \(TerminalText.shown(tag)) has no assets")
        }
        var hash = StableHash()
        hash.mix(tag)
        var files: [ManifestFile] = []
        for asset in assets {
            // An asset that was replaced has another number.
            hash.mix("\n\(asset.url ?? "") \(asset.size ?? -1) \(asset.digest ?? "")")
            files.append(try file(asset))
        }
        manifest = Manifest(version: Self.version(tag, hash), files: files)
    }

    /// An asset of a private repository has no other address than the API's, which needs a token.
    private func file(_ asset: Asset) throws(LonghaulError) -> ManifestFile {
        let url = hasCredential ? asset.url : asset.download
        guard let url, (try? URLParts(url)) != nil, let size = asset.size, size >= 0 else {
            throw .invalidManifest(
                "the asset \(TerminalText.shown(asset.name)) has no address or no size")
        }
        var file = ManifestFile(
            path: asset.name, url: url, size: size,
            digest: asset.digest.flatMap { Checksum(parsing: $0) },
            sendsCredential: hasCredential && source.owns(url))
        if hasCredential { file.headers["Accept"] = "application/octet-stream" }
        return file
    }

    /// The tag is for people.
    private static func version(_ tag: String, _ hash: StableHash) -> String {
        let plain = tag.utf8.prefix(100).map { byte in
            byte > 0x20 && byte < 0x7F && byte != UInt8(ascii: "/") ? byte : UInt8(ascii: "-")
        }
        return "\(String(decoding: plain, as: UTF8.self))-\(String(hash.value, radix: 16))"
    }

    private struct Asset {
        var name = ""
        var size: Int64?
        var state = ""
        var digest: String?
        /// At the API.
        var url: String?
        var download: String?

        mutating func read(_ key: String, _ scanner: inout JSONScanner) throws {
            switch key {
            case "name": name = try scanner.string()
            case "size": size = try scanner.integer()
            case "state": state = try scanner.string()
            case "digest": digest = scanner.null() ? nil : try scanner.string()
            case "url": url = try scanner.string()
            case "browser_download_url": download = try scanner.string()
            default: try scanner.skip()
            }
        }
    }
}
