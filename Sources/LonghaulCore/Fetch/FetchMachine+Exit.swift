/// Off the wire, checkpointed: what is recorded of the transfer now.
extension FetchMachine {
    mutating func exit(_ context: FetchContext, _ step: inout FetchStep) {
        guard let leaving else { return }
        stage = .left
        if progress > 0 { state.fruitlessAttempts = 0 }
        switch leaving {
        case .requeue:
            step.writes.append(.save(state))
            step.writes.append(.queued(transfer, readyAt: nil, waitingFor: []))
        case .retry(let failure): retry(failure, context, &step)
        case .pause(let pause):
            requeue(
                at: pause.until, .backoff, required: WaitReason.retryAfter, pause.error, context,
                &step)
        case .waitForStorage(let error, let need):
            waitForStorage(error, needs: need, context, &step)
        case .fail(let error):
            fail(error, &step)
        case .needInput(let error):
            needInput(error, &step)
        case .cancel(let keepingBytes):
            if keepingBytes { step.writes.append(.save(state)) }
            step.writes.append(.cancelled(transfer, totals))
            step.durable = true
            if !keepingBytes { step.writes.append(.dropFetch(transfer)) }
            step.effects.append(.close(deletingPart: !keepingBytes))
            return
        }
        step.effects.append(.close(deletingPart: false))
    }

    private mutating func fail(_ error: LonghaulError, _ step: inout FetchStep) {
        var error = error
        error.transferID = transfer
        error.bytesKept = have.count
        step.writes.append(.save(state))
        step.writes.append(.failed(transfer, error, totals))
        step.durable = true
    }

    private mutating func needInput(_ error: LonghaulError, _ step: inout FetchStep) {
        var error = error
        error.transferID = transfer
        error.bytesKept = have.count
        step.writes.append(.save(state))
        step.writes.append(.needsInput(transfer, error, totals))
        step.durable = true
    }

    private func waitForStorage(
        _ error: LonghaulError, needs need: StorageNeed, _ context: FetchContext,
        _ step: inout FetchStep
    ) {
        requeue(
            at: context.now.wall + Limits.storageCheckSeconds, .storage, required: need.rawValue,
            error, context, &step)
    }

    private func requeue(
        at next: Timestamp, _ reason: WaitReason.Reason, required: String?,
        _ error: LonghaulError, _ context: FetchContext, _ step: inout FetchStep
    ) {
        step.writes.append(.save(state))
        step.writes.append(
            .queued(
                transfer, readyAt: next,
                waitingFor: [
                    WaitReason(
                        reason, required: required, current: error.message,
                        since: context.now.wall, nextCheck: next)
                ]))
    }

    private mutating func retry(
        _ failure: Failure, _ context: FetchContext, _ step: inout FetchStep
    ) {
        var random = SeededGenerator(seed: context.seed)
        blame(failure, context, &step)
        let verdict = RetryPolicy.decide(
            failure,
            attempts: RetryPolicy.Attempts(
                fruitless: state.fruitlessAttempts, gained: progress,
                retries: request.options.retries),
            now: context.now.wall, deadline: deadline, using: &random)
        nextSource()
        let wish = failure.retryAfter.map { _ in WaitReason.retryAfter }
        switch verdict {
        case .retry(let at, let count, let error):
            state.fruitlessAttempts = count
            requeue(at: at, .backoff, required: wish, error, context, &step)
        case .restart(_, let at, let count):
            state.fruitlessAttempts = count
            requeue(at: at, .backoff, required: wish, failure.error, context, &step)
        case .waitForStorage(let error): waitForStorage(error, needs: .space, context, &step)
        case .needsInput(let error): needInput(error, &step)
        case .fail(let error): fail(error, &step)
        }
    }

    func blame(_ failure: Failure, _ context: FetchContext, _ step: inout FetchStep) {
        guard let origin = asked(context) else { return }
        step.writes.append(.originFailed(origin: origin.origin, failure, gained: progress))
    }

    /// Whose name for the version it is that is pinned.
    mutating func noteSource() {
        let mirror = isAtOwnOrigin ? nil : url
        state.validator?.mirror = mirror
    }

    /// The next mirror. Its name for the version is another: length and overlap must agree, and
    /// when it is asked again that name as well.
    mutating func nextSource() {
        guard !request.options.mirrors.isEmpty else { return }
        let old = url
        state.source = (state.source + 1) % sources.count
        state.validator = state.validator?.moved(from: old, to: url)
        noteSource()
    }
}
