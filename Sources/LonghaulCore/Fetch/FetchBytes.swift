package import LonghaulModel

/// The longest bad end of a file of another program that is given up for the rest.
private let adoptedTailMax: Int64 = 4 << 20
/// Overlap that has to agree after such a cut: more than usual, since the file is damaged.
private let shortenedOverlap: Int64 = 1 << 20

/// The bytes of a fetch, and their record.
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
    /// The server has refused a range to the end of the file: the next ones name that end.
    var closesRanges = false
    /// Where the bytes ended that were given up last.
    private(set) var endGivenUp: Int64?
    /// Bytes of a file of another program that are held and not proven yet; none is recorded.
    var adopted: Int64?
    /// Bytes at the end of that file that were found not to be the server's.
    private(set) var adoptedTail: Int64 = 0

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

    /// An empty part file is made again when it is needed. What failed its digest stays for its
    /// owner to look at, and a file without a byte may have its name already.
    var isPartOfUse: Bool {
        !have.isEmpty || !state.durable.isEmpty || state.isPartMovedAside
            || state.publication != nil
    }

    // MARK: - Given up

    /// Under a new generation, so that the board's numbers are void, too.
    mutating func forgetAll() {
        endGivenUp = have.prefix
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

    // MARK: - The version

    /// The first answer of a representation names the version.
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

    /// Only the first answer of a representation is kept.
    mutating func keep(_ head: ResponseHead, for request: TransferRequest) {
        guard request.options.keepsResponse || request.options.deliversErrorPages,
            state.response == nil
        else { return }
        state.response = TransferResponse(head, length: state.bytesTotal)
    }

    /// The bytes are those of an error's page, see ``TransferOptions/deliversErrorPages``.
    var isErrorPage: Bool { state.response?.statusCode ?? 0 >= 400 }

    // MARK: - A file of another program

    /// The part file is a durable copy of the file that another program has left.
    mutating func adopt(_ kept: KeptFile) {
        assert(have.isEmpty && state.validator == nil, "what is held is of this transfer")
        adopted = kept.length
        have = ByteRanges(0..<kept.length)
    }

    /// The end of the adopted bytes is not the server's: an error page, say, or a block that was
    /// never written. A shorter part may be; then more has to agree. Returns whether it is tried.
    mutating func adoptLess() -> Bool {
        guard let adopted else { return false }
        let tail = max(2 * adoptedTail, Limits.overlapBytes)
        let rest = adopted + adoptedTail - tail
        guard tail <= adoptedTailMax, rest > 0 else { return false }
        assert(rest < adopted, "each step takes less")
        adoptedTail = tail
        self.adopted = rest
        have = ByteRanges(0..<rest)
        return true
    }

    /// Bytes of the adopted ones that an answer has to repeat.
    var adoptedOverlap: Int64 { adoptedTail > 0 ? shortenedOverlap : Limits.overlapBytes }

    /// Without a proof nothing is held.
    mutating func dropAdopted() {
        guard adopted != nil else { return }
        adopted = nil
        have = state.durable
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
        copy.response =
            subscriber.request.options.keepsResponse || isErrorPage ? state.response : nil
        // Received bytes are counted once.
        copy.bytesFetched = isLeader ? state.bytesFetched : subscriber.bytesFetched
        return copy
    }
}

/// Chooses the source in use, and how far its name for the version is trusted.
extension FetchBytes {
    /// The list may be another one than when the source in use was chosen: it is looked for by its
    /// URL. Another one has to prove that it has the same version, unless it has named it before.
    mutating func findSource(in target: FetchTarget) {
        if let requested = state.askedURL, !requested.isExactly(target.request.url) {
            state.validator = state.validator?.withoutIdentity
            state.source = 0
        } else if let mirror = state.validator?.mirror,
            mirror != target.url(ofSource: state.source)
        {
            if let index = target.sources.firstIndex(of: mirror) {
                state.source = index
            } else {
                state.source = 0
                state.validator = state.validator?.moved(from: mirror, to: target.url(ofSource: 0))
            }
        }
        // The index may be that of a longer list.
        state.source %= target.sources.count
    }

    /// The next mirror. Its name for the version is another: length and overlap must agree, and
    /// when it is asked again that name as well.
    mutating func nextSource(in target: FetchTarget) {
        guard !target.request.options.mirrors.isEmpty else { return }
        let old = target.url(ofSource: state.source)
        state.source = (state.source + 1) % target.sources.count
        let url = target.url(ofSource: state.source)
        state.validator = state.validator?.moved(from: old, to: url)
        noteSource(url, of: target.request)
    }

    /// Whose name for the version it is that is pinned.
    mutating func noteSource(_ url: String, of request: TransferRequest) {
        state.validator?.mirror = url == request.url ? nil : url
    }
}
