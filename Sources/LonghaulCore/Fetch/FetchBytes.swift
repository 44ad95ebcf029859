/// The bytes of a fetch, and what is recorded of them.
///
/// Invariants: `have` holds only bytes of the representation that `state.validator` pins;
/// `state.durable` is a part of `have`.
package struct FetchBytes: Sendable {
    package internal(set) var state: FetchState
    /// Bytes in the part file: durable, or written in this boot.
    package internal(set) var have: ByteRanges
    /// A 206 came: the origin honours ranges for this version.
    var rangesProven = false
    /// The server has not said yet that these are all bytes: see ``ResponseHead/bodyEnd(length:)``.
    var isLengthAdvice = false
    var checkpoints = Checkpoints()
    /// Bytes of a file of another program that are held and not proven yet; none is recorded.
    private(set) var adopted: Int64?

    init(_ state: FetchState) {
        self.state = state
        have = state.durable
    }

    /// Every byte is there.
    var isWhole: Bool {
        guard let total = state.bytesTotal, !isLengthAdvice else { return false }
        return have.contains(0..<total)
    }

    var totals: TransferTotals { TransferTotals(state, bytesDone: have.count) }

    /// The first gap: `end` is nil while the length is unknown, or the gap runs to it.
    var firstGap: (start: Int64, end: Int64?) {
        guard let total = state.bytesTotal, let gap = have.gaps(upTo: total).first
        else { return (have.prefix, nil) }
        return (gap.lowerBound, gap.upperBound == total ? nil : gap.upperBound)
    }

    /// Where the bytes begin that a program needs next which reads from `position` on; `nil` = all
    /// from there on are held, the length is unknown, or no program reads.
    func nextMissing(from position: Int64?) -> (start: Int64, end: Int64?)? {
        guard let position, let total = state.bytesTotal,
            let gap = have.gaps(upTo: total).first(where: { $0.upperBound > position })
        else { return nil }
        assert(gap.upperBound <= total, "a gap lies in the file")
        let end = gap.upperBound == total ? nil : gap.upperBound
        return (max(gap.lowerBound, position), end)
    }

    // MARK: - The part file

    /// - Parameters:
    ///   - lost: Why a new and empty file was made, if it was.
    ///   - size: Of a file that was there; `nil` = not looked at.
    mutating func opened(
        _ identity: FileIdentity, path: String, lost: RestartReason?, size: Int64?,
        of transfer: TransferID, _ step: inout FetchStep
    ) {
        if let size { cutOff(at: size, of: transfer, &step) }
        let isAnother = lost != nil && state.partIdentity != nil
        if let lost, isAnother { void(lost, of: transfer, &step) }
        let isRenumbered = lost == nil && state.partIdentity.map { $0 != identity } ?? false
        state.partIdentity = identity
        state.partPath = path
        state.publication = nil
        if isRenumbered { doubt(of: transfer, &step) }
        // The new file may have the number of the one that is gone: bytes held there become void in
        // the store, too, before a byte is written.
        if isAnother { step.writes.append(.save(state)) }
        // A version of which there is no byte: the next answer may be of another, and until that is
        // recorded nothing on the board may be taken for this one.
        if have.isEmpty, state.validator != nil, !isWhole {
            forgetVersion()
            step.writes.append(.save(state))
        }
    }

    /// An empty part file is made again when it is needed. What failed its digest stays for its
    /// owner to look at, and a file without a byte may have its name already.
    var isPartOfUse: Bool {
        !have.isEmpty || !state.durable.isEmpty || state.isPartMovedAside
            || state.publication != nil
    }

    // MARK: - Given up

    /// Gives up all that is held. The caller sees to it that this is committed before a byte is
    /// overwritten.
    mutating func void(_ reason: RestartReason, of transfer: TransferID, _ step: inout FetchStep) {
        let lost = have.count
        if reason == .digestDiffers { state.isDigestRefuted = true }
        forgetAll()
        checkpoints.void(&step)
        rangesProven = false
        if lost > 0 {
            state.restarts += 1
            step.writes.append(.restarted(transfer, reason: reason.description, bytesLost: lost))
        }
        step.durable = true
    }

    /// Under a new generation, so that what the board says of them is void too.
    mutating func forgetAll() {
        state.generation += 1
        state.durable = ByteRanges()
        state.publication = nil
        have = ByteRanges()
        adopted = nil
        forgetVersion()
    }

    mutating func forgetVersion() {
        state.validator = nil
        state.bytesTotal = nil
    }

    /// Back to what is durable.
    mutating func distrust() {
        have = state.durable
    }

    /// The file system gives files other numbers after each mount, and only its name says that the
    /// file is ours. Before anything is put to what it holds, the end of that is compared with what
    /// comes, as after an answer that brought nothing; of a whole file, too.
    mutating func doubt(of transfer: TransferID, _ step: inout FetchStep) {
        let end = min(have.prefix, (state.bytesTotal ?? .max) - Limits.overlapBytes)
        if end > 0 {
            state.generation += 1
            have = ByteRanges(0..<end)
            state.durable = have
            state.emptyAnswers = max(1, state.emptyAnswers)
            step.durable = true
        } else {
            void(.partFileReplaced, of: transfer, &step)
        }
        step.writes.append(.save(state))
    }

    /// Never more is held than the file has: a shorter one was cut off, maybe by a file system
    /// check, and would be filled up with zeros. What is behind is fetched again.
    mutating func cutOff(at size: Int64, of transfer: TransferID, _ step: inout FetchStep) {
        let kept = have.upTo(size)
        if kept == have { return }
        if kept.isEmpty {
            void(.partFileShorter, of: transfer, &step)
        } else {
            state.durable = state.durable.upTo(size)
            have = kept
        }
        step.writes.append(.save(state))
        step.durable = true
    }

    // MARK: - The version

    /// The first answer of a representation says what the file is.
    mutating func pin(
        _ validator: Validator, _ head: ResponseHead, for request: TransferRequest, at url: String
    ) {
        state.response = nil
        keep(head, for: request)
        state.validator = validator
        noteSource(url, of: request)
        state.bytesTotal = validator.length
        state.askedURL = request.url
        state.effectiveURL = head.effectiveURL
        state.contentCoding = head.headers.contentCoding
        // Even if this transfer does not ask for it: another that shares the fetch may.
        state.proposedName =
            head.headers["Content-Disposition"].flatMap(ContentDisposition.fileName)
            .flatMap(FileNaming.sanitised)
            ?? FileNaming.name(redirectedTo: head.effectiveURL, from: url)
    }

    /// The first answer of a representation says what it is; those that bring the rest add nothing.
    mutating func keep(_ head: ResponseHead, for request: TransferRequest) {
        guard request.options.keepsResponse, state.response == nil else { return }
        state.response = TransferResponse(head, length: state.bytesTotal)
    }

    /// Learns from the answer about the version that the answer was proven to be of. The length is
    /// learnt if the first answer told none: a part of a file of another length is of another
    /// version. The name at a new source is learnt: a later answer under another name is of another
    /// version, too.
    ///
    /// Call this once the bytes held have been compared with the answer's: until then the answer
    /// may be of another version, and a shorter length would make a whole file of the bytes held.
    mutating func learnVersion(_ segment: ActiveSegment, askedFor url: String) {
        if segment.judgement?.isUnderOtherName == true, let head = segment.head {
            state.validator?.rename(Validator(head, start: segment.ask.start))
        }
        guard case .append? = segment.decision, let head = segment.head,
            !isVersionKnown || !state.askedURL.isExactly(url)
        else { return }
        let answer = Validator(head, start: segment.ask.start)
        state.bytesTotal = state.bytesTotal ?? answer.length
        state.validator?.adopt(answer)
        if state.validator?.length == nil { state.validator?.length = state.bytesTotal }
        state.askedURL = url
    }

    /// The framing has ended as it should, and nothing else promised a length, or over FTP the
    /// server has said that these were all bytes.
    mutating func learnEnd(_ ended: EndedRequest) {
        guard ended.segment.bringsTheWhole, state.bytesTotal == nil || isLengthAdvice,
            ended.failure == nil, ended.end.failure == nil, let length = ended.length
        else { return }
        state.bytesTotal = length
        isLengthAdvice = false
    }

    private var isVersionKnown: Bool {
        guard state.bytesTotal != nil, let validator = state.validator else { return false }
        return validator.length != nil && validator.isNamed
    }

    // MARK: - A file of another program

    /// The part file is a durable copy of the file that another program has left.
    mutating func adopt(_ kept: KeptFile) {
        assert(have.isEmpty && state.validator == nil, "what is held is of this transfer")
        adopted = kept.length
        have = ByteRanges(0..<kept.length)
    }

    /// Without a proof nothing is held.
    mutating func dropAdopted() {
        guard adopted != nil else { return }
        adopted = nil
        have = state.durable
    }

    /// The server has sent the end of what was adopted once more, and it is the same.
    mutating func prove(
        _ segment: ActiveSegment, for request: TransferRequest, at now: Instant
    ) {
        guard let length = adopted, case .append? = segment.decision, let head = segment.head
        else { return }
        adopted = nil
        pin(Validator(head, start: segment.ask.start), head, for: request, at: segment.url)
        state.durable.insert(0..<length)
        checkpoints.pinDue = now
    }

    // MARK: - Copies

    /// The part file is a durable copy of the kept file.
    mutating func fill(with kept: KeptFile, askedFor url: String) {
        state.validator = kept.validator
        state.validator?.length = kept.length
        state.bytesTotal = kept.length
        state.askedURL = url
        have = ByteRanges(0..<kept.length)
        state.durable = have
    }

    /// State of a copy of the whole file.
    func copy(
        for subscriber: Subscriber, isLeader: Bool, _ identity: FileIdentity, path: String,
        mountPoint: String?
    ) -> FetchState {
        var copy = FetchState(id: state.id)
        copy.partPath = path
        copy.partIdentity = identity
        copy.partMount = mountPoint
        copy.durable = have
        copy.validator = state.validator
        copy.bytesTotal = state.bytesTotal
        copy.attempts = state.attempts
        copy.restarts = state.restarts
        copy.askedURL = subscriber.request.url
        copy.effectiveURL = state.effectiveURL
        copy.proposedName = state.proposedName
        copy.contentCoding = state.contentCoding
        copy.response = subscriber.request.options.keepsResponse ? state.response : nil
        // Received bytes are counted once.
        copy.bytesFetched = isLeader ? state.bytesFetched : subscriber.bytesFetched
        return copy
    }
}
