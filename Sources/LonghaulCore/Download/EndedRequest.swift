internal import LonghaulModel

/// A request that has left the wire, and what its end says.
struct EndedRequest {
    let segment: ActiveSegment
    private(set) var end: SegmentEnd
    /// `nil`: it has brought its range.
    private(set) var failure: Failure?
    /// The kept file is still the one that the server has.
    let saysUnchanged: Bool

    init(
        _ segment: ActiveSegment, _ end: SegmentEnd, of target: FetchTarget, _ bytes: FetchBytes
    ) {
        self.segment = segment
        self.end = end
        saysUnchanged =
            segment.head?.status == 304 && segment.asksForChange && bytes.have.isEmpty
            && target.kept != nil
        // The second whole that ends there is believed.
        if end.failure == .unannouncedEnd, let before = segment.endBefore(bytes),
            proof(bytesTotal: bytes.state.bytesTotal) == .unknownLengthComplete(length: before)
        {
            self.end.failure = nil
        }
        failure = classified(for: target, bytesTotal: bytes.state.bytesTotal)
            .map { end.isProxied ? target.byProxy($0, segment) : $0 }?
            .quoting(segment.head, end.answer).passing(for: target.request.options.retryStatus)
    }

    /// The failure that the request ended with.
    private func classified(for target: FetchTarget, bytesTotal: Int64?) -> Failure? {
        if case .fail(let failure)? = segment.decision {
            return target.sendsCredentials(segment)
                ? FailureTable.refusedCredentials(failure) : failure
        }
        if let wire = end.failure {
            if wire == .bodyTooLong, bytesTotal == nil, let most = target.request.options.maxSize {
                let text =
                    "the body is longer than the \(SizeText.shown(most)) allowed; raise it with "
                    + "`set --max-size`"
                return Failure(.permanent, LonghaulError(.tooLarge, text))
            }
            return FailureTable.classify(wire)
        }
        // An answer that is allowed to end early ends with its plan; the rest is asked for again.
        switch proof(bytesTotal: bytesTotal) {
        // A shortened request may have written on before it heard of that: bytes of the file as
        // well.
        case .complete, .unknownLengthComplete, .tooLong, nil: return nil
        case .short where isLesserWhole: return .lesserWhole
        case .short:
            return Failure(
                .transient,
                LonghaulError(.network, "the server sent fewer bytes than it had promised"),
                blamesOrigin: true)
        }
    }

    /// Fewer bytes than are held came in place of the file, without a version: by the head, or by
    /// the end of a body of unknown length.
    var isLesserWhole: Bool {
        switch segment.decision {
        case .fail(.lesserWhole)?: return true
        case .skip(let plan)?:
            return plan.skip == 0 && end.bytesReceived < plan.compare && end.failure == nil
                && segment.head?.bodyLength == nil
        case .fresh, .append, .restart, .alreadyComplete, .restartFromZero, .dropSegment,
            .redirect, .fail, .empty, nil:
            return false
        }
    }

    /// Judges the body's size by the end of the answer; `nil` = the answer had no body that counts.
    private func proof(bytesTotal: Int64?) -> SizeProof? {
        guard segment.isWriting, var plan = segment.decision?.bodyPlan else { return nil }
        plan.end = segment.end
        return SizeProof.judge(plan: plan, end: end, bytesTotal: bytesTotal)
    }

    /// The length of the file, known only by the end of its body. Compared bytes count: all of them
    /// may have been held already.
    var length: Int64? {
        switch proof(bytesTotal: nil) {
        case .unknownLengthComplete(let length): length
        case .complete: segment.end
        case .short, .tooLong, nil: nil
        }
    }

    func outcome(at now: Timestamp) -> AttemptRecord {
        let word: String
        if let failure {
            word = failure.error.code.rawValue
        } else if end.failure == .stopped {
            word = "stopped"
        } else if saysUnchanged {
            word = "unchanged"
        } else {
            word = end.failure == .refused ? "unusable" : "completed"
        }
        return AttemptRecord(
            number: segment.number, startedAt: segment.startedAt, endedAt: now,
            url: segment.head?.effectiveURL ?? segment.url, bytes: end.bytesReceived,
            httpStatus: segment.head.flatMap { $0.scheme == .http ? $0.status : nil },
            httpVersion: end.httpVersion == 0 ? segment.head?.httpVersion : end.httpVersion,
            outcome: word, message: failure?.error.message ?? silenceNote,
            phases: end.phases)
    }

    private var silenceNote: String? {
        guard segment.isGivenUp, end.failure == .stopped else { return nil }
        return "it was silent, or far slower than others, while these had nothing to do; what it "
            + "left was asked for anew"
    }
}

extension ActiveSegment {
    /// Where the bytes ended that an earlier request for the whole had brought.
    fileprivate func endBefore(_ bytes: FetchBytes) -> Int64? {
        switch decision {
        case .skip: start
        case .restart: bytes.endGivenUp
        case .fresh, .append, .alreadyComplete, .restartFromZero, .dropSegment, .redirect, .fail,
            .empty, nil:
            nil
        }
    }
}

extension FetchTarget {
    /// The request carried credentials. Those in netrc are not known here.
    fileprivate func sendsCredentials(_ segment: ActiveSegment) -> Bool {
        if segment.ask.isForMirror { return false }
        let files = request.options.secretFiles
        return request.options.user != nil || files.user != nil || files.headers != nil
            || request.options.headers.contains("Authorization")
            || (try? URLParts(segment.url))?.userInfo != nil
    }

    /// Through a tunnel only the server answers. The proxy asks for credentials only in its answer
    /// to CONNECT.
    fileprivate func byProxy(_ failure: Failure, _ segment: ActiveSegment) -> Failure {
        if segment.url.beginsIgnoringCase(with: "https:"), failure.error.httpStatus != 407 {
            return failure
        }
        let options = request.options
        let proxy = options.proxy ?? options.proxyVariables?.proxy(for: segment.url)
        let userInfo = proxy.flatMap { ProxyAddress.userInfo(of: $0) }
        return FailureTable.byProxy(failure, hadCredentials: userInfo != nil)
    }
}
