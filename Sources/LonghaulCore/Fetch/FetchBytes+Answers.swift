package import LonghaulModel

/// After so many answers with 503 in a row the whole file is asked for.
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

    /// A server that has answered 503 to each range may have the whole: a run begins with that,
    /// once, and what is held is passed over.
    func wholeAfterRefusals(_ lastError: LonghaulError?) -> RestartReason? {
        lastError?.httpStatus == 503 && !have.isEmpty && state.emptyAnswers == refusalsOfRanges
            ? .noBytes : nil
    }

    /// An answer has less than what is held, and names no version.
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
        switch status {
        // These statuses are about credentials, the file, time or the number of requests.
        case 401, 404, 407, 408, 410, 425, 429, 503: return false
        case 400...499: return true
        case 500...599:
            state.emptyAnswers += 1
            return state.emptyAnswers.isMultiple(of: Limits.emptyAnswersBeforeZero)
        default: return false
        }
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

extension FetchState {
    /// The part file, if there is one, is in the destination's directory.
    func isBeside(_ destination: String) -> Bool {
        partPath.isEmpty
            || FileNaming.directory(of: partPath).isExactly(FileNaming.directory(of: destination))
    }

    /// The reserved destination, or the server's name for it beside it where that was asked for.
    package func finalDestination(of request: TransferRequest, at destination: String) -> String {
        guard request.options.remoteName, let name = proposedName,
            let slash = destination.utf8.lastIndex(of: UInt8(ascii: "/"))
        else { return destination }
        return String(destination[..<destination.utf8.index(after: slash)]) + name
    }
}
