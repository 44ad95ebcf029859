internal import LonghaulCore
internal import LonghaulStore
internal import LonghaulPlatform

/// One check of a source: its requests are transfers of the bundle's session, one after the other.
/// After a crash the check begins again.
struct ManifestCheck {
    private let queue: TransferQueue
    private let bundle: StoredBundle
    private var conversation: any ManifestConversation
    /// The transfer of the present request.
    private var transfer: TransferID?
    private var requests = 0

    /// - Throws: `LonghaulError` `permission`, `invalidRequest` if the key of the signature cannot
    ///   be read.
    init(_ queue: TransferQueue, _ bundle: StoredBundle) throws(LonghaulError) {
        self.queue = queue
        self.bundle = bundle
        var form: SignatureForm?
        if let key = bundle.settings.signedBy {
            form = SignatureForm(key: try SignatureProgram.key(key))
        }
        conversation = ManifestSources.conversation(
            for: bundle.source, signedBy: form, hasCredential: BundleCredential(bundle).exists)
    }

    /// Continues as far as it can now. Returns the manifest once it is whole; `nil` = a transfer
    /// has to end first.
    mutating func advance() throws(LonghaulError) -> Manifest? {
        while true {
            if let id = transfer {
                guard let ended = try queue.transfer(id) else {
                    transfer = nil
                    continue
                }
                if !ended.state.hasEnded { return nil }
                transfer = nil
                let answer = try answer(of: ended)
                try conversation.judge(answer)
            }
            guard let request = conversation.next() else { return conversation.manifest }
            if let path = request.localPath {
                try conversation.judge(try Self.read(path, request.maxSize))
            } else {
                transfer = try begin(request)
            }
        }
    }

    /// Gives the present request up.
    func end() {
        guard let transfer else { return }
        _ = try? queue.cancel(.ids([transfer]))
    }

    private mutating func begin(_ request: ManifestRequest) throws(LonghaulError) -> TransferID {
        requests += 1
        let directory = PathParts.join(queue.directory, "bundles")
        let path = PathParts.join(directory, "\(bundle.id)-\(requests)")
        var wanted = bundle.settings.request(request.url, to: path, session: bundle.session)
        wanted.priority = .high
        wanted.isDiscretionary = false
        wanted.options.headers.fields += request.headers.fields
        wanted.options.maxSize = request.maxSize
        wanted.options.keepsResponse = true
        wanted.options.deliversErrorPages = true
        try BundleCredential(bundle).apply(request.credential, to: &wanted)
        let outcome = try queue.enqueue([wanted]).first
        switch outcome {
        case .recorded(let id, _), .existing(let id, _): return id
        case .refused(let error): throw error
        case .skipped, nil: throw LonghaulError(.internal, "a request was not recorded")
        }
    }

    private func answer(of ended: Transfer) throws(LonghaulError) -> ManifestAnswer {
        defer {
            _ = try? queue.remove([ended.id])
            SpooledFile.remove(ended.path)
        }
        guard ended.state == .completed, let response = ended.response else {
            throw ended.error
                ?? LonghaulError(.cancelled, "the request for the list of files was cancelled")
        }
        var answer = try Self.read(ended.path, ManifestLimits.bytes)
        answer.status = response.statusCode ?? 200
        answer.headers = response.headers
        answer.url = response.url
        return answer
    }

    private static func read(_ path: String, _ most: Int64) throws(LonghaulError) -> ManifestAnswer
    {
        do throws(SystemFailure) {
            let (bytes, sha256) = try PlacedFile.read(path, atMost: most)
            return ManifestAnswer(
                status: 200, url: "file://" + path, body: bytes, sha256: sha256)
        } catch {
            throw error.longhaulError()
        }
    }
}

extension ManifestRequest {
    /// The path of a list on this machine.
    fileprivate var localPath: String? {
        guard url.hasPrefix("file://") else { return nil }
        return String(decoding: PercentEncoding.decode(String(url.dropFirst(7))), as: UTF8.self)
    }
}
