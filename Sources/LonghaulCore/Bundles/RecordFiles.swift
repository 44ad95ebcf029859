internal import LonghaulModel

/// `zenodo:`: the files of a record (Zenodo REST API, "Records"). The number of all versions of a
/// record leads to the newest one.
struct RecordFiles: ManifestConversation {
    private let source: BundleSource
    private(set) var manifest: Manifest?

    init(_ source: BundleSource) {
        self.source = source
    }

    func next() -> ManifestRequest? {
        if manifest != nil { return nil }
        return ManifestRequest(
            "\(source.endpoint ?? "")/api/records/\(source.name)", credential: .source)
    }

    mutating func judge(_ answer: ManifestAnswer) throws(LonghaulError) {
        try answer.requireList(of: source)
        var record: String?
        var hash = StableHash()
        var files: [ManifestFile] = []
        try answer.readObject { key, scanner in
            switch key {
            case "id":
                record = scanner.isString() ? try scanner.string() : String(try scanner.integer())
            case "files":
                try scanner.array { scanner in
                    let file = try file(&scanner)
                    hash.mix("\(file.path) \(file.size ?? -1) \(file.digest?.hex ?? "")\n")
                    files.append(file)
                }
            default: try scanner.skip()
            }
        }
        guard let record, record.utf8.allSatisfy({ $0.isASCIIDigit || $0.isASCIILetter }) else {
            throw .invalidManifest("the answer is not a record")
        }
        if files.isEmpty {
            throw .invalidManifest(
                "the record has no files, or not for everybody; visit \(source.page ?? record)")
        }
        manifest = Manifest(
            version: "\(record)-\(String(hash.value, radix: 16))", files: files)
    }

    private func file(_ scanner: inout JSONScanner) throws -> ManifestFile {
        var file = ManifestFile(path: "", url: "")
        try scanner.object { key, scanner in
            switch key {
            case "key": file.path = try scanner.string()
            case "size": file.size = try scanner.integer()
            case "checksum": file.digest = Checksum(parsing: try scanner.string())
            case "links":
                try scanner.object { key, scanner in
                    if key == "self" { file.url = try scanner.string() } else { try scanner.skip() }
                }
            default: try scanner.skip()
            }
        }
        guard (try? URLParts(file.url)) != nil, file.size ?? 0 >= 0 else {
            throw LonghaulError.invalidManifest(
                "the file \(TerminalText.shown(file.path)) has no address")
        }
        file.sendsCredential = source.owns(file.url)
        return file
    }
}
