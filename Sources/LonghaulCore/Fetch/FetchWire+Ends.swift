internal import LonghaulModel

/// Reacts to the end of a request.
extension FetchWire {
    /// Takes the request off the wire and keeps what it has brought; `nil` = it was not there.
    mutating func remove(
        _ key: SegmentKey, _ end: SegmentEnd, _ context: FetchContext
    ) -> EndedRequest? {
        guard let index = segments.firstIndex(where: { $0.key == key }) else { return nil }
        // The board may have had no cell for it.
        count(end.bytesReceived, of: index)
        var segment = segments.remove(at: index)
        frame.bytes.checkpoints.retire(key)
        if end.failure == .withdrawn {
            // The request was never sent and is no attempt.
            if segment.number == frame.bytes.state.attempts { frame.bytes.state.attempts -= 1 }
            return EndedRequest(segment, end, of: frame.target, frame.bytes)
        }
        if segment.isWriting, segment.isOpen, end.writtenThrough > segment.start {
            frame.bytes.have.insert(segment.start..<end.writtenThrough)
            segment.written = end.writtenThrough
            frame.bytes.state.emptyAnswers = 0
            frame.bytes.state.validator?.doubts = nil
            let now = context.now.monotonic
            if end.failure == nil { frame.connections.endedWell(segment, at: now) }
        }
        if segment.isOpen,
            end.writtenThrough > segment.start
                || (end.failure == nil && end.bytesReceived >= segment.ask.overlap)
        {
            frame.bytes.prove(segment, for: frame.target.request, at: context.now.monotonic)
        }
        if segment.isOpen, end.failure == nil || end.writtenThrough > segment.start {
            frame.bytes.learnVersion(segment, askedFor: frame.target.request.url)
        }
        if held?.key == key { held = nil }
        let ended = EndedRequest(segment, end, of: frame.target, frame.bytes)
        frame.step.writes.append(
            .attempt(frame.target.transfer, ended.outcome(at: context.now.wall)))
        return ended
    }

    /// While the fetch moves: what is asked instead, or what else there is to do.
    mutating func next(after ended: EndedRequest, _ context: FetchContext) -> WireOutcome? {
        let segment = ended.segment
        let failure =
            segment.ask.isAside
            ? frame.settleAside(ended, context)
            : ended.failure.map { frame.weighed($0, of: segment.url, context) }
        frame.bytes.learnEnd(ended)
        if frame.bytes.isWhole, fromZero == nil, failure == nil || failure?.kind == .transient {
            return wholeOnWire(context)
        } else if slowness != nil {
            return elsewhere(context)
        } else if let failure {
            return failed(failure, segment, context)
        } else if !segments.isEmpty {
            split(context)
            return nil
        } else if segment.isParallel || segment.hasWritten || segment.isGivenUp
            || (fromZero != nil && segment.ask.sendsRange)
        {
            // Another gap, or all of it; not the same again when that brought nothing.
            return askInTime(context)
        } else {
            return broughtNothing(ended, context)
        }
    }

    private mutating func wholeOnWire(_ context: FetchContext) -> WireOutcome? {
        if segments.isEmpty {
            frame.noteThroughput(context)
            return .finish
        }
        frame.step.effects.append(.stop(segments.map(\.key)))
        return nil
    }

    private mutating func failed(
        _ failure: Failure, _ segment: ActiveSegment, _ context: FetchContext
    ) -> WireOutcome? {
        if segment.isParallel, failure.kind.isAboutTheRequest {
            // Many servers refuse a second connection, with any status: the first is as good as
            // before.
            if !segment.hasBroughtAPiece { noteRefused(segment, context) }
            frame.run.askedPause(by: failure, at: context.now.wall)
            return segments.isEmpty ? askInTime(context) : nil
        }
        let isOfRange = segments.isEmpty && frame.bytes.mayBeOfTheRange(failure, segment)
        let failure = isOfRange ? FailureTable.restart(.noBytes) : failure
        switch failure.kind {
        case .restartFromZero where segment.ask.isAdopting:
            if failure.restart == .overlapDiffers, frame.bytes.adoptLess() {
                return askInTime(context)
            }
            return tryElsewhere(Failure.notContinued(failure.restart ?? .noBytes), context)
        case .restartFromZero where segment.ask.isForMirror:
            // Only the transfer's own URL may discard the bytes held.
            if segments.isEmpty {
                return tryElsewhere(FailureTable.mirror(failure.restart ?? .noBytes), context)
            }
            frame.connections.rangesRefused = true
            return nil
        case .restartFromZero:
            // Refuted: nothing is to be whole by it.
            if failure.restart == .lengthDisagrees, frame.bytes.have.isEmpty {
                frame.bytes.forgetVersion()
            }
            // Once; if a start from zero ends so too, it is a failure like any other.
            if case .restarting = segment.ask.proof {
                return .leave(.retry(failure))
            }
            if segment.ask.proof == .nothingHeld, frame.bytes.have.isEmpty {
                return .leave(.retry(failure))
            }
            fromZero = failure.restart ?? .noBytes
            if segments.isEmpty {
                askNext(context)
            } else {
                frame.step.effects.append(.stop(segments.map(\.key)))
            }
            return nil
        case .transient:
            // Otherwise the others go on.
            if segments.isEmpty { return tryElsewhere(failure, context) }
            if !segment.hasBroughtAPiece { noteRefused(segment, context) }
            return nil
        case .waitForStorage, .localFault:
            let fault = LocalFault(code: failure.error.code, message: failure.error.message)
            return .leave(frame.target.leaving(after: fault, bytesKept: frame.bytes.have.count))
        case .needsInput, .permanent: return tryElsewhere(failure, context)
        }
    }

    private mutating func askInTime(_ context: FetchContext) -> WireOutcome? {
        if let pause = frame.pause(at: context.now.wall) { return .leave(.pause(pause)) }
        askNext(context)
        return nil
    }

    /// The next source takes over at once. When all have failed, what may pass is waited out.
    mutating func tryElsewhere(_ failure: Failure, _ context: FetchContext) -> WireOutcome? {
        frame.run.sourceFailed(failure)
        if isAtOwnOrigin { frame.run.ownURLFailed(failure) }
        // Why its own URL is asked from zero is nothing to a mirror.
        fromZero = nil
        if frame.target.sources.count > 1 {
            frame.blame(failure, context)
            frame.run.exemptOrigin()
        }
        if segments.isEmpty, frame.moveToNextSource(context) {
            askNext(context)
            return nil
        }
        return .leave(frame.run.leaving(after: failure))
    }

    /// An answer without use: complete, unusable, or empty.
    private mutating func broughtNothing(
        _ ended: EndedRequest, _ context: FetchContext
    ) -> WireOutcome? {
        if ended.saysUnchanged, let kept = frame.target.kept {
            frame.step.effects.append(.fill(kept))
            return nil
        }
        let ask = ended.segment.ask
        if ask.isAdopting, frame.bytes.adopted != nil, ended.segment.decision != .redirect {
            return tryElsewhere(Failure.notContinued(.noBytes), context)
        }
        if frame.bytes.closeRanges(after: ended) { return askInTime(context) }
        switch ended.segment.decision {
        case .alreadyComplete(let length)?:
            fromZero = nil
            frame.bytes.state.bytesTotal = length
            return frame.bytes.isWhole ? .finish : .unusable("it calls an incomplete file complete")
        case .restartFromZero(.nothingToProve)? where ask.isExtra,
            .restartFromZero(.partialUnusable)? where ask.isExtra:
            // A reader's place is reached in its turn; the bytes held can be continued.
            frame.connections.rangesRefused = true
        case .restartFromZero(let reason)?:
            if !ask.sendsRange, ask.bypassesCaches || !reason.mayBeOfCache {
                return .unusable(reason.description)
            }
            fromZero = reason
        case .empty(.otherName)?: frame.bytes.state.emptyAnswers += 1
        case .empty?, .redirect?, .fresh?, .append?, .skip?, .restart?, .fail?, .dropSegment?,
            nil:
            frame.bytes.state.emptyAnswers += 1
            guard frame.bytes.state.emptyAnswers >= Limits.emptyAnswersBeforeZero, ask.sendsRange
            else { return .unusable("it brought no bytes") }
            fromZero = .noBytes
        }
        askNext(context)
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
    /// Another request may fare better while this one's fetch goes on.
    fileprivate var isAboutTheRequest: Bool {
        switch self {
        case .transient, .needsInput, .permanent: true
        case .waitForStorage, .restartFromZero, .localFault: false
        }
    }
}

/// Leaves a source that is too slow.
extension FetchWire {
    /// Stops the requests where their source is too slow; ``elsewhere(_:_:)`` goes on when they
    /// have ended. Returns whether requests are on their way out for that.
    mutating func leaveSlow(_ context: FetchContext) -> Bool {
        if slowness != nil { return true }
        guard fromZero == nil, held == nil, !isEmptying, !segments.isEmpty else { return false }
        let refusesRanges = segments.contains { $0.head?.headers.refusesRanges == true }
        slowness = frame.slowness(refusesRanges: refusesRanges, context)
        if slowness != nil { frame.step.effects.append(.stop(segments.map(\.key))) }
        return slowness != nil
    }

    /// The requests of a slow source have ended.
    mutating func elsewhere(_ context: FetchContext) -> WireOutcome? {
        guard segments.isEmpty, let slowness else { return nil }
        self.slowness = nil
        switch slowness {
        case .keep: preconditionFailure("a source that is not slow is not left")
        case .tooSlow:
            return tryElsewhere(Failure.slow(frame.target.request.options.minRate), context)
        case .leave(let index):
            frame.move(toSource: index, for: Failure.slow(nil), at: context.now.monotonic)
            askNext(context)
            return nil
        }
    }
}

extension Failure {
    /// The source is slower than the user wants; `nil` = than another one was.
    static func slow(_ floor: Int64?) -> Failure {
        let bound = floor.map { "\(SizeText.shown($0))/s" } ?? "another source"
        let seconds = Int(Limits.slowSourceSeconds)
        return Failure(
            .transient,
            LonghaulError(.timedOut, "the server was slower than \(bound) for \(seconds) s"))
    }
}
