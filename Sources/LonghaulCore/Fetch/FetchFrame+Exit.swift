internal import LonghaulModel

/// Off the wire, checkpointed: records the next state of the transfer.
extension FetchFrame {
    func exit(_ leaving: FetchLeaving, _ context: FetchContext) {
        let hasGained = run.hasGained(bytes)
        if hasGained { bytes.state.fruitlessAttempts = 0 }
        let deletesPart = !target.isUpload && !bytes.isPartOfUse
        if deletesPart, !leaving.isCancel {
            // If its disk has become read-only, a later engine deletes it.
            if let part = bytes.state.recordedPart { step.writes.append(.orphan(part)) }
            // The next part file is another one: its name has to be made durable, too.
            bytes.state.partIdentity = nil
        }
        switch leaving {
        case .requeue:
            save()
            if hasGained, target.lastError != nil {
                step.writes.append(.lastError(target.transfer, nil))
            }
            step.writes.append(.queued(target.transfer, readyAt: nil, waitingFor: []))
        case .retry(let failure): retry(failure, hasGained: hasGained, context)
        case .pause(let pause):
            requeue(
                at: pause.until, .backoff, required: WaitReason.retryAfter, pause.error,
                context)
        case .waitForStorage(let error, let need):
            waitForStorage(error, needs: need, context)
        case .fail(let error): fail(error)
        case .needInput(let error): needInput(error)
        case .cancel(let keepingBytes):
            // Else a part file that cannot be deleted now would be forgotten.
            save()
            step.writes.append(.cancelled(target.transfer, bytes.totals))
            step.durable = true
            if !keepingBytes { step.writes.append(.dropFetch(target.transfer)) }
            // The file of an upload is its owner's.
            step.effects.append(.close(deletingPart: !target.isUpload && !keepingBytes))
            return
        }
        step.effects.append(.close(deletingPart: deletesPart))
    }

    /// The file has its name.
    func exitCompleted(as path: String) {
        step.writes.append(.completed(target.transfer, path: path, bytes.totals))
        step.durable = true
        step.effects.append(.close(deletingPart: false))
    }

    /// As if the file had existed when the transfer was enqueued: it stays, and the bytes fetched
    /// are dropped.
    func exitSkipped() {
        let path = bytes.state.publication ?? target.destination
        let error = target.skipped(keeping: path)
        step.writes.append(.skipped(target.transfer, error, path: path, bytes.totals))
        step.durable = true
        step.effects.append(.close(deletingPart: true))
    }

    private func retry(_ failure: Failure, hasGained: Bool, _ context: FetchContext) {
        var random = SeededGenerator(seed: context.seed)
        blame(failure, context)
        var failure = failure
        if !hasGained, let hindrance = run.hindrance, failure.restart == nil {
            failure.error.message += "; \(hindrance)"
        }
        let verdict = RetryPolicy.decide(
            failure,
            attempts: RetryPolicy.Attempts(
                fruitless: bytes.state.fruitlessAttempts, hasGained: hasGained,
                sinceRequest: run.sinceRequest(at: context.now.monotonic),
                retries: target.request.options.retries,
                unreachable: bytes.have.isEmpty
                    ? target.request.options.unreachableAttempts : nil),
            now: context.now.wall, deadline: target.deadline, using: &random)
        bytes.nextSource(in: target)
        let required = failure.retryAfter.map { _ in WaitReason.retryAfter }
        switch verdict {
        case .retry(let at, let count, let error):
            bytes.state.fruitlessAttempts = count
            requeue(at: at, .backoff, required: required, error, context)
        case .restart(_, let at, let count):
            bytes.state.fruitlessAttempts = count
            requeue(at: at, .backoff, required: required, failure.error, context)
        case .waitForStorage(let error):
            waitForStorage(error, needs: .space, context)
        case .needsInput(let error): needInput(error)
        case .fail(let error): fail(error)
        }
    }

    private func fail(_ error: LonghaulError) {
        save()
        step.writes.append(.failed(target.transfer, signed(error), bytes.totals))
        step.durable = true
    }

    private func needInput(_ error: LonghaulError) {
        save()
        step.writes.append(.needsInput(target.transfer, signed(error), bytes.totals))
        step.durable = true
    }

    private func waitForStorage(
        _ error: LonghaulError, needs need: StorageNeed, _ context: FetchContext
    ) {
        requeue(
            at: context.now.wall + Limits.storageCheckSeconds, .storage,
            required: need.rawValue, error, context)
    }

    private func requeue(
        at next: Timestamp, _ reason: WaitReason.Reason, required: String?,
        _ error: LonghaulError, _ context: FetchContext
    ) {
        save()
        step.writes.append(.lastError(target.transfer, signed(error)))
        step.writes.append(
            .queued(
                target.transfer, readyAt: next,
                waitingFor: [
                    WaitReason(
                        reason, required: required, current: error.message,
                        since: context.now.wall, nextCheck: next)
                ]))
    }

    /// Adds the transfer and the bytes kept.
    private func signed(_ error: LonghaulError) -> LonghaulError {
        var error = error
        error.transferID = target.transfer
        error.bytesKept = bytes.have.count
        return error
    }
}
