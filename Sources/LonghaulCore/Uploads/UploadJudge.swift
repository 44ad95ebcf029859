/// Step after a request has ended.
package enum UploadVerdict: Hashable, Sendable {
    /// The next request follows at once.
    case goOn
    /// The server has the whole file; this is its last word.
    case done
    /// The server is to be asked how far it is; if nothing was gained, this is why.
    case askAfter(Failure)
    /// The server does not have the offset that was assumed.
    case conflict(Failure)
    case failed(Failure)

    /// The verdict with the server's words, where the server refuses the request.
    func quoting(_ head: ResponseHead?, _ body: [UInt8]) -> UploadVerdict {
        guard let head, !head.isSuccess || S3Answer.code(in: body) != nil else { return self }
        return switch self {
        case .goOn, .done: self
        case .askAfter(let failure): .askAfter(failure.quoting(head, body))
        case .conflict(let failure): .conflict(failure.quoting(head, body))
        case .failed(let failure): .failed(failure.quoting(head, body))
        }
    }
}

/// Judges the end of a request for its upload. Pure.
package struct UploadJudge {
    package internal(set) var state: UploadState
    /// Offset that the server has acknowledged, from the first byte on.
    package internal(set) var offset: Int64
    /// Lesson about the origin.
    package private(set) var learned: UploadDialect??
    /// The resource is gone, or cannot be believed: what was sent is lost.
    package internal(set) var lost: String?
    let exchange: UploadExchange
    let options: UploadOptions
    /// No byte at or after this offset was sent by earlier runs. The kernel of an engine that was
    /// killed may still deliver some.
    let floor: Int64
    let size: Int64
    let end: SegmentEnd

    package init(
        _ exchange: UploadExchange, _ end: SegmentEnd, _ state: UploadState, offset: Int64,
        size: Int64, _ options: UploadOptions, floor: Int64 = 0
    ) {
        self.floor = floor
        self.exchange = exchange
        self.end = end
        self.state = state
        self.offset = offset
        self.size = size
        self.options = options
    }

    /// Bytes that the server has acknowledged. For S3 these are parts, in any order.
    package var acknowledged: ByteRanges {
        if state.dialect == .s3, state.address != nil { return parts.acknowledged }
        return ByteRanges(0..<offset)
    }

    /// - Parameter head: The final one; `nil` = none came.
    package mutating func judge(_ head: ResponseHead?) -> UploadVerdict {
        if state.dialect == .remoteFile { return judgeRemoteFile(head) }
        guard let head else { return broke() }
        if let verdict = answeredEarly(head) { return verdict }
        if state.dialect == .s3, exchange.purpose != .whole { return judgeS3(head) }
        readLimit(head.headers)
        switch exchange.purpose {
        case .discover: return discovered(head)
        case .whole: return sentWhole(head)
        case .create: return created(head)
        case .ask: return answered(head)
        case .append: return appended(head)
        case .abort, .complete, .list: return .done
        }
    }

    /// An interim answer of the draft's own: the upload has a resource from now on.
    package mutating func interim(_ head: ResponseHead) {
        guard let version = state.dialect?.interopVersion else { return }
        let named = head.headers.single("Upload-Draft-Interop-Version").flatMap { Int($0) }
        if let named, named != version { return }
        readLimit(head.headers)
        if state.address == nil, let location = head.headers["Location"],
            let address = UploadAddress.resolve(location, at: head.effectiveURL)
        {
            state.address = address
            state.isGuess = false
            learned = .some(state.dialect)
        }
        guard state.address != nil, let told = head.headers.uploadOffset, told > offset,
            told <= state.sentBound
        else { return }
        offset = told
    }

    // MARK: - Answers

    private mutating func discovered(_ head: ResponseHead) -> UploadVerdict {
        let way = options.uploadProtocol
        let found = UploadDiscovery(head, to: state.draftToAsk ?? .ietf9, by: way)
        if let failure = state.adopt(found, size, by: way, head) { return .failed(failure) }
        if let dialect = found.dialect { learned = .some(dialect) }
        return .goOn
    }

    private mutating func sentWhole(_ head: ResponseHead) -> UploadVerdict {
        if let verdict = forgotten(head) ?? olderVersion(head) { return verdict }
        if head.status == 409 || head.status == 404, state.address != nil {
            return other(head)
        }
        guard head.isSuccess || exchange.hasResultElsewhere(head) else { return refused(head) }
        if isOfPart(head) {
            noteAddress(head)
            guard state.address != nil else { return .failed(UploadFailure.nowhere(head)) }
            state.mustAsk = true
            return .goOn
        }
        if state.isGuess {
            let speaks = head.headers.contains("Upload-Complete")
            if speaks || !state.isRemembered { learned = .some(speaks ? state.dialect : .plain) }
        }
        offset = size
        return .done
    }

    /// The server takes the file for a part of itself: the rest, if any, goes to the resource.
    private func isOfPart(_ head: ResponseHead) -> Bool {
        state.dialect?.interopVersion != nil && state.dialect != .ietf6 && head.isIncomplete
    }

    mutating func noteAddress(_ head: ResponseHead) {
        guard isOfPart(head) else { return }
        if state.address == nil, let location = head.headers["Location"] {
            state.address = UploadAddress.resolve(location, at: head.effectiveURL)
        }
        if state.address != nil { state.isGuess = false }
    }

    private mutating func created(_ head: ResponseHead) -> UploadVerdict {
        if let verdict = forgotten(head) ?? olderVersion(head) { return verdict }
        guard head.isSuccess else { return refused(head) }
        guard let location = head.headers["Location"],
            let address = UploadAddress.resolve(location, at: head.effectiveURL)
        else { return forgotten() ?? .failed(UploadFailure.nowhere(head)) }
        state.address = address
        state.isGuess = false
        state.mustAsk = false
        state.sentBound = sent.through
        offset = 0
        if let dialect = state.dialect { learned = .some(dialect) }
        if !exchange.range.isEmpty { return createdWithBytes(head) }
        // An empty file is complete with its resource.
        return size == 0 && state.dialect == .tus ? .done : .goOn
    }

    private mutating func createdWithBytes(_ head: ResponseHead) -> UploadVerdict {
        guard let told = head.headers.uploadOffset else {
            state.mustAsk = true
            return .goOn
        }
        guard told <= sent.through else { return beyond(told) }
        offset = told
        return told == size ? .done : .goOn
    }

    private mutating func answered(_ head: ResponseHead) -> UploadVerdict {
        guard head.isSuccess else { return other(head) }
        guard let told = head.headers.uploadOffset else {
            return .failed(UploadFailure.noOffset)
        }
        guard told <= state.sentBound, told <= size else { return beyond(told) }
        state.mustAsk = false
        offset = told
        // Version 6 and tus have no other word for it; from 8 on an empty request may have to say
        // that these were all bytes.
        switch state.dialect {
        case .tus: return told == size ? .done : .goOn
        case .ietf6 where told == size && !head.isIncomplete: return .done
        default: return head.isComplete && told == size ? .done : .goOn
        }
    }

    private mutating func appended(_ head: ResponseHead) -> UploadVerdict {
        guard head.isSuccess else { return other(head) }
        if state.dialect == .tus {
            let told = head.headers.uploadOffset ?? exchange.range.upperBound
            guard told <= exchange.range.upperBound else { return beyond(told) }
            offset = told
            return told == size ? .done : .goOn
        }
        if exchange.completes {
            if state.dialect != .ietf6, head.isIncomplete {
                state.mustAsk = true
                return .goOn
            }
            offset = size
            return .done
        }
        let told = head.headers.uploadOffset ?? exchange.range.upperBound
        guard told <= exchange.range.upperBound else { return beyond(told) }
        offset = told
        return .goOn
    }

    // MARK: - Refusals

    private mutating func other(_ head: ResponseHead) -> UploadVerdict {
        switch head.status {
        case 404, 410: return gone("the server does not know the upload any more")
        case 403 where state.dialect == .tus && exchange.purpose == .ask:
            return gone("the server does not know the upload any more")
        case 409, 423:
            state.mustAsk = true
            let isOfOffset = head.status == 409 && exchange.purpose != .ask
            return .conflict(
                isOfOffset ? UploadFailure.otherOffset(head) : FailureTable.classify(upload: head))
        case 413 where (state.appendLimit ?? .max) < Int64(exchange.range.count):
            state.mustAsk = true
            return .conflict(FailureTable.classify(upload: head))
        default:
            noteBreak()
            return refused(head)
        }
    }

    mutating func refused(_ head: ResponseHead) -> UploadVerdict {
        state.mayHaveArrived = false
        if head.status == 413, let limit = state.appendLimit, limit < Int64(exchange.range.count),
            state.address == nil, state.dialect?.interopVersion != nil
        {
            // The server takes no body of this size: the file is sent in pieces.
            state.isGuess = false
            return .goOn
        }
        if state.dialect == .s3, let failure = ReceivedDigest.refusal(head, end.answer) {
            return .failed(failure)
        }
        let failure = failure(of: head)
        // The result of the discovery may be as wrong as the answer: a later attempt asks anew.
        if state.address == nil, options.uploadProtocol == .auto, failure.kind != .transient {
            state.dialect = nil
            state.isGuess = false
            state.isRemembered = false
        }
        return .failed(failure)
    }

    /// Meaning of the answer that refuses a request.
    func failure(of head: ResponseHead) -> Failure {
        let usual = FailureTable.classify(upload: head)
        guard state.dialect == .s3, head.status != 404 else { return usual }
        if S3Answer.tellsOfOldKeys(end.answer) { return UploadFailure.oldKeys(head) }
        if usual.kind != .transient, S3Answer.isPassing(end.answer) {
            return UploadFailure.passing(head)
        }
        if let region = S3Answer.otherRegion(head, end.answer, than: options.region) {
            return UploadFailure.otherRegion(head, region)
        }
        return usual
    }

    /// The server has bytes that were never sent: the resource is not ours, or not sound.
    private mutating func beyond(_ told: Int64) -> UploadVerdict {
        gone("the server claims \(told) bytes, which were never sent")
    }

    mutating func gone(_ reason: String) -> UploadVerdict {
        lost = reason
        let source = state.source
        let (dialect, limit) = (state.dialect, state.appendLimit)
        state = UploadState()
        state.dialect = dialect
        state.appendLimit = limit
        state.source = source
        offset = 0
        return .conflict(Failure(.transient, LonghaulError(.serverError, reason)))
    }

    /// The origin's protocol at other URLs may not be spoken at this one: the upload begins as if
    /// nothing were known of the origin.
    private mutating func forgotten(_ head: ResponseHead) -> UploadVerdict? {
        [400, 404, 405, 412, 415, 501].contains(head.status) ? forgotten() : nil
    }

    private mutating func forgotten() -> UploadVerdict? {
        guard state.isRemembered, state.address == nil else { return nil }
        let source = state.source
        state = UploadState()
        state.source = source
        state.mustDiscover = true
        learned = .some(nil)
        return .goOn
    }

    /// A server that does not know this version of the draft, or no such draft.
    private mutating func olderVersion(_ head: ResponseHead) -> UploadVerdict? {
        guard head.status == 400 || head.status == 412 || head.status == 501,
            state.address == nil, let dialect = state.dialect, dialect.interopVersion != nil
        else { return nil }
        let named = head.headers.single("Upload-Draft-Interop-Version").flatMap { Int($0) }
            .flatMap(UploadDialect.init(interopVersion:))
        state.mayHaveArrived = false
        if let named, named != dialect, (named.interopVersion ?? 0) < dialect.interopVersion ?? 0 {
            state.dialect = named
        } else if !state.isGuess {
            // Another version might be taken for a plain request without a byte.
            return nil
        } else if let older = dialect.older {
            state.dialect = older
        } else {
            state.dialect = .plain
            if !state.isRemembered { learned = .some(.plain) }
        }
        return .goOn
    }

    private mutating func readLimit(_ headers: HeaderFields) {
        guard let limit = headers.uploadLimit("max-append-size"), limit > 0 else { return }
        state.appendLimit = limit
    }
}

extension ResponseHead {
    package var isSuccess: Bool { (200...299).contains(status) }
    fileprivate var isComplete: Bool { headers.single("Upload-Complete") == "?1" }
    fileprivate var isIncomplete: Bool { headers.single("Upload-Complete") == "?0" }
}

extension HeaderFields {
    fileprivate var uploadOffset: Int64? {
        single("Upload-Offset").flatMap { Int64($0) }.flatMap { $0 >= 0 ? $0 : nil }
    }
}

extension FailureTable {
    /// Classifies an answer that refuses an upload.
    package static func classify(upload head: ResponseHead) -> Failure {
        var failure = classify(
            status: head.status, retryAfter: head.headers.retryAfter(now: head.receivedAt))
        let status = head.status
        switch status {
        case 303:
            failure.error.message =
                "the server redirects (303) without having taken the file; check the URL and the "
                + "credentials"
        case 403:
            failure.error.message =
                "the server refuses the upload (403); check the URL and the credentials, then "
                + "`resume`"
        case 404, 410:
            failure.error.message = "the server has no such place (\(status)); check the URL"
        case 405, 501:
            failure.error.message =
                "the server does not take this method there (\(status)); check the URL, --method "
                + "and --protocol"
            failure = Failure(.permanent, failure.error)
        case 409:
            failure.error.message =
                "the server refuses the upload for what it has there (409); check the URL"
        case 413:
            failure.error.code = .tooLarge
            failure.error.message = "the file is larger than the server takes (413)"
        case 423:
            failure = Failure(
                .transient, LonghaulError(.serverError, "the upload is in use at the server (423)"))
            failure.error.httpStatus = status
        case 507:
            failure.error.message = "the server has no room for the file (507)"
        default: break
        }
        return failure
    }
}
