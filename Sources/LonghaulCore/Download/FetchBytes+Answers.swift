internal import LonghaulModel

/// Answers with 503 in a row after which the whole file is requested.
private let refusalsOfRanges = 3

/// Effect of answers without a byte, and of other names for the version, on the next request.
extension FetchBytes {
    /// Meaning of another name for the version.
    func names(of request: TransferRequest) -> RangeRequest.Names {
        let isVain = state.restarts >= Limits.restartsByName
        return isVain || request.options.checksum != nil ? .compare : .prove
    }

    /// Some servers refuse `bytes=a-` (416) and know `bytes=a-b`. Returns whether that is asked.
    mutating func closeRanges(after ended: EndedRequest) -> Bool {
        let ask = ended.segment.ask
        guard !closesRanges, ask.sendsRange, ask.end == nil, ended.segment.head?.status == 416,
            let total = state.bytesTotal, ask.position < total
        else { return false }
        switch ended.segment.decision {
        case .empty(.rangeRefused)?, .restartFromZero(.rangeNotSatisfiable)?:
            closesRanges = true
            return true
        case .fresh, .append, .skip, .restart, .alreadyComplete, .restartFromZero, .dropSegment,
            .redirect, .empty, .fail, nil:
            return false
        }
    }

    /// A server that has answered 503 to each range may have the whole: a run requests it,
    /// once, and skips the bytes held.
    func wholeAfterRefusals(_ lastError: LonghaulError?) -> RestartReason? {
        lastError?.httpStatus == 503 && !have.isEmpty && state.emptyAnswers == refusalsOfRanges
            ? .noBytes : nil
    }

    /// An answer has fewer bytes than are held, and names no version.
    mutating func doubt() {
        var validator = state.validator ?? Validator()
        validator.doubts = (validator.doubts ?? 0) + 1
        state.validator = validator
    }

    /// Some servers fail at each range, or refuse it, and have the whole: it is asked for at once.
    /// After a refusal, which ends the transfer otherwise, and after each second failure: one may
    /// pass, and the bytes held come again with the whole.
    mutating func mayBeOfTheRange(_ failure: Failure, _ segment: ActiveSegment) -> Bool {
        guard !segment.ask.isForMirror, !segment.ask.isAdopting,
            case .fail(let answer)? = segment.decision, let status = answer.error.httpStatus
        else { return false }
        // Whether ranges are the reason, the next run tells: the server has asked for time.
        if status == 503, !have.isEmpty { state.emptyAnswers += 1 }
        guard segment.ask.sendsRange, failure.retryAfter == nil else { return false }
        guard (500...599).contains(status) else { return RangeRequest.mayBeRefused(with: status) }
        if status == 503 { return false }
        state.emptyAnswers += 1
        return state.emptyAnswers.isMultiple(of: Limits.emptyAnswersBeforeZero)
    }
}

/// Learns about the version from answers.
extension FetchBytes {
    /// Learns from the answer about the version that the answer was proven to be of. The length is
    /// learnt if the first answer told none: a part of a file of another length is of another
    /// version. The name at a new source is learnt: a later answer under another name is of another
    /// version, too.
    ///
    /// Call this once the bytes held have been compared with the answer's: until then the answer
    /// may be of another version, and a shorter length would make a whole file of the bytes held.
    mutating func learnVersion(_ segment: ActiveSegment, askedFor url: String) {
        // What another source calls it beside the one in use is not kept.
        if segment.ask.isAside { return }
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
        if ended.isLesserWhole { doubt() }
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

    /// The server has sent the end of the adopted bytes once more, and it is the same.
    mutating func prove(_ segment: ActiveSegment, for request: TransferRequest, at now: Instant) {
        guard let length = adopted, case .append? = segment.decision, let head = segment.head
        else { return }
        adopted = nil
        pin(Validator(head, start: segment.ask.start), head, for: request, at: segment.url)
        state.durable.insert(0..<length)
        checkpoints.pinDue = now
    }
}
