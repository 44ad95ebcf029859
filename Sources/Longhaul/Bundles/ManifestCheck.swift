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
    private(set) var transfer: TransferID?
    /// Answers of the check before, by URL: the server is asked whether they are still current.
    private var kept: [String: Transfer] = [:]
    /// The answers of this check, which the next one asks about.
    private var answers: Set<TransferID> = []
    private var mayBeKept = true

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
        try findAnswers()
    }

    private mutating func findAnswers() throws(LonghaulError) {
        let query = ListQuery(states: [.completed], session: bundle.session, limit: .max)
        for known in try queue.store.transfers.list(query, now: queue.now)
        where Self.isAnswer(known, in: queue) {
            var old: Transfer? = known
            if known.response?.statusCode == 200, kept[known.url].map({ $0.id < known.id }) ?? true
            {
                old = kept.updateValue(known, forKey: known.url)
            }
            if let old { try Self.forget([old], in: queue) }
        }
    }

    /// Continues as far as it can now. Returns the manifest once it is whole; `nil` = a transfer
    /// has to end first.
    mutating func advance() throws(LonghaulError) -> Manifest? {
        while true {
            if let id = transfer {
                guard let ended = try queue.store.transfers.find(id, now: queue.now) else {
                    transfer = nil
                    continue
                }
                if !ended.state.hasEnded { return nil }
                transfer = nil
                let answer = try answer(of: ended)
                try conversation.judge(answer)
            }
            guard let request = conversation.next() else {
                let old = kept.values.filter { !answers.contains($0.id) }
                try Self.forget(old, in: queue)
                return conversation.manifest
            }
            if let path = request.localPath {
                try conversation.judge(try read(path, request.maxSize))
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
        // A token is used once.
        mayBeKept = request.credential != .registryLogin
        let before = mayBeKept ? kept[request.url] : nil
        // The next engine continues the same request.
        var hash = StableHash()
        hash.mix(request.url)
        let turn = before?.path.hasSuffix(".0") == true ? 1 : 0
        let name = "\(bundle.id)-\(String(hash.value, radix: 16)).\(turn)"
        var wanted = bundle.settings.request(
            request.url, to: Self.directory(of: queue) + name, session: bundle.session)
        wanted.priority = .high
        wanted.isDiscretionary = false
        wanted.options.headers = wanted.options.headers.overridden(by: request.headers)
        wanted.options.maxSize = request.maxSize
        wanted.options.keepsResponse = true
        wanted.options.reuse = before != nil
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
            try Self.forget([ended], in: queue)
            throw ended.error
                ?? LonghaulError(.cancelled, "the request for the list of files was cancelled")
        }
        var answer = try read(ended.path, ManifestLimits.bytes)
        let isKept = fresh?.statusCode == 200 && mayBeKept
        if let id = isKept ? ended.id : before?.id { answers.insert(id) }
        if !isKept { try Self.forget([ended], in: queue) }
        answer.status = response.statusCode ?? 200
        answer.headers = response.headers
        answer.url = response.url
        return answer
    }

    /// Where answers are kept, with a slash at its end.
    static func directory(of queue: TransferQueue) -> String {
        PathParts.join(queue.directory, "bundles/")
    }

    /// The transfer has brought an answer of a source, not a file of a bundle.
    private static func isAnswer(_ transfer: Transfer, in queue: TransferQueue) -> Bool {
        transfer.path.hasPrefix(directory(of: queue))
    }

    /// Forgets ended transfers of bundles. Answers to checks are deleted; files that came are the
    /// bundle's.
    static func forget(
        _ transfers: [Transfer], in queue: TransferQueue
    ) throws(LonghaulError) {
        if transfers.isEmpty { return }
        let files = queue.machine.files
        var stamps: [TransferID: String] = [:]
        for transfer in transfers {
            if isAnswer(transfer, in: queue) {
                files.removeSpooled(transfer.path)
            } else if transfer.state == .completed {
                stamps[transfer.id] = files.version(at: transfer.path)?.text
            }
        }
        try queue.store.bundleWork.own(stamps)
        _ = try queue.remove(transfers.map(\.id))
    }

    private func read(_ path: String, _ most: Int64) throws(LonghaulError) -> ManifestAnswer {
        do throws(SystemFailure) {
            let (bytes, sha256) = try queue.machine.files.read(path, atMost: most)
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
