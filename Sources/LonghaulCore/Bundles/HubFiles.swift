internal import LonghaulModel

/// `hf:`: a repository of the Hugging Face Hub. The revision gives the commit, and its tree comes
/// page by page (Hub API, "Repo Files").
struct HubFiles: ManifestConversation {
    private enum Stage {
        case revision
        case tree(HubTree, next: String)
        case whole(Manifest)
    }

    private let source: BundleSource
    private var stage = Stage.revision
    private var budget = AnswerBudget()

    init(_ source: BundleSource) {
        self.source = source
    }

    var manifest: Manifest? {
        if case .whole(let manifest) = stage { return manifest }
        return nil
    }

    func next() -> ManifestRequest? {
        switch stage {
        case .revision:
            let revision = PercentEncoding.encode((source.version ?? "main").utf8)
            return request("\(api)/revision/\(revision)")
        case .tree(_, let next): return request(next)
        case .whole: return nil
        }
    }

    private func request(_ url: String) -> ManifestRequest {
        ManifestRequest(url, credential: .source, maxSize: budget.left)
    }

    private var endpoint: String { source.endpoint ?? "" }

    private var api: String {
        "\(endpoint)/api/\(source.hubKind.rawValue)/\(source.hubRepository)"
    }

    mutating func judge(_ answer: ManifestAnswer) throws(LonghaulError) {
        try requireAccess(answer)
        try budget.spend(answer)
        switch stage {
        case .revision:
            let commit = try Self.commit(in: answer)
            let files = "\(endpoint)/\(source.name)/resolve/\(commit)"
            stage = .tree(
                HubTree(commit, at: files), next: "\(api)/tree/\(commit)?recursive=true")
        case .tree(var tree, _):
            try tree.add(answer)
            guard let next = try answer.nextPage(of: source) else {
                return stage = .whole(try tree.manifest())
            }
            stage = .tree(tree, next: next)
        case .whole: preconditionFailure("nothing is asked after the manifest")
        }
    }

    /// A gated repository is there, and its conditions are to be accepted on its page.
    private func requireAccess(_ answer: ManifestAnswer) throws(LonghaulError) {
        guard answer.headers.single("X-Error-Code") == "GatedRepo" else {
            return try answer.requireList(of: source)
        }
        throw LonghaulError(
            answer.status == 401 ? .unauthorized : .forbidden,
            "\(source.name) is open only to those who accept its conditions (\(answer.status)); "
                + "visit \(source.page ?? endpoint), then give a token in HF_TOKEN",
            httpStatus: answer.status)
    }

    private static func commit(in answer: ManifestAnswer) throws(LonghaulError) -> String {
        var commit: String?
        try answer.readObject { key, scanner in
            if key == "sha" { commit = try scanner.string() } else { try scanner.skip() }
        }
        guard let commit, commit.utf8.count == 40, commit.utf8.allSatisfy(\.isASCIIHexDigit) else {
            throw .invalidManifest("the hub names no commit for the revision; check the revision")
        }
        return commit.lowercased()
    }
}

/// The files of a commit so far.
private struct HubTree {
    private let commit: String
    /// URL before a path.
    private let prefix: String
    private var files: [ManifestFile] = []
    private var passedOver = 0
    /// Entries of `trees/COMMIT.json` (huggingface_hub 2.4, `_tree_cache.py`).
    private var listing = Array("{\"format_version\":1,\"files\":{".utf8)

    init(_ commit: String, at prefix: String) {
        self.commit = commit
        self.prefix = prefix
    }

    func manifest() throws(LonghaulError) -> Manifest {
        if files.isEmpty { throw .emptyManifest }
        var manifest = Manifest(version: commit, files: files)
        manifest.passedOver = passedOver
        manifest.layout = .hubTree(listing + Array("}}".utf8))
        return manifest
    }

    /// Adds the entries of a page.
    mutating func add(_ page: ManifestAnswer) throws(LonghaulError) {
        let before = files.count + passedOver
        var directories = 0
        try page.read { scanner in
            try scanner.array { scanner in
                var entry = Entry()
                try scanner.object { try entry.read($0, &$1) }
                switch entry.type {
                case "file": try add(entry)
                case "directory": directories += 1
                // Submodules and the like.
                default: passedOver += 1
                }
            }
        }
        if files.count + passedOver + directories == before, page.headers.contains("Link") {
            throw .endlessList
        }
    }

    private mutating func add(_ entry: Entry) throws(LonghaulError) {
        if let problem = ManifestNames.problem(of: entry.path) {
            throw .invalidManifest("\(problem); rename the file in the repository")
        }
        guard let size = entry.size, size >= 0, Checksum(parsing: "sha1:\(entry.blob)") != nil,
            let digest = entry.digest
        else {
            throw .invalidManifest(
                "the hub says no size or digest of \(TerminalText.shown(entry.path))")
        }
        if files.count == ManifestLimits.files { throw .tooManyFiles }
        let path = PercentEncoding.encode(entry.path.utf8, keeping: [UInt8(ascii: "/")])
        if !files.isEmpty { listing.append(UInt8(ascii: ",")) }
        JSONQuote.append(entry.path, to: &listing)
        listing += ":{\"size\":\(size),\"blob_id\":\"\(entry.blob)\"".utf8
        if digest.algorithm == .sha256 {
            listing += ",\"lfs_sha256\":\"\(digest.hex)\",\"lfs_size\":\(size)".utf8
        }
        listing.append(UInt8(ascii: "}"))
        files.append(
            ManifestFile(
                path: entry.path, url: "\(prefix)/\(path)", size: size, digest: digest,
                sendsCredential: true, name: digest.hex))
    }

    private struct Entry {
        var type = ""
        var path = ""
        var blob = ""
        var size: Int64?
        /// The SHA-256 of a file in large file storage.
        var large: String?

        /// Of the bytes that are fetched.
        var digest: Checksum? {
            large.map { Checksum(parsing: "sha256:\($0)") } ?? Checksum(parsing: "git-sha1:\(blob)")
        }

        mutating func read(_ key: String, _ scanner: inout JSONScanner) throws {
            switch key {
            case "type": type = try scanner.string()
            case "path": path = try scanner.string()
            case "oid": blob = try scanner.string().lowercased()
            case "size":
                let length = try scanner.integer()
                size = size ?? length
            case "lfs" where !scanner.null():
                try scanner.object { key, scanner in
                    switch key {
                    case "oid": large = try scanner.string()
                    case "size": size = try scanner.integer()
                    default: try scanner.skip()
                    }
                }
            case "lfs": break
            default: try scanner.skip()
            }
        }
    }
}

extension BundleSource {
    /// Words of the API and of the directories of the cache.
    enum HubKind: String {
        case models, datasets, spaces
    }

    var hubKind: HubKind {
        [.datasets, .spaces].first { name.hasPrefix("\($0.rawValue)/") } ?? .models
    }

    /// `ORG/NAME`.
    var hubRepository: String {
        hubKind == .models ? name : String(name.dropFirst(hubKind.rawValue.utf8.count + 1))
    }
}
