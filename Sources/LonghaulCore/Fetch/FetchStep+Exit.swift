/// Off the wire, checkpointed: what is recorded of the transfer now.
extension FetchStep {
    mutating func exit(
        _ frame: inout FetchFrame, _ leaving: FetchLeaving, _ context: FetchContext
    ) {
        let hasGained = frame.run.hasGained(frame.bytes)
        if hasGained { frame.bytes.state.fruitlessAttempts = 0 }
        let deletesPart = !frame.target.isUpload && !frame.bytes.isPartOfUse
        // The next part file is another one: its name has to be made durable, too.
        if deletesPart, !leaving.isCancel { frame.bytes.state.partIdentity = nil }
        switch leaving {
        case .requeue:
            writes.append(.save(frame.bytes.state))
            if hasGained, frame.target.lastError != nil {
                writes.append(.lastError(frame.target.transfer, nil))
            }
            writes.append(.queued(frame.target.transfer, readyAt: nil, waitingFor: []))
        case .retry(let failure): retry(&frame, failure, hasGained: hasGained, context)
        case .pause(let pause):
            requeue(
                frame, at: pause.until, .backoff, required: WaitReason.retryAfter, pause.error,
                context)
        case .waitForStorage(let error, let need):
            waitForStorage(frame, error, needs: need, context)
        case .fail(let error): fail(frame, error)
        case .needInput(let error): needInput(frame, error)
        case .cancel(let keepingBytes):
            // Else a part file that cannot be deleted now would be forgotten.
            writes.append(.save(frame.bytes.state))
            writes.append(.cancelled(frame.target.transfer, frame.bytes.totals))
            durable = true
            if !keepingBytes { writes.append(.dropFetch(frame.target.transfer)) }
            // The file of an upload is its owner's.
            effects.append(.close(deletingPart: !frame.target.isUpload && !keepingBytes))
            return
        }
        effects.append(.close(deletingPart: deletesPart))
    }

    private mutating func retry(
        _ frame: inout FetchFrame, _ failure: Failure, hasGained: Bool, _ context: FetchContext
    ) {
        var random = SeededGenerator(seed: context.seed)
        frame.blame(failure, context, &self)
        let verdict = RetryPolicy.decide(
            failure,
            attempts: RetryPolicy.Attempts(
                fruitless: frame.bytes.state.fruitlessAttempts, hasGained: hasGained,
                sinceRequest: frame.run.sinceRequest(at: context.now.monotonic),
                retries: frame.target.request.options.retries,
                unreachable: frame.bytes.have.isEmpty
                    ? frame.target.request.options.unreachableAttempts : nil),
            now: context.now.wall, deadline: frame.target.deadline, using: &random)
        frame.bytes.nextSource(in: frame.target)
        let wish = failure.retryAfter.map { _ in WaitReason.retryAfter }
        switch verdict {
        case .retry(let at, let count, let error):
            frame.bytes.state.fruitlessAttempts = count
            requeue(frame, at: at, .backoff, required: wish, error, context)
        case .restart(_, let at, let count):
            frame.bytes.state.fruitlessAttempts = count
            requeue(frame, at: at, .backoff, required: wish, failure.error, context)
        case .waitForStorage(let error):
            waitForStorage(frame, error, needs: .space, context)
        case .needsInput(let error): needInput(frame, error)
        case .fail(let error): fail(frame, error)
        }
    }

    private mutating func fail(_ frame: FetchFrame, _ error: LonghaulError) {
        writes.append(.save(frame.bytes.state))
        writes.append(.failed(frame.target.transfer, signed(error, frame), frame.bytes.totals))
        durable = true
    }

    private mutating func needInput(_ frame: FetchFrame, _ error: LonghaulError) {
        writes.append(.save(frame.bytes.state))
        writes.append(.needsInput(frame.target.transfer, signed(error, frame), frame.bytes.totals))
        durable = true
    }

    private mutating func waitForStorage(
        _ frame: FetchFrame, _ error: LonghaulError, needs need: StorageNeed,
        _ context: FetchContext
    ) {
        requeue(
            frame, at: context.now.wall + Limits.storageCheckSeconds, .storage,
            required: need.rawValue, error, context)
    }

    private mutating func requeue(
        _ frame: FetchFrame, at next: Timestamp, _ reason: WaitReason.Reason, required: String?,
        _ error: LonghaulError, _ context: FetchContext
    ) {
        writes.append(.save(frame.bytes.state))
        writes.append(.lastError(frame.target.transfer, signed(error, frame)))
        writes.append(
            .queued(
                frame.target.transfer, readyAt: next,
                waitingFor: [
                    WaitReason(
                        reason, required: required, current: error.message,
                        since: context.now.wall, nextCheck: next)
                ]))
    }

    /// Says whose error it is, and what is kept.
    private func signed(_ error: LonghaulError, _ frame: FetchFrame) -> LonghaulError {
        var error = error
        error.transferID = frame.target.transfer
        error.bytesKept = frame.bytes.have.count
        return error
    }
}
