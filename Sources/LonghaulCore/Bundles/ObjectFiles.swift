internal import LonghaulModel

/// `s3://BUCKET/PREFIX/`: the objects of a bucket (Amazon S3 API Reference, ListObjectsV2).
struct ObjectFiles: ManifestConversation {
    private let source: BundleSource
    private let prefix: String
    private var budget = AnswerBudget()
    private var continuation: String?
    private var files: [ManifestFile] = []
    private var passedOver = 0
    private var hash = StableHash()
    private(set) var manifest: Manifest?

    init(_ source: BundleSource) {
        self.source = source
        let slash = source.name.utf8.firstIndex(of: UInt8(ascii: "/"))
        let prefix = slash.map { String(source.name[$0...].dropFirst()) } ?? ""
        self.prefix = String(decoding: PercentEncoding.decode(prefix), as: UTF8.self)
    }

    func next() -> ManifestRequest? {
        if manifest != nil { return nil }
        // Sorted, as the signature wants it.
        var query = ""
        if let continuation {
            query = "continuation-token=\(PercentEncoding.encode(continuation.utf8))&"
        }
        query += "list-type=2&prefix=\(PercentEncoding.encode(prefix.utf8))"
        return ManifestRequest(
            "\(source.endpoint ?? "")/?\(query)", credential: .source, maxSize: budget.left)
    }

    mutating func judge(_ answer: ManifestAnswer) throws(LonghaulError) {
        if let region = answer.headers.single("x-amz-bucket-region"), region != source.region,
            answer.status == 301 || answer.status == 400
        {
            throw LonghaulError(
                .clientError,
                "the bucket is in the region \(TerminalText.shown(region)) (\(answer.status)); set "
                    + "AWS_REGION", httpStatus: answer.status)
        }
        try answer.requireList(of: source)
        try budget.spend(answer)
        let (objects, rest) = MarkupText.elements("Contents", in: answer.body)
        guard String(decoding: rest, as: UTF8.self).firstRange(of: "</ListBucketResult>") != nil
        else {
            throw .invalidManifest(
                "the server's answer is not a list of objects; check the endpoint")
        }
        let before = files.count + passedOver
        for object in objects { try add(object) }
        if MarkupText.element("IsTruncated", in: rest) == "true" {
            let token = MarkupText.element("NextContinuationToken", in: rest)
            guard let token, token != continuation, files.count + passedOver > before else {
                throw .endlessList
            }
            continuation = MarkupText.unescaped(token)
            return
        }
        if files.isEmpty {
            throw .invalidManifest("there are no objects below the prefix; check it")
        }
        var manifest = Manifest(version: String(hash.value, radix: 16), files: files)
        manifest.passedOver = passedOver
        self.manifest = manifest
    }

    private mutating func add(_ object: [UInt8]) throws(LonghaulError) {
        let key = MarkupText.element("Key", in: object).map { MarkupText.unescaped($0) }
        let size = MarkupText.element("Size", in: object).flatMap { $0.decimalValue }
        guard let key, let size, key.utf8.starts(with: prefix.utf8) else {
            throw .invalidManifest("the server's list has an object without a key or size")
        }
        // A directory, as tools make them.
        if key.utf8.last == UInt8(ascii: "/") || key.utf8.count == prefix.utf8.count {
            passedOver += 1
            return
        }
        if files.count == ManifestLimits.files { throw .tooManyFiles }
        let path = String(Substring(key.utf8.dropFirst(prefix.utf8.count)))
        // What is escaped by its number is a control character.
        if let problem = key.firstRange(of: "&#") == nil
            ? ManifestNames.problem(of: path) : "a key has a control character"
        {
            throw .invalidManifest("\(problem); rename the object")
        }
        let tag =
            MarkupText.element("ETag", in: object)
            .map { MarkupText.unescaped($0).filter { $0 != "\"" } } ?? ""
        hash.mix("\(key)\n\(size) \(tag)\n")
        let encoded = PercentEncoding.encode(key.utf8, keeping: [UInt8(ascii: "/")])
        files.append(
            ManifestFile(
                path: path, url: "\(source.endpoint ?? "")/\(encoded)", size: size,
                // Of an object in parts it has a hyphen, and is no digest.
                digest: Checksum(parsing: "md5:\(tag)"), sendsCredential: true))
    }
}
