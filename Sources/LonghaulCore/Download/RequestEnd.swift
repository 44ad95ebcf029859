internal import LonghaulModel

/// Decides what follows the end of a request while the fetch moves.
struct RequestEnd {
    let wire: DownloadWire
    let ended: EndedRequest
    let context: FetchContext

    private var frame: FetchFrame { wire.frame }
    private var segment: ActiveSegment { ended.segment }
    /// No other request is on the wire.
    private var isLast: Bool { wire.segments.isEmpty }

    /// Sends the next requests; the outcome is `nil` while the fetch continues on the wire.
    func outcome() -> WireOutcome? {
        let failure =
            segment.ask.isAside
            ? wire.sources.settleAside(ended, context)
            : ended.failure.map { frame.weighed($0, of: segment.url, context) }
        frame.bytes.learnEnd(ended)
        if frame.bytes.isWhole, wire.fromZero == nil, failure == nil || failure?.kind == .transient
        {
            guard isLast else { return stopOthers() }
            wire.sources.noteThroughput(context)
            return .finish
        } else if wire.isLeavingSlow {
            return wire.elsewhere(context)
        } else if let failure {
            return failed(failure)
        } else if !isLast {
            wire.split(context)
            return nil
        } else if segment.isParallel || segment.hasWritten || segment.isGivenUp
            || (wire.fromZero != nil && segment.ask.sendsRange)
        {
            // Another gap, or the whole; not the same request after an answer without a byte.
            return askInTime()
        } else {
            return broughtNothing()
        }
    }

    private func stopOthers() -> WireOutcome? {
        frame.step.effects.append(.stop(wire.segments.map(\.key)))
        return nil
    }

    private func failed(_ failure: Failure) -> WireOutcome? {
        if segment.isParallel, failure.kind.isAboutTheRequest {
            // Many servers refuse a second connection, with any status: the first is unaffected.
            if !segment.hasBroughtAPiece { wire.noteRefused(segment, context) }
            frame.run.askedPause(by: failure, at: context.now.wall)
            return isLast ? askInTime() : nil
        }
        let isOfRange = isLast && frame.bytes.mayBeOfTheRange(failure, segment)
        let failure = isOfRange ? FailureTable.restart(.noBytes) : failure
        switch failure.kind {
        case .restartFromZero where segment.ask.isAdopting:
            if failure.restart == .overlapDiffers, frame.bytes.adoptLess() {
                return askInTime()
            }
            return wire.tryElsewhere(Failure.notContinued(failure.restart ?? .noBytes), context)
        case .restartFromZero where segment.ask.isForMirror:
            // Only the transfer's own URL may discard the bytes held.
            if isLast {
                return wire.tryElsewhere(FailureTable.mirror(failure.restart ?? .noBytes), context)
            }
            wire.rangesRefused = true
            return nil
        case .restartFromZero:
            // The length is refuted: no byte count may be called whole by it.
            if failure.restart == .lengthDisagrees, frame.bytes.have.isEmpty {
                frame.bytes.forgetVersion()
            }
            // Once; if a start from zero ends so too, it is a failure like any other.
            if case .restarting = segment.ask.proof { return .leave(.retry(failure)) }
            if segment.ask.proof == .nothingHeld, frame.bytes.have.isEmpty {
                return .leave(.retry(failure))
            }
            wire.fromZero = failure.restart ?? .noBytes
            guard isLast else { return stopOthers() }
            wire.askNext(context)
            return nil
        case .transient:
            // The others continue.
            if isLast { return wire.tryElsewhere(failure, context) }
            if !segment.hasBroughtAPiece { wire.noteRefused(segment, context) }
            return nil
        case .waitForStorage, .localFault:
            let fault = LocalFault(code: failure.error.code, message: failure.error.message)
            return .leave(frame.leaving(after: fault))
        case .needsInput, .permanent: return wire.tryElsewhere(failure, context)
        }
    }

    private func askInTime() -> WireOutcome? {
        if let pause = frame.pause(at: context.now.wall) { return .leave(.pause(pause)) }
        wire.askNext(context)
        return nil
    }

    /// The answer brought no byte: it was complete, unusable, or empty.
    private func broughtNothing() -> WireOutcome? {
        if ended.saysUnchanged, let kept = frame.target.kept {
            frame.step.effects.append(.fill(kept))
            return nil
        }
        let ask = segment.ask
        if ask.isAdopting, frame.bytes.adopted != nil, segment.decision != .redirect {
            return wire.tryElsewhere(Failure.notContinued(.noBytes), context)
        }
        if frame.bytes.closeRanges(after: ended) { return askInTime() }
        switch segment.decision {
        case .alreadyComplete(let length)?:
            wire.fromZero = nil
            frame.bytes.state.bytesTotal = length
            return frame.bytes.isWhole ? .finish : .unusable("it calls an incomplete file complete")
        case .restartFromZero(.nothingToProve)? where ask.isExtra,
            .restartFromZero(.partialUnusable)? where ask.isExtra:
            // A reader's place is reached in its turn; the bytes held can be continued.
            wire.rangesRefused = true
        case .restartFromZero(let reason)?:
            if !ask.sendsRange, ask.bypassesCaches || !reason.mayBeOfCache {
                return .unusable(reason.description)
            }
            wire.fromZero = reason
        case .empty(.otherName)?: frame.bytes.state.emptyAnswers += 1
        case .empty?, .redirect?, .fresh?, .append?, .skip?, .restart?, .fail?, .dropSegment?,
            nil:
            frame.bytes.state.emptyAnswers += 1
            guard frame.bytes.state.emptyAnswers >= Limits.emptyAnswersBeforeZero, ask.sendsRange
            else { return .unusable("it brought no bytes") }
            wire.fromZero = .noBytes
        }
        wire.askNext(context)
        return nil
    }
}

extension WireOutcome {
    fileprivate static func unusable(_ what: String) -> WireOutcome {
        let text = "the server's answer could not be used: \(what)"
        return .leave(.retry(Failure(.transient, LonghaulError(.serverError, text))))
    }
}

extension FailureClass {
    /// Another request may succeed while the fetch continues.
    fileprivate var isAboutTheRequest: Bool {
        switch self {
        case .transient, .needsInput, .permanent: true
        case .waitForStorage, .restartFromZero, .localFault: false
        }
    }
}
