package import LonghaulModel

/// Judges the answer to a ``RangeRequest``: the table of answers to a resume.
///
/// - Parameters:
///   - pinned: The recorded version of the bytes held.
///   - maxSize: A longer file is refused.
package func judge(
    _ ask: RangeRequest, _ head: ResponseHead, pinned: Validator?, maxSize: Int64? = nil
) -> ResumeJudgement {
    ResumeJudge(ask: ask, head: head, pinned: pinned ?? Validator(), maxSize: maxSize).judgement
}

struct ResumeJudge {
    let ask: RangeRequest
    let head: ResponseHead
    let pinned: Validator
    let maxSize: Int64?

    var judgement: ResumeJudgement {
        var judgement = byStatus
        judgement.isUnderOtherName =
            judgement.decision.isOfHeldVersion && isUnderOtherName(Validator(head))
        if ask.isAdopting { return judgement.adopting }
        guard ask.isForMirror else { return judgement }
        switch judgement.decision {
        // No source could prove anything: there is no better than this mirror.
        case .restart(.nothingToProve, _): return judgement
        case .restart(let reason, _), .restartFromZero(let reason):
            // The transfer's own URL alone may discard the bytes held.
            return ResumeJudgement(.fail(FailureTable.mirror(reason)))
        case .fresh, .append, .skip, .alreadyComplete, .dropSegment, .redirect, .empty, .fail:
            return judgement
        }
    }

    private var byStatus: ResumeJudgement {
        switch head.status {
        case 200, 203, 206: foreignCoding ?? (isPart ? partial : full)
        case 204, 205: ResumeJudgement(.empty(.noContent))
        case 304: ResumeJudgement(.empty(.notModified))
        case 300...399 where head.headers.contains("Location"): ResumeJudgement(.redirect)
        case 412 where holdsBytes: ResumeJudgement(.restartFromZero(.preconditionFailed))
        case 416 where ask.sendsRange: notSatisfiable
        default: errorPage ?? ResumeJudgement(.fail(failure))
        }
    }

    private var foreignCoding: ResumeJudgement? {
        guard let coding = head.headers.foreignTransferCoding else { return nil }
        let text =
            "the server sent it in a transfer coding that was not asked for"
            + " (\(TerminalText.shown(coding)))"
        return ResumeJudgement(.fail(Failure(.permanent, LonghaulError(.unsupported, text))))
    }

    private var failure: Failure {
        FailureTable.classify(
            status: head.status, retryAfter: head.headers.retryAfter(now: head.receivedAt))
    }

    /// The answer is a page that completes the transfer. It names no version: a page that broke off
    /// is never continued.
    private var errorPage: ResumeJudgement? {
        guard let pages = ask.errorPages, head.scheme == .http, !ask.isExtra, !ask.isAdopting,
            !(ask.sendsRange && RangeRequest.mayBeRefused(with: head.status)),
            pages.delivers(failure)
        else { return nil }
        let answer = Validator(length: Validator(head).length)
        if let refusal = tooLarge(answer.length) { return refusal }
        return ResumeJudgement(
            holdsBytes
                ? .restart(.errorPage, answer) : .fresh(answer, length: bodyEnd(answer)))
    }

    private func bodyEnd(_ answer: Validator) -> Int64? { head.bodyEnd(length: answer.length) }

    private var holdsBytes: Bool { ask.proof != .nothingHeld }

    /// - Parameter known: Bytes that the file has, or at least has while its length is unknown.
    private func tooLarge(_ length: Int64?, atLeast known: Int64 = 0) -> ResumeJudgement? {
        guard let maxSize, max(length ?? 0, known) > maxSize else { return nil }
        let size = length.map { SizeText.shown($0) } ?? "at least \(SizeText.shown(known))"
        let text =
            "the file has \(size), more than the \(SizeText.shown(maxSize)) allowed;"
            + " raise --max-size"
        return ResumeJudgement(.fail(Failure(.permanent, LonghaulError(.tooLarge, text))))
    }

    // MARK: Names

    /// An entity tag is about one resource (RFC 9110 §8.8.3): another origin's name for a version
    /// proves nothing, equal or not. Length and overlap decide then.
    private func isUnderOtherName(_ answer: Validator) -> Bool {
        if ask.isAside { return ask.proof == .digest }
        guard head.scheme == .http, pinned.isNamed else { return false }
        if pinned.origin != head.otherOrigin { return true }
        guard ask.names == .compare, case .different(let evidence) = pinned.match(answer)
        else { return false }
        return evidence == .etag || evidence == .lastModified
    }

    private func match(_ answer: Validator) -> VersionMatch {
        isUnderOtherName(answer) ? pinned.withoutIdentity.match(answer) : pinned.match(answer)
    }

    /// Asks again after a conditional request under a name that tells nothing about the answer: the
    /// same range without If-Range shows whether the version is the same, if its length is known.
    private func askedByOtherName(_ answer: Validator, _ match: VersionMatch) -> ResumeJudgement? {
        guard ask.isConditional, match == .unknown, isUnderOtherName(answer) else { return nil }
        return ResumeJudgement(
            pinned.length == nil ? .restartFromZero(.nothingToProve) : .empty(.otherName))
    }

    // MARK: 200: the whole file

    private var full: ResumeJudgement {
        let answer = Validator(head)
        if answer.length == nil, let fault = faultOfLength { return ResumeJudgement(.fail(fault)) }
        if isForeignPage(answer) { return ResumeJudgement(.fail(FailureTable.foreignPage)) }
        if isDoubtful(answer) { return ResumeJudgement(.fail(.lesserWhole)) }
        if let refusal = tooLarge(answer.length) { return refusal }
        switch ask.proof {
        case .nothingHeld: return ResumeJudgement(.fresh(answer, length: bodyEnd(answer)))
        case .restarting(let reason): return ResumeJudgement(.restart(reason, answer))
        case .entityTag, .date, .overlap, .digest, .sizeAndTime, .skipping: break
        }
        return ask.isExtra ? fullForSegment(answer) : fullForResume(answer)
    }

    private var faultOfLength: Failure? {
        if head.headers.hasTransferCoding { return nil }
        switch head.headers.contentLength {
        case .absent, .bytes: return nil
        case .invalid:
            // Copies that disagree: where this body ends is unknown (RFC 9110 §8.6).
            return Failure(
                .transient,
                LonghaulError(.network, "the server's Content-Length is contradictory"),
                blamesOrigin: true)
        case .beyondFiles:
            return Failure(
                .permanent,
                LonghaulError(
                    .tooLarge, "the server's Content-Length is more than a file can have"))
        }
    }

    /// Many networks answer with a login page to a user that has not logged in. Such a page is
    /// shorter than the bytes held, and has no version if the file has one; if the file's name is
    /// not a page's, the page may have a version.
    private func isForeignPage(_ answer: Validator) -> Bool {
        guard head.scheme == .http, holdsBytes, answer.digest == nil else { return false }
        let type = head.headers["Content-Type"] ?? ""
        let isPage = type.beginsIgnoringCase(with: "text/html")
        let isUnnamed = pinned.isStrong && !answer.isNamed && (isPage || head.isElsewhere)
        guard isUnnamed || (isPage && ask.isForNoPage) else { return false }
        let held = ask.position > 0 ? ask.position : pinned.length ?? 0
        return answer.length.map { $0 < held } ?? true
    }

    /// The whole file is shorter than the bytes held, without a version: a short error text, or an
    /// empty body. It is believed after several in a row. If the length is unknown, the bytes held
    /// are compared first, if possible.
    private func isDoubtful(_ answer: Validator) -> Bool {
        guard holdsBytes, mayDoubt, !answer.isNamed, answer.digest == nil else { return false }
        let held = max(ask.held, ask.position)
        guard let length = answer.length else {
            if case .restarting = ask.proof { return held > 0 }
            return head.headers.contentCoding != ask.heldCoding
        }
        // A file that has named its version before does not lose its name and a part of itself.
        return length < (pinned.isNamed ? max(held, pinned.length ?? 0) : held)
    }

    /// These answers keep all bytes held, or are believed.
    private var mayDoubt: Bool {
        !ask.isForMirror && !ask.isAside && !ask.isAdopting && !ask.isExtra
            && pinned.doubts ?? 0 < Limits.doubtsBelieved
    }

    /// The whole file comes without a version: all bytes held can be compared with it.
    private func comparesAll(_ answer: Validator) -> Bool {
        guard ask.position > 0, !ask.isForMirror, !ask.isAside else { return false }
        if ask.proof == .skipping { return true }
        return answer.length == nil && mayDoubt
            && (!answer.isNamed || ask.names == .compare && pinned.length == nil)
    }

    private func fullForResume(_ answer: Validator) -> ResumeJudgement {
        if head.headers.contentCoding != ask.heldCoding {
            return ResumeJudgement(.restart(.codingChanged, answer))
        }
        let match = match(answer)
        if pinned.length != nil, let judgement = askedByOtherName(answer, match) {
            return judgement
        }
        switch match {
        case .different(let evidence):
            return ResumeJudgement(.restart(.changed(evidence), answer))
        case .unknown where comparesAll(answer): return skip(answer, comparing: ask.position)
        case .unknown where !isAsLongElsewhere(answer):
            // The same length tells a server that sends no parts from another file.
            let ignoresRanges =
                !ask.isConditional && answer.length != nil && answer.length == pinned.length
            return ResumeJudgement(
                .restart(.validatorMissing, answer), learned: ignoresRanges ? lessonOfFull : nil)
        case .same: return skip(answer, comparing: 0)
        case .similar, .unknown:
            // The answer proves as much as one to a plain Range: the validator that agrees is weak,
            // so the overlap has to agree too.
            return skip(answer, comparing: min(ask.position, Limits.overlapBytes))
        }
    }

    /// Another server has its own names for versions: length and overlap prove, as with a 206.
    private func isAsLongElsewhere(_ answer: Validator) -> Bool {
        (ask.isForMirror || ask.names == .compare || isUnderOtherName(answer))
            && answer.length != nil && answer.length == pinned.length
    }

    private func skip(_ answer: Validator, comparing overlap: Int64) -> ResumeJudgement {
        if let length = answer.length {
            if length < ask.position {
                return ResumeJudgement(.restart(.changed(.length), answer))
            }
            if length == ask.position && overlap == 0 {
                return ResumeJudgement(.alreadyComplete(length: length), learned: lessonOfFull)
            }
        }
        if let refusal = tooLarge(answer.length ?? pinned.length, atLeast: ask.position) {
            return refusal
        }
        let plan = BodyPlan(
            skip: ask.position - overlap, compare: overlap, position: ask.position - overlap,
            end: answer.length ?? pinned.length)
        // Without name and length it may be any answer, and shows nothing yet.
        let isKnown = answer.length != nil || answer.isNamed
        return ResumeJudgement(.skip(plan), learned: isKnown ? lessonOfFull : nil)
    }

    private func fullForSegment(_ answer: Validator) -> ResumeJudgement {
        // Skipping everything before a segment would fetch the file twice. A missing version proves
        // nothing against the bytes that another request is bringing.
        switch match(answer) {
        case .different(let evidence):
            ResumeJudgement(.restartFromZero(.changed(evidence)))
        case .same, .similar, .unknown: ResumeJudgement(.dropSegment)
        }
    }

    /// Lesson of a whole file, in the pinned version, in answer to a request for a part.
    private var lessonOfFull: OriginLesson? {
        guard ask.sendsRange, head.scheme == .http else { return nil }
        return ask.isConditional && !head.headers.refusesRanges
            ? .mishandlesIfRange : .ignoresRanges
    }

    // MARK: 206: a part

    /// The body begins behind the beginning of the file, or may. RFC 9110 §15.3.7 knows no 206 to a
    /// request without Range, but servers send the whole so.
    private var isPart: Bool {
        guard head.isPart, head.status == 206, !ask.sendsRange, head.scheme == .http, !isMultipart
        else { return head.isPart }
        if case .bytes(let range, _?) = head.contentRange {
            return range.lowerBound > 0
                || head.bodyLength.map { $0 != range.upperBound } ?? false
        }
        // A cache may have made it of another request's answer, unless it comes past the caches.
        guard ask.bypassesCaches else { return true }
        let fields = head.headers.values("Content-Range")
        let numbers = fields.first.map(ContentRange.numbers)
        return fields.count > 1 || numbers.map { $0.last ?? -1 != head.bodyLength } ?? false
    }

    private var partial: ResumeJudgement {
        guard ask.sendsRange else { return unusable(.notAsked) }
        var answer = Validator(head, start: ask.start)
        if head.scheme == .http {
            if isRangeOff, guess != nil {
                if ask.isConditional { return ResumeJudgement(.empty(.otherName)) }
                answer.length = pinned.length
            } else if let problem = rangeProblem {
                return unusable(problem)
            }
            if head.headers.contentCoding != ask.heldCoding {
                return ResumeJudgement(.restartFromZero(.codingChanged))
            }
        }
        if let refusal = tooLarge(answer.length, atLeast: rangeEnd ?? ask.position) {
            return refusal
        }
        if answer.length != nil, isDoubtful(answer) { return ResumeJudgement(.fail(.lesserWhole)) }
        let match = match(answer)
        if case .different(let evidence) = match {
            // If-Range promised a 200 for another version.
            return ResumeJudgement(
                .restartFromZero(.changed(evidence)),
                learned: ask.isConditional ? .mishandlesIfRange : nil)
        }
        if !ask.isExtra, let length = bodyEnd(answer), length < ask.position {
            return ResumeJudgement(.restartFromZero(.changed(.length)))
        }
        if let rangeEnd, rangeEnd <= ask.position, rangeEnd < answer.length ?? .max {
            // The answer has only bytes held: asking for the rest again would bring them again.
            return ResumeJudgement(.empty(.rangeRefused))
        }
        return accept(answer, match)
    }

    private func accept(_ answer: Validator, _ match: VersionMatch) -> ResumeJudgement {
        if let judgement = askedByOtherName(answer, match) { return judgement }
        switch ask.proof {
        case .entityTag:
            // The tag must be present (RFC 9110 §15.3.7). A proxy that marks the tag weak on the
            // way may answer with other bytes.
            if answer.etag == nil || match == .similar { return versionMissing }
        case .date:
            // The date may be absent here, but a server that ignores If-Range answers in the same
            // way: the overlap has to prove the version.
            if answer.lastModified == nil { return versionMissing }
        case .overlap:
            let comparesAll = overlap == ask.position
            if match != .same, overlap == 0 || (!comparesAll && !provesByLength(answer)) {
                return ResumeJudgement(.restartFromZero(.nothingToProve))
            }
            // Stored, then, is neither tag nor date that came back: the length has to speak.
            if match == .unknown, !comparesAll, answer.length == nil {
                return unusable(.total)
            }
        case .digest:
            if answer.length == nil || answer.length != pinned.length {
                return ResumeJudgement(.restartFromZero(.nothingToProve))
            }
        case .sizeAndTime:
            if answer.length != pinned.length || match == .unknown {
                return ResumeJudgement(.restartFromZero(.nothingToProve))
            }
        case .nothingHeld, .skipping, .restarting: return unusable(.notAsked)
        }
        var plan = BodyPlan(
            skip: early - (overlap - ask.overlap), compare: overlap,
            position: ask.position - overlap, end: rangeEnd ?? ask.end ?? bodyEnd(answer))
        // RFC 9110 §15.3.7 allows fewer bytes than asked for, and no more; small servers that know
        // `bytes=a-` alone send all the rest. The bytes are of the pinned version all the same.
        if let requested = ask.end, let end = rangeEnd, end > requested {
            plan.end = requested
            plan.isCutAtEnd = true
        }
        return ResumeJudgement(.append(plan))
    }

    /// The length is a proof; it is the only one for a version under another name.
    private func provesByLength(_ answer: Validator) -> Bool {
        pinned.length != nil || !isUnderOtherName(answer)
    }

    /// Ask again without If-Range, for an overlap.
    private var versionMissing: ResumeJudgement {
        ResumeJudgement(.empty(.versionMissing), learned: .mishandlesIfRange)
    }

    /// Bytes that come before those asked for: caches align ranges to their blocks.
    private var early: Int64 { range.map { ask.start - $0.lowerBound } ?? 0 }

    /// Bytes held that come again, and are compared. Early bytes beside other requests may not be
    /// held yet: they are skipped.
    private var overlap: Int64 { ask.isExtra ? ask.overlap : ask.overlap + early }

    /// End of the answer's bytes in the file.
    private var rangeEnd: Int64? { range?.upperBound }

    private var range: Range<Int64>? {
        if isRangeOff, let guess { return guess }
        guard case .bytes(let range, _) = head.contentRange else { return nil }
        return range
    }

    /// Content-Range cannot be right, or is of a file of another length.
    private var isRangeOff: Bool {
        guard head.scheme == .http else { return false }
        if rangeProblem != nil { return true }
        guard case .bytes(_, let total?) = head.contentRange, let length = pinned.length
        else { return false }
        return total != length
    }

    /// The bytes of a part whose Content-Range is off, if length and overlap decide: the requested
    /// bytes, or those from its first number on, if the body's length or any number in it leads to
    /// the end of the recorded file.
    private var guess: Range<Int64>? {
        guard ask.names == .compare, ask.isConditional || ask.overlap > 0, !ask.isExtra,
            let length = pinned.length, !isMultipart
        else { return nil }
        let end = ask.end ?? length
        let numbers = head.headers.single("Content-Range").map(ContentRange.numbers) ?? []
        var start = ask.start
        if let count = head.bodyLength {
            if ask.end == nil, count == length { start = 0 }
            if let first = numbers.first, first < start, first + count == end { start = first }
            if ask.end == nil, start + count == end { return start..<end }
        } else if let first = numbers.first, first < start {
            start = first
        }
        return numbers.contains(length) ? start..<end : nil
    }

    private var isMultipart: Bool {
        head.headers["Content-Type"]?.beginsIgnoringCase(with: "multipart/byteranges") ?? false
    }

    /// Compares Content-Range, regardless of the framing, with the request and the record: curl
    /// compares the start alone, aria2 nothing if the body is chunked.
    private var rangeProblem: RestartReason.PartialProblem? {
        if isMultipart { return .multipart }
        guard head.headers.contains("Content-Range") else { return .rangeMissing }
        guard case .bytes(let range, let total) = head.contentRange else { return .rangeMalformed }
        if range.lowerBound > ask.start { return .start }
        if let length = pinned.length, range.upperBound > length { return .end }
        switch head.headers.contentLength {
        case .absent: break
        case .bytes(let length):
            if !head.headers.hasTransferCoding && length != range.upperBound - range.lowerBound {
                return .length
            }
        case .invalid, .beyondFiles: if !head.headers.hasTransferCoding { return .length }
        }
        // `*` is allowed, and names nothing. Where only the length can prove, it has to be there.
        if total == nil && pinned.length != nil && ask.proof == .overlap { return .total }
        return nil
    }

    private func unusable(_ problem: RestartReason.PartialProblem) -> ResumeJudgement {
        ResumeJudgement(.restartFromZero(.partialUnusable(problem)))
    }

    // MARK: 416

    /// Complete only when the server's length is the length held, under the same validator.
    private var notSatisfiable: ResumeJudgement {
        guard case .unsatisfied(let total) = head.contentRange else {
            return ResumeJudgement(.restartFromZero(.rangeNotSatisfiable(total: nil)))
        }
        if let length = pinned.length, length != total {
            return ResumeJudgement(.restartFromZero(.changed(.length)))
        }
        var answer = Validator(head)
        answer.length = total  // Content-Length is that of the error page
        answer.digest = nil
        if case .different(let evidence) = match(answer) {
            return ResumeJudgement(.restartFromZero(.changed(evidence)))
        }
        if ask.position == total, !ask.isExtra, provesSameVersion(answer) {
            return ResumeJudgement(.alreadyComplete(length: total))
        }
        if ask.position < total {
            // The server has the bytes and refuses them.
            return ResumeJudgement(ask.isExtra ? .dropSegment : .empty(.rangeRefused))
        }
        return ResumeJudgement(.restartFromZero(.rangeNotSatisfiable(total: total)))
    }

    /// The answer proves that the version is the same. With If-Range, another version would have
    /// been answered with 200 (RFC 9110 §13.1.5 comes before §14.2); without it, the tag or date
    /// must be in the answer.
    private func provesSameVersion(_ answer: Validator) -> Bool {
        switch match(answer) {
        case .same: true
        case .similar, .unknown: ask.isConditional && !isUnderOtherName(answer)
        case .different: false
        }
    }
}

extension ResumeJudgement {
    /// Nothing is given up for an answer that does not prove a file of another program.
    fileprivate var adopting: ResumeJudgement {
        switch decision {
        case .restart(let reason, _), .restartFromZero(let reason):
            ResumeJudgement(.fail(Failure.notContinued(reason)))
        case .fresh, .skip, .dropSegment:
            ResumeJudgement(.fail(Failure.notContinued(.noBytes)))
        case .append, .alreadyComplete, .redirect, .empty, .fail: self
        }
    }
}
