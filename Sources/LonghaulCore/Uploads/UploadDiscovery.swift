/// Upload protocols that a server offers in its answer to OPTIONS. Nothing that creates or replaces
/// a file goes out before it.
enum UploadDiscovery: Hashable {
    case tus(TusOffer)
    case draft(UploadDialect, UploadSizes)
    /// Nothing so far: this version of the draft is asked for next.
    case ask(UploadDialect)
    /// None of the protocols.
    case nothing
    case failed(Failure)

    /// - Parameter asked: The version of the draft that was asked for. A server may ignore versions
    ///   that it does not know.
    init(_ head: ResponseHead, to asked: UploadDialect, by way: UploadProtocol) {
        let headers = head.headers
        let named = headers.single("Upload-Draft-Interop-Version").flatMap { Int($0) }
            .flatMap(UploadDialect.init(interopVersion:))
        if [401, 403, 407, 408, 429, 500, 502, 503, 504].contains(head.status) {
            // A server may refuse OPTIONS alone; the request of the file has its own answer.
            let mayPass = way == .auto && [401, 403, 407, 500].contains(head.status)
            self = mayPass ? .nothing : .failed(FailureTable.classify(upload: head))
        } else if way == .auto, TusOffer.isMade(by: headers) {
            self = .tus(TusOffer(headers))
        } else if head.isSuccess, named != nil || headers.contains("Upload-Limit") {
            self = .draft(named ?? asked, UploadSizes(headers))
        } else if let named, (named.interopVersion ?? 0) < asked.interopVersion ?? 0 {
            self = .ask(named)
        } else {
            self = asked.older.map(UploadDiscovery.ask) ?? .nothing
        }
    }
}

extension UploadDiscovery {
    /// Protocol that the origin speaks.
    var dialect: UploadDialect? {
        switch self {
        case .tus: .tus
        case .draft(let version, _): version
        case .ask, .nothing, .failed: nil
        }
    }
}

/// Offer of a tus server (tus 1.0.0, `Tus-Extension` and `Tus-Max-Size`).
struct TusOffer: Hashable {
    let maxSize: Int64?
    let extensions: [String]

    init(_ headers: HeaderFields) {
        maxSize = headers.single("Tus-Max-Size").flatMap { Int64($0) }
        extensions = headers.values("Tus-Extension").flatMap {
            $0.split(separator: ",").map { String($0.trimmingBlanks) }
        }
    }

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
    /// A member of the dictionary `Upload-Limit` (RFC 9651 §3.2).
    func uploadLimit(_ name: String) -> Int64? {
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

extension UploadState {
    /// Goes by what the server has told. The failure is why nothing is sent.
    mutating func adopt(
        _ found: UploadDiscovery, _ size: Int64, by way: UploadProtocol, _ head: ResponseHead
    ) -> Failure? {
        draftToAsk = nil
        isGuess = false
        switch found {
        case .tus(let offer):
            if let most = offer.maxSize, size > most { return UploadFailure.tooLarge(most) }
            dialect = .tus
            takesBytesAtCreation = offer.extensions.contains("creation-with-upload")
            terminates = offer.extensions.contains("termination")
        case .draft(let version, let sizes):
            if size > sizes.most { return UploadFailure.tooLarge(sizes.most) }
            let isTooSmall = size < sizes.least
            if isTooSmall, way != .auto { return UploadFailure.tooSmall(sizes.least) }
            dialect = isTooSmall ? .plain : version
        case .ask(let older): draftToAsk = older
        case .nothing:
            guard way == .auto else { return UploadFailure.draftNotSpoken(head) }
            // A plain server treats the request that offers the draft like any other.
            dialect = .ietf9
            isGuess = true
        case .failed(let failure): return failure
        }
        return nil
    }
}
