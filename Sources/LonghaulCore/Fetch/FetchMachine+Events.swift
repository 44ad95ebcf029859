extension FetchMachine {
    /// What stands on the progress board for a request of this fetch, told before any event that
    /// depends on it.
    package mutating func note(
        _ key: SegmentKey, written: Int64, received: Int64, now: Instant
    ) {
        guard let index = segments.firstIndex(where: { $0.key == key }) else { return }
        let segment = segments[index]
        if received > segment.received { heard(index, at: now) }
        count(received, of: index)
        if segment.isWriting, segment.isOpen, written > segment.written {
            segments[index].written = written
            have.insert(segment.start..<written)
            learnVersion(segments[index])
        }
    }

    /// So many body bytes of a request have come by now.
    mutating func count(_ received: Int64, of index: Int) {
        let more = max(0, received - segments[index].received)
        segments[index].received += more
        state.bytesFetched = state.bytesFetched + more
    }

    package mutating func handle(_ event: FetchEvent, in context: FetchContext) -> FetchStep {
        var step = FetchStep()
        if stage == .left { return step }
        handle(event, context, &step)
        step.nextTick = nextTick
        step.isWhole = isWhole && fromZero == nil
        return step
    }

    private mutating func handle(
        _ event: FetchEvent, _ context: FetchContext, _ step: inout FetchStep
    ) {
        switch event {
        case .prepared(
            let identity, let path, let created, let size, let mountPoint, let isReplacing):
            if stage == .preparing { state.partMount = mountPoint }
            let lost = isReplacing ? RestartReason.partFileReplaced : .partFileMissing
            prepared(
                identity, path: path, lost: created ? lost : nil, size: size, context, &step)
        case .prepareFailed(let fault) where fault.unmounted != nil && leaving == nil && !isAtHome:
            goElsewhere(&step)
        case .prepareFailed(let fault):
            leaving = leaving ?? local(fault, context)
            stage = .settling
            exit(context, &step)
        case .reserved: proceedWithHeld(&step)
        case .truncated: emptied(context, &step)
        case .truncateFailed(let fault):
            isEmptying = false
            failedLocally(fault, context, &step)
        case .reserveFailed(let fault), .verifyFailed(let fault), .publishFailed(let fault):
            failedLocally(fault, context, &step)
        case .displaced(let fault, let isGone): displaced(fault, isGone: isGone, context, &step)
        case .secureFailed(let fault): secureFailed(fault, context, &step)
        case .head(let key, let head): self.head(key, head, context, &step)
        case .progress, .tick: progressed(context, &step)
        case .ended(let key, let end): ended(key, end, context, &step)
        case .synced(let token): synced(token, context, &step)
        case .syncFailed(let token, let fault): syncFailed(token, fault, context, &step)
        case .verified: verified(context, &step)
        case .mismatched(let wanted, let actual, let keptAt):
            mismatched(wanted, actual: actual, keptAt: keptAt, context, &step)
        case .secured: secured(context, &step)
        case .published(let path): published(path, &step)
        case .occupied(let next, let fault): occupied(next, fault, context, &step)
        case .foundPublished(let path): foundPublished(path, context, &step)
        case .handedOut(let leaderHasCopy): handedOut(leaderHasCopy: leaderHasCopy, &step)
        case .handOutFailed(let fault):
            if stage == .sharing { failedLocally(fault, context, &step) }
        case .filled: filled(&step)
        case .fillFailed(let fault): fillFailed(fault, context, &step)
        // Whose copy it was is not the fetch's affair.
        case .copied, .copyFailed: break
        case .leave(let departure): depart(departure, context, &step)
        }
    }

    // MARK: - Preparing

    /// Never more is held than the file has: a shorter one was cut off by somebody, or by a file
    /// system check, and would be filled up with zeros. What is behind is fetched again.
    private mutating func cutOff(at size: Int64, _ step: inout FetchStep) {
        let kept = have.upTo(size)
        if kept == have { return }
        if kept.isEmpty {
            voidBytes(.partFileShorter, &step)
        } else {
            state.durable = state.durable.upTo(size)
            have = kept
        }
        step.writes.append(.save(state))
        step.durable = true
    }

    private mutating func prepared(
        _ identity: FileIdentity, path: String, lost: RestartReason?, size: Int64?,
        _ context: FetchContext, _ step: inout FetchStep
    ) {
        guard stage == .preparing else { return }
        if let size { cutOff(at: size, &step) }
        let isAnother = lost != nil && state.partIdentity != nil
        if let lost, isAnother { voidBytes(lost, &step) }
        let isRenumbered = lost == nil && state.partIdentity.map { $0 != identity } ?? false
        state.partIdentity = identity
        state.partPath = path
        state.publication = nil
        if isRenumbered { doubtBytes(&step) }
        // Its number may be that of the one that is gone: what was held there is void in the store,
        // too, before a byte is written.
        if isAnother { step.writes.append(.save(state)) }
        // A version of which there is no byte: the next answer may be of another, and until that is
        // recorded nothing on the board may be taken for this one.
        if have.isEmpty, state.validator != nil, !isWhole {
            state.validator = nil
            state.bytesTotal = nil
            step.writes.append(.save(state))
        }
        lastCheckpoint = context.now.monotonic
        startedMoving = context.now.monotonic
        receivedAtStart = state.bytesFetched
        atStart = (have.count, state.restarts)
        if leaving != nil {
            // Somebody changed their mind while the file was being opened.
            stage = .settling
            quiet(context, &step)
        } else if isWhole {
            finish(&step)
        } else {
            stage = .moving
            askNext(context, &step)
        }
    }

    /// Its file system gives files other numbers after each mount, and only its name says that it
    /// is ours. Before anything is put to what it holds, the end of that is compared with what
    /// comes, as after an answer that brought nothing; of a whole file, too.
    private mutating func doubtBytes(_ step: inout FetchStep) {
        let end = min(have.prefix, (state.bytesTotal ?? .max) - Limits.overlapBytes)
        if end > 0 {
            state.generation += 1
            have = ByteRanges(0..<end)
            state.durable = have
            state.emptyAnswers = max(1, state.emptyAnswers)
            step.durable = true
        } else {
            voidBytes(.partFileReplaced, &step)
        }
        step.writes.append(.save(state))
    }

    /// Gives up all that is held. The caller sees to it that this is committed before a byte is
    /// overwritten.
    mutating func voidBytes(_ reason: RestartReason, _ step: inout FetchStep) {
        let lost = have.count
        state.generation += 1
        state.durable = ByteRanges()
        state.publication = nil
        have = ByteRanges()
        syncing = nil
        release(first: retired.count, &step)
        state.validator = nil
        state.bytesTotal = nil
        rangesProven = false
        if lost > 0 {
            state.restarts += 1
            step.writes.append(.restarted(transfer, reason: reason.description, bytesLost: lost))
        }
        step.durable = true
    }

    // MARK: - Leaving

    private mutating func depart(
        _ departure: FetchDeparture, _ context: FetchContext, _ step: inout FetchStep
    ) {
        switch stage {
        case .left, .publishing: return
        case .verifying, .securing:
            // So near the end that going on is the shortest way out, unless that is not wanted.
            if departure == .requeue || departure == .expire { return }
        case .sharing: if departure == .expire { return }
        case .preparing, .moving, .settling: break
        }
        switch departure {
        case .requeue, .renew:
            // A failure that is being settled has more to say than "back to the queue".
            if leaving == nil || isBeingCancelled { leave(.requeue, context, &step) }
        case .cancel(let keepingBytes):
            leave(.cancel(keepingBytes: keepingBytes), context, &step)
        case .expire: leave(.fail(FetchMachine.expired), context, &step)
        }
    }

    /// Which somebody may still take back.
    package var isBeingCancelled: Bool {
        guard case .cancel = leaving else { return false }
        return true
    }

    package static let expired = LonghaulError(
        .timedOut,
        "the deadline passed before the transfer was complete; "
            + "its bytes are kept: retry it, with a later deadline where that was fixed")

    /// A cancel has the last word, whatever fails on the way out.
    func outlasted(_ other: Leaving) -> Leaving {
        isBeingCancelled ? leaving ?? other : other
    }

    /// Stop the wire, checkpoint, and let `leaving` happen.
    mutating func leave(
        _ leaving: Leaving, _ context: FetchContext, _ step: inout FetchStep
    ) {
        self.leaving = leaving
        held = nil
        // The outcome of what the disk is at is awaited: it finds `leaving`.
        if stage == .preparing || stage == .verifying || stage == .securing { return }
        let wasMoving = stage == .moving
        // How long it needs in one go is known by that, the next time.
        if case .requeue = leaving, let origin = asked(context), isUnresumable(origin) {
            noteThroughput(context, &step)
        }
        stage = .settling
        if segments.isEmpty {
            quiet(context, &step)
        } else if wasMoving {
            step.effects.append(.stop(segments.map(\.key)))
        }
    }

    /// The wire is quiet: one last checkpoint, then out.
    mutating func quiet(_ context: FetchContext, _ step: inout FetchStep) {
        guard stage == .settling, segments.isEmpty, syncing == nil else { return }
        if have != state.durable {
            sync(&step)
        } else {
            exit(context, &step)
        }
    }

    /// The answer for whose sake it was may have broken off meanwhile.
    private mutating func emptied(_ context: FetchContext, _ step: inout FetchStep) {
        isEmptying = false
        if stage == .moving, segments.isEmpty {
            askNext(context, &step)
        } else {
            proceedWithHeld(&step)
        }
    }

    mutating func failedLocally(
        _ fault: LocalFault, _ context: FetchContext, _ step: inout FetchStep
    ) {
        switch stage {
        case .verifying, .securing, .sharing, .publishing: stage = .settling
        case .preparing, .moving, .settling, .left: break
        }
        if let end = fault.cutAt { cutOff(at: end, &step) }
        leave(outlasted(local(fault, context)), context, &step)
    }

    /// What a failure of this machine means for the transfer.
    func local(_ fault: LocalFault, _ context: FetchContext) -> Leaving {
        var error = LonghaulError(
            fault.code, fault.message, transferID: transfer, retryable: true,
            bytesKept: have.count)
        if let need = fault.storageNeed, !request.options.failOnFullDisk {
            error.message = fault.messageWhileWaiting
            return .waitForStorage(error, needs: need)
        }
        if fault.isPassing { return .retry(Failure(.transient, error)) }
        return .fail(error)
    }
}

extension ActiveSegment {
    /// Whether the end of its body is the end of the file.
    var bringsTheWhole: Bool {
        switch decision {
        case .fresh, .skip, .restart: true
        case .append, .alreadyComplete, .restartFromZero, .dropSegment, .redirect, .fail, .empty,
            nil:
            false
        }
    }

    /// Whether what stands on the board was written for it: only after its head was found good.
    var isWriting: Bool {
        switch decision {
        case .fresh, .append, .skip, .restart: true
        case .alreadyComplete, .restartFromZero, .dropSegment, .redirect, .fail, .empty, nil: false
        }
    }
}
