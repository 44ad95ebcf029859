/// An upload in one protocol: chooses the next request, and judges the end of a request. A value;
/// pure.
package protocol UploadConversation: Sendable {
    var standing: UploadStanding { get set }
    /// The kept state in the fetch's row.
    var progress: UploadProgress { get }
    /// Bytes that the server has acknowledged.
    var acknowledged: ByteRanges { get }
    /// The next request when none is out; `nil` = the server has everything and has said so.
    func next() -> UploadExchange?
    /// The next request beside those under way; `nil` = one of them has to end first.
    func next(beside others: [UploadExchange]) -> UploadExchange?
    /// Deletes the resource from the server, or asks whether that can be done; `nil` = it cannot,
    /// or there is no resource.
    func abort() -> UploadExchange?
    /// The request is about to be sent: records the facts that are needed after a crash.
    mutating func begins(_ exchange: UploadExchange)
    /// Bytes under way when the last run ended may have arrived since.
    mutating func reopens()
    /// An answer before the final one (1xx).
    mutating func interim(_ head: ResponseHead)
    mutating func judge(_ ended: EndedExchange) -> UploadVerdict
    /// The resource is gone: the upload continues as if it had never existed.
    mutating func forgetResource()
}

/// The common state of all conversations: the file, how much of it the server has, and the results
/// of a request's end.
package struct UploadStanding: Sendable {
    package let job: UploadJob
    /// Offset that the server has acknowledged, from the first byte on.
    package internal(set) var offset: Int64
    /// See ``UploadState/mayHaveArrived``.
    package internal(set) var mayHaveArrived: Bool
    /// Lesson about the origin.
    package internal(set) var learned: SpokenUploads??
    /// The resource is gone, or cannot be believed: the bytes sent are lost for this reason.
    package internal(set) var lost: String?
    /// The bytes sent are still at the server, and are to be deleted there.
    package internal(set) var isLeftBehind = false
    /// The state of another protocol that continues.
    var successor: UploadProgress?

    init(job: UploadJob, offset: Int64, mayHaveArrived: Bool) {
        self.job = job
        self.offset = offset
        self.mayHaveArrived = mayHaveArrived
    }
}

/// The file of an upload, and where it goes.
package struct UploadJob: Sendable {
    let request: TransferRequest
    let options: UploadOptions
    let source: SourceVersion
    let transfer: TransferID
    /// Present part of the file's life, see ``UploadState/isGrowing``.
    private let growth: Bool?

    /// `nil` = the request is no upload, or the version of its file is unknown.
    package init?(_ request: TransferRequest, _ state: UploadState, _ transfer: TransferID) {
        guard let options = request.options.upload, let source = state.source ?? options.source
        else { return nil }
        self.request = request
        self.options = options
        self.source = source
        self.transfer = transfer
        growth = state.isGrowing
    }

    /// The bytes that the file has. It is not known how many it will have while ``isGrowing``.
    package var size: Int64 { source.size }
    package var isGrowing: Bool { growth == true }
    /// The file is followed, or was.
    var isFollowed: Bool { growth != nil }
    /// The version that is read; `nil` = the file changes while it is read.
    var pinned: SourceVersion? { isGrowing ? nil : source }
}

extension UploadConversation {
    var job: UploadJob { standing.job }
    var size: Int64 { standing.job.size }

    package var acknowledged: ByteRanges { ByteRanges(0..<standing.offset) }

    package func next(beside others: [UploadExchange]) -> UploadExchange? {
        others.isEmpty ? next() : nil
    }

    package func abort() -> UploadExchange? { nil }
    package mutating func begins(_ exchange: UploadExchange) {}
    package mutating func reopens() {}
    package mutating func interim(_ head: ResponseHead) {}

    /// Judges the end of a request, with the server's words if the server refuses it. An upload
    /// that would be done fails if the server has other bytes than expected: they are lost, and a
    /// later attempt restarts.
    package mutating func verdict(
        on ended: EndedExchange, expecting expected: Checksum?
    ) -> UploadVerdict {
        let verdict = judge(ended)
        if verdict == .done, let expected, let failure = ended.mismatch(with: expected) {
            _ = beginAnew("the server has other bytes than those expected")
            return UploadVerdict.failed(failure).quoting(ended)
        }
        return verdict.quoting(ended)
    }
}

// MARK: - Turns of a conversation

extension UploadConversation {
    /// The bytes sent are lost.
    mutating func beginAnew(_ reason: String) -> UploadVerdict {
        standing.lost = reason
        standing.mayHaveArrived = false
        standing.offset = 0
        forgetResource()
        return .conflict(Failure(.transient, LonghaulError(.serverError, reason)))
    }

    mutating func isUnknownAtServer() -> UploadVerdict {
        beginAnew("the server does not know the upload any more")
    }

    /// The origin's protocol at other URLs is not spoken at this one: the upload begins as if
    /// nothing were known of the origin.
    mutating func discoverAnew() -> UploadVerdict {
        standing.mayHaveArrived = false
        standing.learned = .some(nil)
        standing.successor = .discovery(UploadDiscovery.Kept(mustDiscover: true))
        return .goOn
    }

    mutating func refused(_ head: ResponseHead) -> UploadVerdict {
        let failure = FailureTable.classify(upload: head)
        standing.mayHaveArrived = false
        // The result of the discovery may be as wrong as the answer: a later attempt asks again.
        let isDiscovered = job.options.uploadProtocol == .auto && progress.kept.address == nil
        if isDiscovered, failure.kind != .transient {
            standing.successor = .discovery(UploadDiscovery.Kept())
        }
        return .failed(failure)
    }

    // MARK: - A whole file

    /// No final answer came to a request that carries the whole file.
    ///
    /// - Parameter isPlain: See ``EndedExchange/mayHaveArrived(isPlain:)``.
    mutating func wholeBroke(
        _ ended: EndedExchange, by failure: Failure, isPlain: Bool
    ) -> UploadVerdict {
        standing.mayHaveArrived = ended.mayHaveArrived(isPlain: isPlain)
        let isForbidden = standing.mayHaveArrived && !ended.exchange.body.mayRepeat
        return .failed(isForbidden ? UploadFailure.unknownEnd(failure) : failure)
    }

    /// A success came before the whole file was out: a plain server may have carried out the
    /// request all the same. `nil` = the request is repeated like any that broke off.
    mutating func wholeAnsweredEarly(
        _ ended: EndedExchange, _ head: ResponseHead, isPlain: Bool
    ) -> UploadVerdict? {
        if !isPlain || ended.exchange.body.mayRepeat { return nil }
        standing.mayHaveArrived = true
        return .failed(UploadFailure.early(head, isCarriedOut: true))
    }
}
