/// An upload by tus 1.0.0.
package struct TusUpload: ResumableUpload {
    package struct Kept: KeptResource {
        package var address: String?
        package var sentBound: Int64 = 0
        package var mustAsk = false
        var appendLimit: Int64?
        var pieceLimit: Int64?
        /// A creation may carry bytes (extension `creation-with-upload`).
        var takesBytesAtCreation = false
        /// The server compares pieces with their digests (extension `checksum`); `nil` = it does
        /// not.
        var checksum: Checksum.Algorithm?
        /// Uploads can be deleted (extension `termination`); `nil` = not asked.
        var terminates: Bool?
        /// The server does not know the length yet (extension `creation-defer-length`); `nil` = it
        /// does.
        var isDeferred: Bool?

        package init(
            at address: String? = nil, sentBound: Int64 = 0, mustAsk: Bool = false,
            appendLimit: Int64? = nil
        ) {
            self.address = address
            self.sentBound = sentBound
            self.mustAsk = mustAsk
            self.appendLimit = appendLimit
        }

        init(_ offer: TusOffer, appendLimit: Int64?) {
            self.appendLimit = appendLimit
            takesBytesAtCreation = offer.extensions.contains("creation-with-upload")
            checksum = offer.checksum
            terminates = offer.extensions.contains("termination")
        }
    }

    /// The protocol at a URL that is known to speak tus; `nil` = the server is to be asked.
    static func start(known: SpokenUploads?) -> UploadProgress? {
        guard let known, known.isTus else { return nil }
        var kept = Kept()
        // Each server that has the extension supports SHA-1 (tus 1.0.0, Checksum).
        if known == .tusWithChecksum { kept.checksum = .sha1 }
        return .tus(kept)
    }

    package var standing: UploadStanding
    var kept: Kept

    init(standing: UploadStanding, kept: Kept) {
        self.standing = standing
        self.kept = kept
    }

    package var progress: UploadProgress { .tus(kept) }
    var spoken: SpokenUploads { kept.checksum == nil ? .tus : .tusWithChecksum }

    var fields: HeaderFields {
        var fields = HeaderFields()
        fields["Tus-Resumable"] = "1.0.0"
        return fields
    }

    // MARK: - Requests

    package func next() -> UploadExchange? {
        if waitsForBytes { return nil }
        let isTold = kept.isDeferred != true
        if kept.address != nil, !kept.mustAsk, standing.offset >= size, isTold { return nil }
        var exchange = nextRequest()
        if exchange.purpose == .append {
            exchange.headers["Content-Type"] = TusUpload.bytesType
            // A file that grows is not read twice.
            let isUntold = exchange.range.isEmpty || job.isFollowed
            exchange.digest = isUntold ? nil : kept.checksum
            if exchange.completes, !isTold { exchange.headers["Upload-Length"] = "\(size)" }
        }
        return exchange
    }

    /// Piece length: the bytes to send again after a damaged one.
    var pieceUsual: Int64? { kept.checksum == nil ? nil : TusUpload.pieceUsualBytes }

    /// Bytes of a piece that is sent with its digest, unless a user or the server says otherwise.
    private static let pieceUsualBytes: Int64 = 16 << 20

    /// The length follows with the last bytes (tus 1.0.0, Creation).
    private static let deferral = "Upload-Defer-Length"
    private static let bytesType = "application/offset+octet-stream"

    /// The creation carries the file (tus 1.0.0, Creation With Upload). If its answer is lost, the
    /// server has a whole file that nothing names, and it is sent again: so only where that may be.
    private var isCreatedWhole: Bool {
        kept.takesBytesAtCreation && kept.checksum == nil && job.options.isRepeatable
            && !job.isGrowing
            && (1...min(pieceMost ?? .max, Limits.uploadAtOnceBytes)).contains(size)
    }

    func first() -> UploadExchange {
        var exchange = UploadExchange(.create, "POST", job.request.url, headers: fields)
        exchange.body.content = UploadBody.Content()
        if isCreatedWhole {
            exchange.range = 0..<size
            exchange.completes = true
            exchange.body.content = UploadBody.Content(file: exchange.range, pinned: job.source)
            exchange.body.mayRepeat = true
            exchange.headers["Content-Type"] = TusUpload.bytesType
        }
        if job.isGrowing {
            exchange.headers[TusUpload.deferral] = "1"
        } else {
            exchange.headers["Upload-Length"] = "\(size)"
        }
        if !job.request.options.headers.contains("Upload-Metadata") {
            // tuspyserver tells no offset of an upload without a type.
            exchange.headers["Upload-Metadata"] =
                "filename \(Base64.encode(Array(job.request.sourceName.utf8))),"
                + "filetype \(Base64.encode(Array(job.mediaType.utf8)))"
        }
        return exchange
    }

    package mutating func begins(_ exchange: UploadExchange) { bytesBegin(exchange) }
    package mutating func reopens() { askAgain() }

    /// A server is asked before whether it deletes uploads.
    package func abort() -> UploadExchange? {
        guard let address = kept.address else { return nil }
        return switch kept.terminates {
        case nil: UploadDiscovery.question(job)
        case true?: exchange(.abort, "DELETE", at: address)
        case false?: nil
        }
    }

    // MARK: - Ends

    package mutating func judge(_ ended: EndedExchange) -> UploadVerdict {
        switch ended.kind {
        case .broken(let failure): return broke(ended, by: failure)
        case .early(let head):
            return broke(ended, by: UploadFailure.early(head, isCarriedOut: false))
        case .answered(let head):
            readLimit(head.headers)
            switch ended.exchange.purpose {
            case .create: return createdResource(ended, head)
            // Servers answer so for an upload that they do not know (tus 1.0.0, HEAD).
            case .ask where head.status == 403: return isUnknownAtServer()
            case .ask:
                if head.headers.contains("Upload-Length") { kept.isDeferred = nil }
                return answered(ended, head)
            // "Checksum Mismatch" (tus 1.0.0, Checksum).
            case .append where head.status == 460:
                // The server has dropped the piece. It is sent again with the next attempt.
                kept.mustAsk = true
                return .failed(UploadFailure.damaged(head))
            case .append:
                if head.isSuccess, ended.exchange.completes { kept.isDeferred = nil }
                return appended(ended, head)
            case .discover, .whole, .list, .complete, .abort, .makeDirectory: return .done
            }
        }
    }

    func isComplete(_ head: ResponseHead) -> Bool { kept.isDeferred != true }

    private mutating func createdResource(
        _ ended: EndedExchange, _ head: ResponseHead
    ) -> UploadVerdict {
        if head.status == 413, shortenPiece(after: ended) { return .goOn }
        guard head.isSuccess else { return refused(head) }
        guard created(ended, head) else { return .failed(UploadFailure.nowhere(head)) }
        // An empty file is complete with its resource.
        kept.isDeferred = ended.exchange.headers.contains(TusUpload.deferral) ? true : nil
        if ended.exchange.range.isEmpty {
            return size == 0 && kept.isDeferred == nil ? .done : .goOn
        }
        guard let told = head.headers.uploadOffset else {
            kept.mustAsk = true
            return .goOn
        }
        guard told <= ended.through else { return beyond(told) }
        standing.offset = told
        return told == size ? .done : .goOn
    }

    package mutating func forgetResource() {
        let old = kept
        kept = Kept(appendLimit: old.appendLimit)
        kept.pieceLimit = old.pieceLimit
        kept.checksum = old.checksum
        kept.terminates = old.terminates
    }
}

extension UploadExchange {
    /// The request with the digest of its bytes (tus 1.0.0, Checksum).
    package func told(_ digest: Checksum) -> UploadExchange {
        var exchange = self
        exchange.digest = nil
        exchange.headers["Upload-Checksum"] =
            "\(digest.algorithm.rawValue) \(Base64.encode(Hex.bytes(digest.hex) ?? []))"
        return exchange
    }
}
