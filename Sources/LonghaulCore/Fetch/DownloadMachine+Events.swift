internal import LonghaulModel

extension DownloadMachine {
    mutating func react(to event: FetchEvent, in context: FetchContext) {
        switch event {
        case .prepared(
            let identity, let path, let created, let size, let mountPoint, let isReplacing):
            if stage == .preparing { wire.frame.bytes.state.partMount = mountPoint }
            let lost = isReplacing ? RestartReason.partFileReplaced : .partFileMissing
            prepared(identity, path: path, lost: created ? lost : nil, size: size, context)
        case .prepareFailed(let fault) where fault.unmounted != nil && leaving == nil && !isAtHome:
            goElsewhere()
        case .prepareFailed(let fault):
            leaving = leaving ?? leaving(after: fault)
            stage = .settling
            exit(context)
        case .reserved: if stage == .moving { wire.proceedWithHeld() }
        case .truncated: emptied(context)
        case .truncateFailed(let fault):
            wire.isEmptying = false
            failedLocally(fault, context)
        case .reserveFailed(let fault), .verifyFailed(let fault), .publishFailed(let fault):
            failedLocally(fault, context)
        case .displaced(let fault, let isGone): displaced(fault, isGone: isGone, context)
        case .secureFailed(let fault): secureFailed(fault, context)
        case .head(let key, let head): self.head(key, head, context)
        case .progress, .tick: progressed(context)
        case .ended(let key, let end): ended(key, end, context)
        case .synced(let token): synced(token, context)
        case .syncFailed(let token, let fault): syncFailed(token, fault, context)
        case .verified: verified(context)
        case .mismatched(let wanted, let actual, let keptAt):
            mismatched(wanted, actual: actual, keptAt: keptAt, context)
        case .secured: secured(context)
        case .published(let path): published(path)
        case .occupied(let next, let fault): occupied(next, fault, context)
        case .foundPublished(let path): foundPublished(path, context)
        case .handedOut(let leaderHasCopy): handedOut(leaderHasCopy: leaderHasCopy)
        case .handOutFailed(let fault):
            if stage == .sharing { failedLocally(fault, context) }
        case .filled(let zeros): filled(zerosFrom: zeros, context)
        case .fillFailed(let fault): fillFailed(fault, context)
        // Whose copy it was is not the fetch's affair; the others are of uploads.
        case .copied, .copyFailed, .opened, .interim, .digested: break
        case .leave(let departure): depart(departure, context)
        }
    }

    // MARK: - Requests

    private mutating func head(_ key: SegmentKey, _ head: ResponseHead, _ context: FetchContext) {
        switch stage {
        case .moving: wire.head(key, head, context)
        case .settling: wire.lateHead(key, head, context)
        case .preparing, .checking, .verifying, .securing, .sharing, .publishing, .left: break
        }
    }

    private mutating func ended(_ key: SegmentKey, _ end: SegmentEnd, _ context: FetchContext) {
        guard let ended = wire.remove(key, end, context) else { return }
        if end.failure == .withdrawn, leaving == nil {
            // Back to the queue, where what is more urgent may pass.
            return leave(.requeue, context)
        }
        switch stage {
        case .settling: quiet(context)
        case .moving:
            switch wire.next(after: ended, context) {
            case .finish?: finish()
            case .leave(let leaving)?: leave(leaving, context)
            case nil: break
            }
        case .preparing, .checking, .verifying, .securing, .sharing, .publishing, .left: break
        }
    }

    // MARK: - Preparing

    private mutating func prepared(
        _ identity: FileIdentity, path: String, lost: RestartReason?, size: Int64?,
        _ context: FetchContext
    ) {
        guard stage == .preparing else { return }
        wire.frame.opened(identity, path: path, lost: lost, size: size)
        wire.frame.bytes.checkpoints.start(at: context.now.monotonic)
        wire.frame.run.start(wire.frame.bytes, at: context.now.monotonic)
        if leaving != nil {
            // Something else was asked for while the file was being opened.
            stage = .settling
            quiet(context)
        } else if isWhole {
            finish()
        } else if have.isEmpty, let kept = wire.frame.target.continued, kept.length > 0 {
            stage = .checking
            wire.frame.step.effects.append(.fill(kept))
        } else {
            stage = .moving
            wire.fromZero = wire.frame.bytes.wholeAfterRefusals(wire.frame.target.lastError)
            wire.askNext(context)
        }
    }

    // MARK: - Leaving

    private mutating func depart(_ departure: FetchDeparture, _ context: FetchContext) {
        switch stage {
        case .left, .publishing: return
        case .verifying, .securing:
            // Going on is the shortest way out so near the end, unless the end is unwanted.
            if departure == .requeue || departure == .expire { return }
        case .sharing: if departure == .expire { return }
        case .preparing, .checking, .moving, .settling: break
        }
        switch departure {
        case .requeue, .renew:
            // A failure that is being settled has more to say than "back to the queue".
            if leaving == nil || leaving?.isCancel == true { leave(.requeue, context) }
        case .cancel(let keepingBytes):
            leave(.cancel(keepingBytes: keepingBytes), context)
        case .expire: leave(.fail(.deadlinePassed(on: wire.frame)), context)
        }
    }

    /// A cancel has the last word, whatever fails on the way out.
    func outlasted(_ other: FetchLeaving) -> FetchLeaving {
        leaving?.isCancel == true ? leaving ?? other : other
    }

    /// Stop the wire, checkpoint, and let `leaving` happen.
    mutating func leave(_ leaving: FetchLeaving, _ context: FetchContext) {
        self.leaving = leaving
        wire.held = nil
        // The outcome of what the disk is at is awaited: it finds `leaving`.
        switch stage {
        case .preparing, .checking, .verifying, .securing: return
        case .moving, .settling, .sharing, .publishing, .left: break
        }
        let wasMoving = stage == .moving
        // How long it needs in one go is known by that, the next time.
        if case .requeue = leaving, let origin = wire.ownMemory(context), isUnresumable(origin) {
            wire.frame.noteThroughput(context)
        }
        stage = .settling
        if segments.isEmpty {
            quiet(context)
        } else if wasMoving {
            wire.frame.step.effects.append(.stop(segments.map(\.key)))
        }
    }

    /// The wire is quiet: one last checkpoint, then out.
    mutating func quiet(_ context: FetchContext) {
        guard stage == .settling, segments.isEmpty, syncing == nil else { return }
        wire.frame.bytes.dropAdopted()
        if have != state.durable {
            wire.frame.sync(digests: digests)
        } else {
            exit(context)
        }
    }

    private mutating func exit(_ context: FetchContext) {
        guard let leaving else { return }
        stage = .left
        wire.frame.exit(leaving, context)
    }

    /// The answer that needed it empty may have broken off meanwhile.
    private mutating func emptied(_ context: FetchContext) {
        wire.isEmptying = false
        guard stage == .moving else { return }
        if segments.isEmpty {
            wire.askNext(context)
        } else {
            wire.proceedWithHeld()
        }
    }

    mutating func failedLocally(_ fault: LocalFault, _ context: FetchContext) {
        switch stage {
        case .verifying, .securing, .sharing, .publishing: stage = .settling
        case .preparing, .checking, .moving, .settling, .left: break
        }
        if let end = fault.cutAt { wire.frame.cutOff(at: end) }
        leave(outlasted(leaving(after: fault)), context)
    }

    private func leaving(after fault: LocalFault) -> FetchLeaving {
        var fault = fault
        if fault.isBusy, state.fruitlessAttempts >= Limits.busyRetries { fault.isPassing = false }
        return wire.frame.target.leaving(after: fault, bytesKept: have.count)
    }
}
