/// An upload by draft-ietf-httpbis-resumable-upload, in one of its interop versions. Also the first
/// request to an unknown server: a plain one takes it for a PUT.
package struct DraftUpload: ResumableUpload {
    package struct Kept: KeptResource {
        var version: DraftVersion
        /// The server has not shown yet that it speaks the draft.
        var isGuess = false
        /// The origin spoke the draft before, perhaps at another URL.
        var isRemembered = false
        package var address: String?
        package var sentBound: Int64 = 0
        package var mustAsk = false
        var appendLimit: Int64?
        var pieceLimit: Int64?
        /// The server has not told that it speaks the draft, which was named: no byte is sent
        /// before it has made a resource. `nil` = no.
        var isUntold: Bool?

        private enum CodingKeys: String, CodingKey {
            case version = "dialect"
            case isGuess, isRemembered, address, sentBound, mustAsk, appendLimit, pieceLimit
            case isUntold
        }

        package init(
            _ version: DraftVersion, isGuess: Bool = false, isRemembered: Bool = false,
            appendLimit: Int64? = nil
        ) {
            self.version = version
            self.isGuess = isGuess
            self.isRemembered = isRemembered
            self.appendLimit = appendLimit
        }

        package init(
            _ version: DraftVersion, at address: String, sentBound: Int64 = 0,
            mustAsk: Bool = false
        ) {
            self.version = version
            self.address = address
            self.sentBound = sentBound
            self.mustAsk = mustAsk
        }
    }

    package var standing: UploadStanding
    var kept: Kept

    init(standing: UploadStanding, kept: Kept) {
        assert(!kept.isGuess || kept.address == nil, "a resource shows that the draft is spoken")
        self.standing = standing
        self.kept = kept
    }

    package var progress: UploadProgress { .draft(kept) }
    var spoken: SpokenUploads { kept.version.spoken }

    var fields: HeaderFields {
        var fields = HeaderFields()
        fields[DraftVersion.field] = "\(kept.version.number)"
        return fields
    }

    // MARK: - Requests

    package func next() -> UploadExchange? {
        if waitsForBytes { return nil }
        var exchange = nextRequest()
        if exchange.purpose == .append {
            exchange.headers["Content-Type"] = "application/partial-upload"
            exchange.headers["Upload-Complete"] = exchange.completes ? "?1" : "?0"
        }
        return exchange
    }

    func first() -> UploadExchange {
        var exchange: UploadExchange
        if isCreatedFirst {
            let method = (job.options.method ?? .post).rawValue
            exchange = UploadExchange(.create, method, job.request.url)
            exchange.body.content = UploadBody.Content()
            job.describe(&exchange, type: job.mediaType)
        } else {
            exchange = job.whole(isPlain: kept.isGuess)
        }
        exchange.headers[DraftVersion.field] = "\(kept.version.number)"
        exchange.headers["Upload-Complete"] = exchange.completes ? "?1" : "?0"
        if !job.isGrowing { exchange.headers["Upload-Length"] = "\(size)" }
        return exchange
    }

    /// A resource that is made before its bytes are sent cannot be lost with an interim answer. A
    /// small file is sent at once; so is one whose server may not speak the draft.
    private var isCreatedFirst: Bool {
        if job.isGrowing { return true }
        if let limit = kept.isGuess ? kept.appendLimit : pieceMost, limit < size { return true }
        return kept.isUntold == true || !kept.isGuess && size > Limits.uploadAtOnceBytes
    }

    package mutating func begins(_ exchange: UploadExchange) { bytesBegin(exchange) }
    package mutating func reopens() { askAgain() }

    package func abort() -> UploadExchange? {
        kept.address.map { exchange(.abort, "DELETE", at: $0) }
    }

    // MARK: - Ends

    /// The upload has a resource from now on, or the server has more bytes.
    package mutating func interim(_ head: ResponseHead) {
        if let named = DraftVersion.number(in: head.headers), named != kept.version.number {
            return
        }
        readLimit(head.headers)
        if findAddress(in: head) { standing.learned = spoken }
        guard kept.address != nil, let told = head.headers.uploadOffset,
            told > standing.offset, told <= kept.sentBound
        else { return }
        standing.offset = told
    }

    package mutating func judge(_ ended: EndedExchange) -> UploadVerdict {
        let isWhole = ended.exchange.purpose == .whole
        switch ended.kind {
        case .broken(let failure):
            return isWhole ? brokeWhole(ended, by: failure) : broke(ended, by: failure)
        case .early(let head):
            let failure = UploadFailure.early(head, isCarriedOut: false)
            guard isWhole else { return broke(ended, by: failure) }
            if let verdict = wholeAnsweredEarly(ended, head, isPlain: kept.isGuess) {
                return verdict
            }
            if isOfPart(head) { _ = findAddress(in: head) }
            return brokeWhole(ended, by: failure)
        case .answered(let head):
            readLimit(head.headers)
            switch ended.exchange.purpose {
            case .whole: return sentWhole(ended, head)
            case .create: return createdResource(ended, head)
            case .ask: return answered(ended, head)
            case .append: return sentRest(ended, head)
            case .discover, .list, .complete, .abort, .makeDirectory: return .done
            }
        }
    }

    private mutating func sentWhole(_ ended: EndedExchange, _ head: ResponseHead) -> UploadVerdict {
        if let verdict = notSpoken(head) { return verdict }
        if head.status == 409 || head.status == 404, kept.address != nil {
            return answered(ended, head)
        }
        guard ended.isTaken else { return refusedWhole(ended, head) }
        if isOfPart(head) {
            _ = findAddress(in: head)
            guard kept.address != nil else { return .failed(UploadFailure.nowhere(head)) }
            kept.mustAsk = true
            return .goOn
        }
        if kept.isGuess {
            let speaks = head.headers.contains("Upload-Complete")
            let found = speaks ? spoken : SpokenUploads.plain
            if speaks || !kept.isRemembered { standing.learned = found }
        }
        standing.offset = size
        return .done
    }

    private mutating func createdResource(
        _ ended: EndedExchange, _ head: ResponseHead
    ) -> UploadVerdict {
        if let verdict = notSpoken(head) { return verdict }
        guard head.isSuccess else { return refusedWhole(ended, head) }
        guard created(ended, head) else {
            return kept.isRemembered ? discoverAnew() : .failed(UploadFailure.nowhere(head))
        }
        kept.isGuess = false
        return .goOn
    }

    /// Bytes were appended; if they were the last, the server says so.
    private mutating func sentRest(_ ended: EndedExchange, _ head: ResponseHead) -> UploadVerdict {
        guard ended.exchange.completes, head.isSuccess else { return appended(ended, head) }
        if isOfPart(head) {
            kept.mustAsk = true
            return .goOn
        }
        standing.offset = size
        return .done
    }

    /// Version 6 has no other word for it than the offset; from 8 on an empty request may have to
    /// say that these were all bytes.
    func isComplete(_ head: ResponseHead) -> Bool {
        kept.version == .ietf6 ? !head.isIncomplete : head.isComplete
    }

    /// The server takes the bytes received for a part of the file.
    private func isOfPart(_ head: ResponseHead) -> Bool {
        kept.version != .ietf6 && head.isIncomplete
    }

    /// - Returns: True if the answer names a resource that was unknown before.
    private mutating func findAddress(in head: ResponseHead) -> Bool {
        let isKnown = kept.address != nil
        if !isKnown, let location = head.headers["Location"] {
            kept.address = UploadAddress.resolve(location, at: head.effectiveURL)
        }
        if kept.address != nil { kept.isGuess = false }
        return !isKnown && kept.address != nil
    }

    // MARK: - Refusals

    /// A request of the whole file, or one that creates its resource.
    private mutating func refusedWhole(
        _ ended: EndedExchange, _ head: ResponseHead
    ) -> UploadVerdict {
        let isTooLong = (kept.appendLimit ?? .max) < Int64(ended.exchange.range.count)
        if head.status == 413, isTooLong, kept.address == nil {
            // The server takes no body of this size: the file is sent in pieces.
            standing.mayHaveArrived = false
            kept.isGuess = false
            return .goOn
        }
        if head.status == 413, !kept.isGuess, kept.address == nil, shortenPiece(after: ended) {
            standing.mayHaveArrived = false
            return .goOn
        }
        if kept.isUntold == true, [404, 405].contains(head.status) {
            return .failed(UploadFailure.draftNotSpoken(head))
        }
        return refused(head)
    }

    /// A server that does not know this version of the draft, or no such draft. `nil` = the answer
    /// does not say that.
    private mutating func notSpoken(_ head: ResponseHead) -> UploadVerdict? {
        if kept.address != nil { return nil }
        if kept.isRemembered, UploadDiscovery.isNotSpoken(head) { return discoverAnew() }
        guard [400, 412, 501].contains(head.status) else { return nil }
        standing.mayHaveArrived = false
        let named = DraftVersion(in: head.headers)
        if let named, named.number < kept.version.number {
            kept.version = named
        } else if !kept.isGuess, kept.isUntold != true {
            // Another version might be taken for a plain request without a byte.
            return nil
        } else if let older = kept.version.older {
            kept.version = older
        } else if kept.isUntold == true {
            // The next attempt begins with the newest one again.
            kept.version = .ietf9
            return .failed(UploadFailure.draftNotSpoken(head))
        } else {
            assert(!kept.isRemembered, "a memory that was wrong is dropped first")
            standing.successor = .plain(PlainUpload.Kept())
            standing.learned = SpokenUploads.plain
        }
        return .goOn
    }

    // MARK: - Breaks

    private mutating func brokeWhole(
        _ ended: EndedExchange, by failure: Failure
    ) -> UploadVerdict {
        let verdict = wholeBroke(ended, by: failure, isPlain: kept.isGuess)
        kept.sentBound = ended.bound(from: 0)
        kept.mustAsk = kept.address != nil
        return kept.mustAsk ? askAfter(failure, ended) : verdict
    }

    package mutating func forgetResource() {
        let pieceLimit = kept.pieceLimit
        kept = Kept(kept.version, appendLimit: kept.appendLimit)
        kept.pieceLimit = pieceLimit
    }
}

/// Interop versions of draft-ietf-httpbis-resumable-upload. Raw values are stored.
package enum DraftVersion: String, Hashable, Codable, CaseIterable, Sendable {
    /// -12 and later.
    case ietf9
    /// -09 to -11.
    case ietf8
    /// -04 and -05.
    case ietf6

    static let field = "Upload-Draft-Interop-Version"

    var number: Int {
        switch self {
        case .ietf9: 9
        case .ietf8: 8
        case .ietf6: 6
        }
    }

    /// The version to ask for where this one is not understood.
    var older: DraftVersion? {
        switch self {
        case .ietf9: .ietf8
        case .ietf8: .ietf6
        case .ietf6: nil
        }
    }

    static func number(in headers: HeaderFields) -> Int? {
        headers.single(field).flatMap { Int($0) }
    }

    /// The version that the server names, if it is a known one.
    init?(in headers: HeaderFields) {
        let number = DraftVersion.number(in: headers)
        guard let version = DraftVersion.allCases.first(where: { $0.number == number }) else {
            return nil
        }
        self = version
    }

    init?(_ spoken: SpokenUploads) {
        self.init(rawValue: spoken.rawValue)
    }

    /// How an origin is remembered that speaks it.
    package var spoken: SpokenUploads {
        switch self {
        case .ietf9: .ietf9
        case .ietf8: .ietf8
        case .ietf6: .ietf6
        }
    }
}

extension ResponseHead {
    fileprivate var isComplete: Bool { headers.single("Upload-Complete") == "?1" }
    fileprivate var isIncomplete: Bool { headers.single("Upload-Complete") == "?0" }
}
