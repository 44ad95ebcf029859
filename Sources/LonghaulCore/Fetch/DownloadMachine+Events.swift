extension DownloadMachine {
    mutating func react(to event: FetchEvent, in context: FetchContext) -> FetchStep {
        var step = FetchStep()
        react(to: event, context, &step)
        return step
    }

    private mutating func react(
        to event: FetchEvent, _ context: FetchContext, _ step: inout FetchStep
    ) {
        switch event {
        case .prepared(
            let identity, let path, let created, let size, let mountPoint, let isReplacing):
            if stage == .preparing { wire.frame.bytes.state.partMount = mountPoint }
            let lost = isReplacing ? RestartReason.partFileReplaced : .partFileMissing
            prepared(
                identity, path: path, lost: created ? lost : nil, size: size, context, &step)
        case .prepareFailed(let fault) where fault.unmounted != nil && leaving == nil && !isAtHome:
            goElsewhere(&step)
        case .prepareFailed(let fault):
            leaving = leaving ?? leaving(after: fault)
            stage = .settling
            exit(context, &step)
        case .reserved: if stage == .moving { wire.proceedWithHeld(&step) }
        case .truncated: emptied(context, &step)
        case .truncateFailed(let fault):
            wire.isEmptying = false
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
        case .filled: filled(context, &step)
        case .fillFailed(let fault): fillFailed(fault, context, &step)
        // Whose copy it was is not the fetch's affair; the other two are of uploads.
        case .copied, .copyFailed, .opened, .interim: break
        case .leave(let departure): depart(departure, context, &step)
        }
    }

    // MARK: - Requests

    private mutating func head(
        _ key: SegmentKey, _ head: ResponseHead, _ context: FetchContext, _ step: inout FetchStep
    ) {
        switch stage {
        case .moving: wire.head(key, head, context, &step)
        case .settling: wire.lateHead(key, head, context, &step)
        case .preparing, .checking, .verifying, .securing, .sharing, .publishing, .left: break
        }
    }

    private mutating func ended(
        _ key: SegmentKey, _ end: SegmentEnd, _ context: FetchContext, _ step: inout FetchStep
    ) {
        guard let ended = wire.remove(key, end, context, &step) else { return }
        if end.failure == .withdrawn, leaving == nil {
            // Back to the queue, where what is more urgent may pass.
            return leave(.requeue, context, &step)
        }
        switch stage {
        case .settling: quiet(context, &step)
        case .moving:
            switch wire.next(after: ended, context, &step) {
            case .finish?: finish(&step)
            case .leave(let leaving)?: leave(leaving, context, &step)
            case nil: break
            }
        case .preparing, .checking, .verifying, .securing, .sharing, .publishing, .left: break
        }
    }

    // MARK: - Preparing

    private mutating func prepared(
        _ identity: FileIdentity, path: String, lost: RestartReason?, size: Int64?,
        _ context: FetchContext, _ step: inout FetchStep
    ) {
        guard stage == .preparing else { return }
        wire.frame.bytes.opened(identity, path: path, lost: lost, size: size, of: transfer, &step)
        wire.frame.bytes.checkpoints.start(at: context.now.monotonic)
        wire.frame.run.start(wire.frame.bytes, at: context.now.monotonic)
        if leaving != nil {
            // Something else was asked for while the file was being opened.
            stage = .settling
            quiet(context, &step)
        } else if isWhole {
            finish(&step)
        } else if have.isEmpty, let kept = wire.frame.target.continued, kept.length > 0 {
            stage = .checking
            step.effects.append(.fill(kept))
        } else {
            stage = .moving
            wire.askNext(context, &step)
        }
    }

    // MARK: - Leaving

    private mutating func depart(
        _ departure: FetchDeparture, _ context: FetchContext, _ step: inout FetchStep
    ) {
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
            if leaving == nil || wire.frame.isBeingCancelled { leave(.requeue, context, &step) }
        case .cancel(let keepingBytes):
            leave(.cancel(keepingBytes: keepingBytes), context, &step)
        case .expire: leave(.fail(.deadlinePassed(on: wire.frame)), context, &step)
        }
    }

    /// A cancel has the last word, whatever fails on the way out.
    func outlasted(_ other: FetchLeaving) -> FetchLeaving {
        wire.frame.isBeingCancelled ? leaving ?? other : other
    }

    /// Stop the wire, checkpoint, and let `leaving` happen.
    mutating func leave(
        _ leaving: FetchLeaving, _ context: FetchContext, _ step: inout FetchStep
    ) {
        self.leaving = leaving
        wire.held = nil
        // The outcome of what the disk is at is awaited: it finds `leaving`.
        switch stage {
        case .preparing, .checking, .verifying, .securing: return
        case .moving, .settling, .sharing, .publishing, .left: break
        }
        let wasMoving = stage == .moving
        // How long it needs in one go is known by that, the next time.
        if case .requeue = leaving, let origin = wire.asked(context), isUnresumable(origin) {
            wire.frame.collecting(in: &step) { $0.noteThroughput(context) }
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
        wire.frame.bytes.dropAdopted()
        if have != state.durable {
            wire.frame.bytes.sync(digests: digests, &step)
        } else {
            exit(context, &step)
        }
    }

    private mutating func exit(_ context: FetchContext, _ step: inout FetchStep) {
        guard let leaving else { return }
        stage = .left
        wire.frame.collecting(in: &step) { $0.exit(leaving, context) }
    }

    /// The answer that needed it empty may have broken off meanwhile.
    private mutating func emptied(_ context: FetchContext, _ step: inout FetchStep) {
        wire.isEmptying = false
        guard stage == .moving else { return }
        if segments.isEmpty {
            wire.askNext(context, &step)
        } else {
            wire.proceedWithHeld(&step)
        }
    }

    mutating func failedLocally(
        _ fault: LocalFault, _ context: FetchContext, _ step: inout FetchStep
    ) {
        switch stage {
        case .verifying, .securing, .sharing, .publishing: stage = .settling
        case .preparing, .checking, .moving, .settling, .left: break
        }
        if let end = fault.cutAt { wire.frame.bytes.cutOff(at: end, of: transfer, &step) }
        leave(outlasted(leaving(after: fault)), context, &step)
    }

    private func leaving(after fault: LocalFault) -> FetchLeaving {
        wire.frame.target.leaving(after: fault, bytesKept: have.count)
    }
}
