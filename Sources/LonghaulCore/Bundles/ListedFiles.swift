internal import LonghaulModel

/// `list:`: JSON Lines with one file each.
struct ListedFiles: ManifestConversation {
    private let source: BundleSource
    private(set) var manifest: Manifest?

    init(_ source: BundleSource) {
        self.source = source
    }

    func next() -> ManifestRequest? {
        manifest == nil ? ManifestRequest(url, credential: .source) : nil
    }

    private var url: String {
        guard source.name.isAbsolutePath else { return source.name }
        return "file://" + PercentEncoding.encode(source.name.utf8, keeping: [UInt8(ascii: "/")])
    }

    mutating func judge(_ answer: ManifestAnswer) throws(LonghaulError) {
        try answer.requireList(of: source)
        let base = try? URLParts(answer.url)
        var files: [ManifestFile] = []
        try forEachLine(of: answer.body[...]) { number, line throws(LonghaulError) in
            if line.isBlank { return }
            if files.count == ManifestLimits.files { throw .tooManyFiles }
            files.append(try ListedFile(line, number).file(of: source, base, number))
        }
        if files.isEmpty { throw .emptyManifest }
        manifest = Manifest(version: answer.sha256, files: files)
    }
}

/// A line of the list.
private struct ListedFile {
    private var path: String?
    private var url: String?
    private var size: Int64?
    private var digests: [Checksum] = []

    /// - Parameter number: Of the line.
    init(_ line: ArraySlice<UInt8>, _ number: Int) throws(LonghaulError) {
        do {
            try line.withUnsafeBufferPointer { bytes in
                var scanner = JSONScanner(bytes)
                try scanner.object { try read($0, &$1) }
                try scanner.end()
            }
        } catch {
            throw .invalidManifest(line: number, TerminalText.shown("\(error)"))
        }
    }

    private mutating func read(_ key: String, _ scanner: inout JSONScanner) throws {
        if scanner.null() { return }
        switch key {
        case "path": path = try scanner.string()
        case "url": url = try scanner.string()
        case "size": size = try scanner.integer()
        default:
            // An unknown word may be the misspelt digest that the file should have been proved by.
            guard let algorithm = Checksum.Algorithm(rawValue: key) else {
                throw JSONProblem(message: "unknown field \(key)", byte: scanner.offset)
            }
            let text = try scanner.string()
            guard let digest = Checksum(parsing: "\(algorithm.rawValue):\(text)") else {
                throw JSONProblem(message: "\(key) is not a digest", byte: scanner.offset)
            }
            digests.append(digest)
        }
    }

    /// - Parameter base: URL of the list; `nil` = it is a file of this machine.
    func file(
        of source: BundleSource, _ base: URLParts?, _ line: Int
    ) throws(LonghaulError) -> ManifestFile {
        guard let path, let url else {
            throw .invalidManifest(
                line: line, "\(path == nil ? "path" : "url") is missing")
        }
        if let problem = ManifestNames.problem(of: path) {
            throw .invalidManifest(line: line, problem)
        }
        if let size, size < 0 { throw .invalidManifest(line: line, "the size is negative") }
        let whole = try absolute(url, base, line)
        return ManifestFile(
            path: path, url: whole, size: size, digest: digests.strongest,
            sendsCredential: source.owns(whole))
    }

    private func absolute(
        _ url: String, _ base: URLParts?, _ line: Int
    ) throws(LonghaulError) -> String {
        if (try? URLParts(url)) != nil { return url }
        let hasScheme = url.drop { $0.isASCII && $0.isLetter }.hasPrefix("://")
        if base == nil, !hasScheme {
            throw .usage("line \(line) of the list: its URL is relative; write a whole URL")
        }
        guard let base, !hasScheme, let whole = UploadAddress.resolve(url, at: base.url) else {
            throw .invalidManifest(line: line, "its URL cannot be fetched")
        }
        return whole
    }
}

extension [Checksum] {
    /// The digest that a file is proved by.
    var strongest: Checksum? {
        let order: [Checksum.Algorithm] = [.sha256, .sha512, .sha1, .md5]
        return order.lazy.compactMap { kind in first { $0.algorithm == kind } }.first
    }
}
