/// What becomes of the fetch when a request has left the wire.
extension FetchMachine {
    mutating func ended(
        _ key: SegmentKey, _ end: SegmentEnd, _ context: FetchContext, _ step: inout FetchStep
    ) {
        guard let index = segments.firstIndex(where: { $0.key == key }) else { return }
        let segment = segments.remove(at: index)
        if segment.isWriting, end.writtenThrough > segment.start {
            have.insert(segment.start..<end.writtenThrough)
            gained = true
            state.emptyAnswers = 0
        }
        if held?.key == key { held = nil }
        let report = report(on: segment, end, context)
        step.writes.append(.attempt(transfer, outcome(of: segment, end, report, context)))
        switch stage {
        case .settling: quiet(context, &step)
        case .moving: next(after: segment, end, report, context, &step)
        case .preparing, .verifying, .securing, .publishing, .left: break
        }
    }

    /// The failure that the request ended with, classified; `nil` if it did what it was sent for.
    private func report(
        on segment: ActiveSegment, _ end: SegmentEnd, _ context: FetchContext
    ) -> FailureReport? {
        if case .fail(let failure)? = segment.decision {
            return FailureReport(failure, transfer: transfer, bytesKept: have.count)
        }
        if let failure = end.failure {
            switch failure {
            case .stopped, .refused: return nil
            case .bodyTooLong where state.bytesTotal == nil && request.options.maxSize != nil:
                return FailureReport(
                    failureClass: .permanent,
                    error: LonghaulError(
                        .tooLarge, "The body is longer than the limit of --max-size.",
                        transferID: transfer))
            case .overlapDiffers, .bodyTooLong, .stalled, .disk, .redirect, .headTooLarge, .curl:
                return FailureReport(
                    FailureTable.classify(failure), transfer: transfer, bytesKept: have.count)
            }
        }
        guard segment.isWriting, let promised = segment.end ?? state.bytesTotal,
            end.writtenThrough < promised, !have.contains(end.writtenThrough..<promised)
        else { return nil }
        return FailureReport(
            failureClass: .transient,
            error: LonghaulError(
                .network, "The server sent fewer bytes than it promised; trying again.",
                transferID: transfer, retryable: true, bytesKept: have.count))
    }

    private mutating func next(
        after segment: ActiveSegment, _ end: SegmentEnd, _ report: FailureReport?,
        _ context: FetchContext, _ step: inout FetchStep
    ) {
        if segment.isWriting, state.bytesTotal == nil, end.failure == nil {
            // The framing ended as it should, and nothing else promised a length.
            state.bytesTotal = end.writtenThrough
        }
        if isWhole, !fromZero {
            wholeOnWire(context, &step)
            return
        }
        if let report {
            failed(report, end, context, &step)
            return
        }
        if fromZero || segment.isParallel || segment.isWriting {
            // Another gap, or the others go on.
            if segments.isEmpty { askNext(context, &step) } else { split(context, &step) }
            return
        }
        brought(nothing: segment, context, &step)
    }

    private mutating func wholeOnWire(_ context: FetchContext, _ step: inout FetchStep) {
        if segments.isEmpty {
            noteThroughput(context, &step)
            finish(&step)
        } else {
            step.effects.append(.stop(segments.map(\.key)))
        }
    }

    /// The origin's throughput, for planning, from transfers long enough to tell.
    private func noteThroughput(_ context: FetchContext, _ step: inout FetchStep) {
        guard let startedMoving else { return }
        let seconds = context.now.monotonic - startedMoving
        let bytes = state.bytesFetched - receivedAtStart
        let rate = seconds > 1 && bytes > 1 << 20 ? Double(bytes) / seconds : nil
        let isNews =
            rate != nil || context.origin.failures > 0 || context.origin.coolDownUntil != nil
            || (lastHTTPVersion >= 20) != context.origin.speaksHTTP2
        guard isNews else { return }
        step.writes.append(
            .originWorked(
                origin: context.origin.origin, bytesPerSecond: rate, http2: lastHTTPVersion >= 20))
    }

    private mutating func failed(
        _ report: FailureReport, _ end: SegmentEnd, _ context: FetchContext,
        _ step: inout FetchStep
    ) {
        switch report.failureClass {
        case .restartFromZero:
            // Once; if a start from zero ends so too, it is a failure like any other.
            if fromZero {
                leave(.retry(report, gained: gained), context, &step)
            } else {
                fromZero = true
                stopOthersOrAsk(context, &step)
            }
        case .transient:
            if segments.isEmpty {
                leave(.retry(report, gained: gained), context, &step)
            } else {
                // The others go on; fewer connections from here.
                auto.failed()
            }
        case .waitForStorage, .localFault:
            let fault = LocalFault(code: report.error.code, message: report.error.message)
            leave(local(fault, context), context, &step)
        case .needsInput, .permanent:
            // Each source gets its chance before the transfer fails.
            if state.fruitlessAttempts + 1 < sources.count {
                var report = report
                report.failureClass = .transient
                leave(.retry(report, gained: gained), context, &step)
            } else {
                leave(.fail(report.error), context, &step)
            }
        }
    }

    private mutating func stopOthersOrAsk(_ context: FetchContext, _ step: inout FetchStep) {
        if segments.isEmpty {
            askNext(context, &step)
        } else {
            step.effects.append(.stop(segments.map(\.key)))
        }
    }

    /// An answer without use: complete, unusable, or empty.
    private mutating func brought(
        nothing segment: ActiveSegment, _ context: FetchContext, _ step: inout FetchStep
    ) {
        switch segment.decision {
        case .alreadyComplete?:
            state.bytesTotal = have.prefix
            finish(&step)
        case .restartFromZero(let reason)?:
            if segment.ask.start == nil {
                leave(.retry(unusable(reason.sentence), gained: gained), context, &step)
            } else {
                fromZero = true
                askNext(context, &step)
            }
        case .empty?, .redirect?, .fresh?, .append?, .skip?, .restart?, .fail?, nil:
            state.emptyAnswers += 1
            if state.emptyAnswers == Limits.emptyAnswersBeforeZero, segment.ask.start != nil {
                fromZero = true
                askNext(context, &step)
            } else {
                leave(
                    .retry(unusable("the answer brought no bytes"), gained: gained), context, &step)
            }
        }
    }

    private func unusable(_ what: String) -> FailureReport {
        FailureReport(
            failureClass: .transient,
            error: LonghaulError(
                .serverError, "The server's answer could not be used: \(what).",
                transferID: transfer, retryable: true, bytesKept: have.count))
    }

    private func outcome(
        of segment: ActiveSegment, _ end: SegmentEnd, _ report: FailureReport?,
        _ context: FetchContext
    ) -> AttemptOutcome {
        let word: String
        if let report {
            word = report.error.code.rawValue
        } else if end.failure == .stopped {
            word = "stopped"
        } else {
            word = end.failure == .refused ? "unusable" : "completed"
        }
        return AttemptOutcome(
            startedAt: segment.startedAt, endedAt: context.now.wall,
            url: segment.head?.effectiveURL ?? segment.url, bytes: end.bytesReceived,
            httpStatus: segment.head?.status,
            httpVersion: end.httpVersion == 0 ? segment.head?.httpVersion : end.httpVersion,
            outcome: word, message: report?.error.message)
    }
}
