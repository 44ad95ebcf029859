/// An upload whose bytes go to a resource at the server that tells how many it has: tus and the
/// draft of the IETF.
protocol ResumableUpload: UploadConversation {
    associatedtype Kept: KeptResource
    var kept: Kept { get set }
    /// Header fields of each request.
    var fields: HeaderFields { get }
    /// Most bytes of one request where neither the user nor the server has a bound.
    var pieceUsual: Int64? { get }
    /// How the origin is remembered.
    var spoken: SpokenUploads { get }
    /// The request before there is a resource.
    func first() -> UploadExchange
    /// The server, which has told all bytes, has said that the upload is complete.
    func isComplete(_ head: ResponseHead) -> Bool
}

/// The kept state of the resource.
protocol KeptResource: KeptProgress {
    var address: String? { get set }
    var sentBound: Int64 { get set }
    var mustAsk: Bool { get set }
    /// Most bytes that the server takes in one request, as it tells.
    var appendLimit: Int64? { get set }
    /// The same, as refusals (413) have shown: a proxy does not tell its limit.
    var pieceLimit: Int64? { get set }
}

/// Bytes of a piece at most after the first refusal for its length: limits of proxies are seldom
/// higher.
private let pieceFirstBytes: Int64 = 64 << 20

// MARK: - Requests

extension ResumableUpload {
    /// Most bytes of the file in one request; `nil` = no matter how many.
    var pieceMost: Int64? {
        [kept.appendLimit, kept.pieceLimit, job.options.partSize ?? pieceUsual]
            .compactMap { $0 }.min()
    }

    var pieceUsual: Int64? { nil }

    func nextRequest() -> UploadExchange {
        guard let address = kept.address else { return first() }
        return kept.mustAsk ? exchange(.ask, "HEAD", at: address) : append(at: address)
    }

    private func append(at address: String) -> UploadExchange {
        let offset = standing.offset
        assert(offset <= size, "the server has no more than there is")
        let end = min(size, offset.addingClamped(pieceMost ?? .max))
        var exchange = exchange(.append, "PATCH", at: address)
        exchange.range = offset..<end
        exchange.completes = end == size && !job.isGrowing
        exchange.body.content = UploadBody.Content(file: exchange.range, pinned: job.pinned)
        exchange.headers["Upload-Offset"] = "\(offset)"
        return exchange
    }

    /// The server has all bytes of a file that may get more.
    var waitsForBytes: Bool {
        job.isGrowing && kept.address != nil && !kept.mustAsk && standing.offset >= size
    }

    func exchange(
        _ purpose: UploadExchange.Purpose, _ method: String, at address: String
    ) -> UploadExchange {
        let url = UploadAddress.withUser(of: job.request.url, address)
        return UploadExchange(purpose, method, url, headers: fields)
    }

    mutating func bytesBegin(_ exchange: UploadExchange) {
        kept.sentBound = max(kept.sentBound, exchange.range.upperBound)
    }

    mutating func askAgain() {
        if kept.address != nil { kept.mustAsk = true }
    }
}

// MARK: - Answers

extension ResumableUpload {
    mutating func readLimit(_ headers: HeaderFields) {
        kept.appendLimit = headers.appendLimit ?? kept.appendLimit
    }

    /// - Returns: True if the answer names a resource; the caller handles the server's offset.
    mutating func created(_ ended: EndedExchange, _ head: ResponseHead) -> Bool {
        guard let location = head.headers["Location"],
            let address = UploadAddress.resolve(location, at: head.effectiveURL)
        else { return false }
        kept.address = address
        kept.mustAsk = false
        kept.sentBound = ended.through
        standing.offset = 0
        standing.learned = spoken
        return true
    }

    mutating func answered(_ ended: EndedExchange, _ head: ResponseHead) -> UploadVerdict {
        guard head.isSuccess else { return refusedAtResource(ended, head) }
        guard let told = head.headers.uploadOffset else {
            return .failed(UploadFailure.noOffset)
        }
        guard told <= kept.sentBound, told <= size else { return beyond(told) }
        kept.mustAsk = false
        standing.offset = told
        return told == size && !job.isGrowing && isComplete(head) ? .done : .goOn
    }

    /// The offset that the server has after bytes were appended; without one it has all of them.
    mutating func appended(_ ended: EndedExchange, _ head: ResponseHead) -> UploadVerdict {
        guard head.isSuccess else { return refusedAtResource(ended, head) }
        let end = ended.exchange.range.upperBound
        let told = head.headers.uploadOffset ?? end
        guard told <= end else { return beyond(told) }
        standing.offset = told
        return told == size && ended.exchange.completes ? .done : .goOn
    }

    /// The server has bytes that were never sent: the resource is not ours, or not sound.
    mutating func beyond(_ told: Int64) -> UploadVerdict {
        beginAnew("the server claims \(told) bytes, which were never sent")
    }

    private mutating func refusedAtResource(
        _ ended: EndedExchange, _ head: ResponseHead
    ) -> UploadVerdict {
        let exchange = ended.exchange
        let isTooLong = (kept.appendLimit ?? .max) < Int64(exchange.range.count)
        switch head.status {
        case 404, 410: return isUnknownAtServer()
        case 409 where exchange.purpose != .ask:
            kept.mustAsk = true
            return .conflict(UploadFailure.otherOffset(head))
        case 409, 423:
            kept.mustAsk = true
            return .conflict(FailureTable.classify(upload: head))
        case 413 where isTooLong:
            kept.mustAsk = true
            return .conflict(FailureTable.classify(upload: head))
        // The offset stays: a request that is refused for its length has not brought a byte.
        case 413 where shortenPiece(after: ended): return .goOn
        default:
            noteBreak(ended)
            return refused(head)
        }
    }

    /// The request was refused for its length. Returns whether a shorter one may do.
    mutating func shortenPiece(after ended: EndedExchange) -> Bool {
        let length = Int64(ended.exchange.range.count)
        let least = Limits.uploadPieceBytes.lowerBound
        if length <= least { return false }
        kept.pieceLimit = max(least, min(length / 2, pieceFirstBytes))
        return true
    }

    // MARK: - Breaks

    /// No final answer came, or one that cannot be true.
    mutating func broke(_ ended: EndedExchange, by failure: Failure) -> UploadVerdict {
        noteBreak(ended)
        guard ended.exchange.purpose == .append else { return .failed(failure) }
        return askAfter(failure, ended)
    }

    /// The server is asked for its offset if it may have new bytes.
    func askAfter(_ failure: Failure, _ ended: EndedExchange) -> UploadVerdict {
        failure.kind == .transient && ended.end.bytesSent > 0
            ? .askAfter(failure) : .failed(failure)
    }

    private mutating func noteBreak(_ ended: EndedExchange) {
        guard ended.exchange.purpose == .append else { return }
        kept.sentBound = ended.bound(from: standing.offset)
        kept.mustAsk = true
    }
}

extension HeaderFields {
    var uploadOffset: Int64? {
        single("Upload-Offset").flatMap { Int64($0) }.flatMap { $0 >= 0 ? $0 : nil }
    }
}
