internal import LonghaulModel

/// `sums:`: a list of digests, with the files beside it, and perhaps a signature.
struct ChecksumFiles: ManifestConversation {
    private enum Stage {
        case list
        /// Of what is appended to the list's URL, these are not tried yet.
        case signature(Manifest, SignatureCheck, rest: ArraySlice<String>)
        case whole(Manifest)
    }

    private let source: BundleSource
    private let signedBy: SignatureForm?
    private var stage = Stage.list

    init(_ source: BundleSource, signedBy: SignatureForm?) {
        self.source = source
        self.signedBy = signedBy
    }

    var manifest: Manifest? {
        if case .whole(let manifest) = stage { return manifest }
        return nil
    }

    func next() -> ManifestRequest? {
        switch stage {
        case .list: return ManifestRequest(source.name, credential: .source)
        case .signature(_, _, let rest):
            guard let suffix = rest.first else { return nil }
            var request = ManifestRequest(beside(suffix), credential: .source)
            request.maxSize = ManifestLimits.smallBytes
            return request
        case .whole: return nil
        }
    }

    /// A query of the list's URL is one of the signature's, too.
    private func beside(_ suffix: String) -> String {
        let end = source.name.firstIndex { $0 == "?" || $0 == "#" } ?? source.name.endIndex
        return source.name[..<end] + suffix + source.name[end...]
    }

    mutating func judge(_ answer: ManifestAnswer) throws(LonghaulError) {
        switch stage {
        case .list: try judge(list: answer)
        case .signature(let manifest, let check, let rest):
            try judge(signature: answer, manifest, check, rest)
        case .whole: preconditionFailure("nothing is asked after the manifest")
        }
    }

    private mutating func judge(list answer: ManifestAnswer) throws(LonghaulError) {
        try answer.requireList(of: source)
        let signed = try SignedText(answer.body)
        let list = try ChecksumList(
            signed.text, of: source, at: answer.url, firstLine: signed.firstLine)
        if list.files.isEmpty { throw .emptyManifest }
        var manifest = Manifest(version: answer.sha256, files: list.files)
        guard let signedBy else { return stage = .whole(manifest) }
        let check = SignatureCheck(signedBy, of: answer.body, signature: nil)
        if let form = signed.form {
            if form != signedBy {
                throw .invalidManifest(
                    "the list is signed in another way than the key's; give the file of the key "
                        + "that belongs to it")
            }
            manifest.signature = check
            return stage = .whole(manifest)
        }
        stage = .signature(manifest, check, rest: signedBy.suffixes[...])
    }

    private mutating func judge(
        signature answer: ManifestAnswer, _ manifest: Manifest, _ check: SignatureCheck,
        _ rest: ArraySlice<String>
    ) throws(LonghaulError) {
        let isFound = (200...299).contains(answer.status) && !answer.isPage
        if isFound, !answer.body.isEmpty {
            var (manifest, check) = (manifest, check)
            check.signature = answer.body
            manifest.signature = check
            return stage = .whole(manifest)
        }
        if rest.count <= 1 {
            let tried = check.form.suffixes.joined(separator: ", ")
            throw .invalidManifest(
                "the list has no signature (tried \(tried)); leave out --signed-by to believe it "
                    + "unsigned")
        }
        stage = .signature(manifest, check, rest: rest.dropFirst())
    }
}
