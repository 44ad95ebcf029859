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
    /// Answers of the check before, by URL: the server is asked whether they are still current.
    private let kept: [String: Transfer]
    /// The answers of this check, which the next one asks about.
    private var answers: Set<TransferID> = []
    private var lastNumber: Int
    private var mayBeKept = true

    /// Where answers are kept.
    private static func prefix(of bundle: Int64, in queue: TransferQueue) -> String {
        PathParts.join(PathParts.join(queue.directory, "bundles"), "\(bundle)-")
    }

    /// - Throws: `LonghaulError` `permission`, `invalidRequest` if the key of the signature cannot
    ///   be read.
    init(_ queue: TransferQueue, _ bundle: StoredBundle) throws(LonghaulError) {
        self.queue = queue
        self.bundle = bundle
        var form: SignatureForm?
        if let key = bundle.settings.signedBy {
            form = SignatureForm(key: try SignatureProgram.key(key))
        }
        let prefix = Self.prefix(of: bundle.id, in: queue)
        let known = try queue.answers(below: prefix, session: bundle.session)
        kept = Dictionary(known.map { ($0.url, $0) }) { $1 }
        lastNumber = known.compactMap { Int($0.path.dropFirst(prefix.count)) }.max() ?? 0
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
            guard let request = conversation.next() else {
                try forget(kept.values.filter { !answers.contains($0.id) })
                return conversation.manifest
            }
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
        lastNumber += 1
        let path = Self.prefix(of: bundle.id, in: queue) + "\(lastNumber)"
        var wanted = bundle.settings.request(request.url, to: path, session: bundle.session)
        wanted.priority = .high
        wanted.isDiscretionary = false
        wanted.options.headers = wanted.options.headers.overridden(by: request.headers)
        wanted.options.maxSize = request.maxSize
        wanted.options.keepsResponse = true
        // A token is used once.
        mayBeKept = request.credential != .registryLogin
        wanted.options.reuse = mayBeKept && kept[request.url] != nil
        wanted.options.deliversErrorPages = true
        try BundleCredential(bundle).apply(request.credential, to: &wanted)
        let outcome = try queue.enqueue([wanted]).first
        switch outcome {
        case .recorded(let id, _), .existing(let id, _): return id
        case .refused(let error): throw error
        case .skipped, nil: throw LonghaulError(.internal, "a request was not recorded")
        }
    }

    private mutating func answer(of ended: Transfer) throws(LonghaulError) -> ManifestAnswer {
        // An answer without a body need not have the links to further pages.
        let fresh = ended.response.flatMap { $0.statusCode == 304 ? nil : $0 }
        let before = fresh == nil ? kept[ended.url] : nil
        guard ended.state == .completed, let response = fresh ?? before?.response else {
            try forget([ended])
            throw ended.error
                ?? LonghaulError(.cancelled, "the request for the list of files was cancelled")
        }
        var answer = try Self.read(ended.path, ManifestLimits.bytes)
        let isKept = fresh?.statusCode == 200 && mayBeKept
        if let id = isKept ? ended.id : before?.id { answers.insert(id) }
        if !isKept { try forget([ended]) }
        answer.status = response.statusCode ?? 200
        answer.headers = response.headers
        answer.url = response.url
        return answer
    }

    private func forget(_ transfers: [Transfer]) throws(LonghaulError) {
        _ = try queue.remove(transfers.map(\.id))
        for transfer in transfers { SpooledFile.remove(transfer.path) }
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

extension TransferQueue {
    /// Completed transfers of a session whose files are below a path.
    fileprivate func answers(
        below prefix: String, session: String
    ) throws(LonghaulError) -> [Transfer] {
        var filter = TransferFilter()
        filter.session = session
        filter.states = [.completed]
        filter.includeAll = true
        filter.limit = nil
        return try transfers(filter).filter { $0.path.hasPrefix(prefix) }
    }
}

extension ManifestRequest {
    /// The path of a list on this machine.
    fileprivate var localPath: String? {
        guard url.hasPrefix("file://") else { return nil }
        return String(decoding: PercentEncoding.decode(String(url.dropFirst(7))), as: UTF8.self)
    }
}
