internal import LonghaulModel

extension DownloadMachine {
    func react(to event: FetchEvent, in context: FetchContext) {
        switch event {
        case .prepared(
            let identity, let path, let created, let size, let mountPoint, let isReplacing):
            guard case .preparing(let leaving) = state else { return }
            frame.bytes.state.partMount = mountPoint
            let lost = isReplacing ? RestartReason.partFileReplaced : .partFileMissing
            frame.opened(identity, path: path, lost: created ? lost : nil, size: size)
            prepared(leaving, context)
        case .prepareFailed(let fault):
            guard case .preparing(let leaving) = state else { return }
            if fault.unmounted != nil, leaving == nil, !frame.isAtHome {
                state = .left(nil)
                return frame.exitElsewhere()
            }
            exit(leaving ?? frame.leaving(after: fault), context)
        case .reserved: if state == .moving { wire.proceedWithHeld() }
        case .truncated: emptied(context)
        case .truncateFailed(let fault):
            wire.isEmptying = false
            failedLocally(fault, context)
        case .reserveFailed(let fault), .verifyFailed(let fault), .publishFailed(let fault):
            failedLocally(fault, context)
        case .displaced(let fault, let isGone): displaced(fault, isGone: isGone, context)
        case .secureFailed(let fault):
            // As after a failed sync: the durable bytes are those of the last good one.
            wire.distrustWritten()
            failedLocally(fault, context)
        case .head(let key, let head):
            let answer = RequestHead(of: key, head, on: wire, context)
            if state == .moving { answer?.act() }
            if stage == .settling { answer?.actLate() }
        case .progress, .tick: progressed(context)
        case .ended(let key, let end): ended(key, end, context)
        case .synced(let token): synced(token, context)
        case .syncFailed(let token, let fault): syncFailed(token, fault, context)
        case .verified: verified(context)
        case .mismatched(let wanted, let actual, let keptAt):
            mismatched(wanted, actual: actual, keptAt: keptAt, context)
        case .secured: secured(context)
        case .published(let path): if state == .publishing { complete(as: path) }
        case .occupied(let next, let fault): occupied(next, fault, context)
        case .foundPublished(let path): foundPublished(path)
        case .handedOut(let leaderHasCopy): handedOut(leaderHasCopy: leaderHasCopy)
        case .handOutFailed(let fault): if state == .sharing { failedLocally(fault, context) }
        case .filled(let zeros): filled(zerosFrom: zeros, context)
        case .fillFailed(let fault): fillFailed(fault, context)
        // Copies belong to their transfers; the others are of uploads.
        case .copied, .copyFailed, .opened, .looked, .interim, .digested: break
        case .leave(let departure): depart(departure, context)
        }
    }

    // MARK: - The part file

    /// - Parameter leaving: The reason to leave that was given while the file was being opened.
    private func prepared(_ leaving: FetchLeaving?, _ context: FetchContext) {
        frame.bytes.checkpoints.start(at: context.now.monotonic)
        frame.run.start(frame.bytes, at: context.now.monotonic)
        if let leaving {
            settle(leaving, context)
        } else if frame.bytes.isWhole {
            finish()
        } else if frame.bytes.have.isEmpty, let kept = frame.target.continued, kept.length > 0 {
            state = .checking(leaving: nil)
            frame.step.effects.append(.fill(kept))
        } else {
            state = .moving
            wire.fromZero = frame.bytes.wholeAfterRefusals(frame.target.lastError)
            wire.askNext(context)
        }
    }

    /// The answer that needed the file empty may have broken off meanwhile.
    private func emptied(_ context: FetchContext) {
        wire.isEmptying = false
        guard state == .moving else { return }
        if segments.isEmpty {
            wire.askNext(context)
        } else {
            wire.proceedWithHeld()
        }
    }

    /// Another program moved or deleted the part file. A fetch that is leaving keeps its reason;
    /// the next attempt finds the change.
    private func displaced(_ fault: LocalFault, isGone: Bool, _ context: FetchContext) {
        if isGone {
            frame.void(.partFileMissing)
            wire.ignoreWritten()
            frame.bytes.state.partIdentity = nil
            frame.save()
        }
        if stage == .settling {
            quiet(context)
        } else {
            failedLocally(fault, context)
        }
    }

    // MARK: - Bytes

    private func ended(_ key: SegmentKey, _ end: SegmentEnd, _ context: FetchContext) {
        guard let ended = wire.remove(key, end, context) else { return }
        // Back to the queue, where a more urgent transfer may pass.
        if end.failure == .withdrawn, leaving == nil { return leave(.requeue, context) }
        if stage == .settling { return quiet(context) }
        guard state == .moving else { return }
        switch RequestEnd(wire: wire, ended: ended, context: context).outcome() {
        case .finish?: finish()
        case .leave(let reason)?: leave(reason, context)
        case nil: break
        }
    }

    /// Bytes moved or time passed: a checkpoint may be due, and so may another connection.
    private func progressed(_ context: FetchContext) {
        guard state == .moving else { return }
        let now = context.now.monotonic
        frame.bytes.checkpoints.ticked(at: now)
        if frame.bytes.checkpoints.pinFallsDue(at: now) {
            frame.bytes.state.isPrefetched = false
            frame.save()
        }
        if wire.held == nil, frame.bytes.isCheckpointDue(at: now) { frame.sync() }
        if !wire.leaveSlow(context) { wire.split(context) }
    }

    private func synced(_ token: Int64, _ context: FetchContext) {
        guard frame.synced(token, at: context.now.monotonic) else { return }
        if stage == .settling {
            quiet(context)
        } else if state == .moving, segments.isEmpty, frame.bytes.isWhole {
            finish()
        } else {
            progressed(context)
        }
    }

    /// The kernel may have dropped the pages that it could not write, and answers 0 to the next
    /// sync: the bytes written since the last good one are unknown. They are given up, under a new
    /// generation, so that the board's numbers for them are void.
    private func syncFailed(_ token: Int64, _ fault: LocalFault, _ context: FetchContext) {
        guard frame.bytes.checkpoints.endSync(token) != nil else { return }
        wire.distrustWritten()
        leave(frame.leaving(after: fault), context)
    }
}
