/// Asks the server by OPTIONS which protocol it speaks. No request that creates or replaces a file
/// is sent before.
package struct UploadDiscovery: UploadConversation {
    package struct Kept: KeptProgress {
        /// The version of the draft that the server is asked for next; `nil` = the newest.
        var draftToAsk: DraftVersion?
        /// The protocol that the origin spoke before is not spoken at this URL.
        var mustDiscover = false

        package init(mustDiscover: Bool = false) {
            self.mustDiscover = mustDiscover
        }
    }

    package var standing: UploadStanding
    private(set) var kept: Kept

    init(standing: UploadStanding, kept: Kept) {
        self.standing = standing
        self.kept = kept
    }

    package var progress: UploadProgress { .discovery(kept) }

    private var version: DraftVersion { kept.draftToAsk ?? .ietf9 }

    package func next() -> UploadExchange? { Self.question(job, version) }

    static func question(_ job: UploadJob, _ version: DraftVersion = .ietf9) -> UploadExchange {
        var exchange = UploadExchange(.discover, "OPTIONS", job.request.url)
        if job.options.uploadProtocol != .tus {
            exchange.headers[DraftVersion.field] = "\(version.number)"
        }
        if job.options.uploadProtocol != .ietf { exchange.headers["Tus-Resumable"] = "1.0.0" }
        return exchange
    }

    package mutating func judge(_ ended: EndedExchange) -> UploadVerdict {
        switch ended.kind {
        case .broken(let failure): .failed(failure)
        case .answered(let head), .early(let head): discovered(head)
        }
    }

    /// Chooses the protocol by the server's answer.
    private mutating func discovered(_ head: ResponseHead) -> UploadVerdict {
        let way = job.options.uploadProtocol
        let offer = UploadOffer(
            head, to: version, by: way, needsAnswer: way == .ietf && job.options.method == .put)
        let limit = head.headers.appendLimit
        kept.draftToAsk = nil
        switch offer {
        case .tus(let tus):
            if let most = tus.maxSize, size > most { return .failed(UploadFailure.tooLarge(most)) }
            if job.isGrowing, !tus.takesUnknownLengths {
                return .failed(UploadFailure.cannotFollow(head))
            }
            standing.successor = .tus(TusUpload.Kept(tus, appendLimit: limit))
            if TusOffer.isMade(by: head.headers) { standing.learned = tus.spoken }
        case .draft(let version, let sizes):
            if size > sizes.most { return .failed(UploadFailure.tooLarge(sizes.most)) }
            let isTooSmall = size < sizes.least && !job.isGrowing
            if isTooSmall, way != .auto { return .failed(UploadFailure.tooSmall(sizes.least)) }
            standing.successor =
                isTooSmall
                ? .plain(PlainUpload.Kept())
                : .draft(DraftUpload.Kept(version, appendLimit: limit))
            standing.learned = version.spoken
        case .ask(let older): kept.draftToAsk = older
        case .nothing:
            // The answer to the creation decides where the draft was named: behind many proxies
            // OPTIONS does not reach the server. An empty PUT would empty a file.
            if way == .ietf, job.options.method == .put {
                return .failed(UploadFailure.draftNotSpoken(head))
            }
            if way == .auto, job.isGrowing { return .failed(UploadFailure.cannotFollow(head)) }
            // A plain server treats the request that offers the draft like any other.
            var draft = DraftUpload.Kept(.ietf9, isGuess: way == .auto, appendLimit: limit)
            if way == .ietf { draft.isUntold = true }
            standing.successor = .draft(draft)
        case .failed(let failure): return .failed(failure)
        }
        return .goOn
    }

    package mutating func forgetResource() {
        assertionFailure("the server has nothing of a file before it is known what it speaks")
    }
}

extension UploadDiscovery {
    /// The origin's earlier protocol is used without a question if that does no harm.
    static func start(_ options: UploadOptions, known: SpokenUploads?) -> UploadProgress? {
        // A plain server takes a PUT that offers to be resumed for a PUT, but the empty POST of tus
        // for a real POST. Other paths of the origin may speak another protocol.
        guard let known, !known.isTus else { return nil }
        let isGuess = options.uploadProtocol == .auto
        if let version = DraftVersion(known) {
            // A PUT without a byte would empty a file at a URL where the draft is not spoken.
            if !isGuess, options.method == .put { return nil }
            return .draft(DraftUpload.Kept(version, isGuess: isGuess, isRemembered: true))
        }
        return isGuess ? .plain(PlainUpload.Kept(isRemembered: true)) : nil
    }

    /// The answer of a server that does not speak the protocol, perhaps at this URL alone.
    static func isNotSpoken(_ head: ResponseHead) -> Bool {
        [400, 404, 405, 412, 415, 501].contains(head.status)
    }
}

/// Upload protocols that a server offers in its answer to OPTIONS.
enum UploadOffer: Hashable {
    case tus(TusOffer)
    case draft(DraftVersion, UploadSizes)
    /// Nothing so far: this version of the draft is asked for next.
    case ask(DraftVersion)
    /// None of the protocols.
    case nothing
    case failed(Failure)

    /// - Parameters:
    ///   - requested: The version of the draft that was asked for. A server may ignore versions
    ///     that it does not know.
    ///   - needsAnswer: Nothing may be sent to a server that does not tell.
    init(
        _ head: ResponseHead, to requested: DraftVersion, by way: UploadProtocol, needsAnswer: Bool
    ) {
        let named = DraftVersion(in: head.headers)
        if [401, 403, 407, 408, 429, 500, 502, 503, 504].contains(head.status) {
            // A server may refuse OPTIONS alone; the request of the file has its own answer.
            let mayPass = !needsAnswer && [401, 403, 407, 500].contains(head.status)
            let passed = way == .tus ? UploadOffer.tus(TusOffer(head.headers)) : .nothing
            self = mayPass ? passed : .failed(FailureTable.classify(upload: head))
        } else if way == .tus || way == .auto && TusOffer.isMade(by: head.headers) {
            // If the options name tus, the offer may be empty: the answer to the creation decides.
            self = .tus(TusOffer(head.headers))
        } else if head.isSuccess, named != nil || head.headers.contains("Upload-Limit") {
            self = .draft(named ?? requested, UploadSizes(head.headers))
        } else if let named, named.number < requested.number {
            self = .ask(named)
        } else {
            self = requested.older.map(UploadOffer.ask) ?? .nothing
        }
    }
}

/// Offer of a tus server (tus 1.0.0, `Tus-Extension` and `Tus-Max-Size`).
struct TusOffer: Hashable {
    let maxSize: Int64?
    let extensions: [String]
    /// The digest that pieces are to have; `nil` = the server compares none.
    let checksum: Checksum.Algorithm?

    init(_ headers: HeaderFields) {
        func list(_ field: String) -> [String] {
            headers.values(field).flatMap {
                $0.split(separator: ",").map { String($0.trimmingBlanks) }
            }
        }
        maxSize = headers.single("Tus-Max-Size").flatMap { Int64($0) }
        extensions = list("Tus-Extension")
        let algorithms = list("Tus-Checksum-Algorithm").map { $0.lowercased() }
        let known = [Checksum.Algorithm.sha1, .sha256, .sha512, .md5]
        checksum =
            extensions.contains("checksum")
            // Each server that has the extension supports SHA-1.
            ? known.first { algorithms.contains($0.rawValue) } ?? (algorithms.isEmpty ? .sha1 : nil)
            : nil
    }

    /// Uploads of unknown length. A server that names no extension may have all.
    var takesUnknownLengths: Bool {
        extensions.isEmpty || extensions.contains("creation-defer-length")
    }

    /// How the origin is remembered.
    var spoken: SpokenUploads { checksum == nil ? .tus : .tusWithChecksum }

    static func isMade(by headers: HeaderFields) -> Bool {
        (headers.values("Tus-Version") + headers.values("Tus-Resumable"))
            .contains { $0.contains("1.0.0") }
    }
}

/// How large a file may be that is sent by the draft; a smaller one goes as ever.
struct UploadSizes: Hashable {
    let least: Int64
    let most: Int64

    init(_ headers: HeaderFields) {
        least = headers.uploadLimit("min-size") ?? 0
        most = headers.uploadLimit("max-size") ?? .max
    }
}

extension HeaderFields {
    /// Most bytes that the server takes in one request.
    var appendLimit: Int64? {
        uploadLimit("max-append-size").flatMap { $0 > 0 ? $0 : nil }
    }

    /// A member of the dictionary `Upload-Limit` (RFC 9651 §3.2).
    fileprivate func uploadLimit(_ name: String) -> Int64? {
        for value in values("Upload-Limit") {
            for member in value.split(separator: ",") {
                let parts = member.split(separator: "=", maxSplits: 1)
                guard parts.count == 2, parts[0].trimmingBlanks == name else { continue }
                return Int64(parts[1].trimmingBlanks)
            }
        }
        return nil
    }
}
