/// Off the wire, checkpointed: what is recorded of the transfer now.
extension FetchMachine {
    mutating func exit(_ context: FetchContext, _ step: inout FetchStep) {
        guard let leaving else { return }
        stage = .left
        if gained { state.fruitlessAttempts = 0 }
        switch leaving {
        case .requeue:
            step.writes.append(.save(state))
            step.writes.append(.queued(transfer, readyAt: nil, waitingFor: []))
        case .retry(let report, let gained):
            retry(report, gained: gained, context, &step)
        case .waitForStorage(let error):
            let again = context.now.wall + Limits.storageCheckSeconds
            step.writes.append(.save(state))
            step.writes.append(
                .queued(
                    transfer, readyAt: again,
                    waitingFor: [
                        WaitReason(
                            .storage, required: "free space", current: error.message,
                            since: context.now.wall, nextCheck: again)
                    ]))
        case .fail(let error):
            fail(error, &step)
        case .cancel(let keepingBytes):
            if keepingBytes { step.writes.append(.save(state)) }
            step.writes.append(.cancelled(transfer, totals))
            step.durable = true
            if !keepingBytes { step.writes.append(.dropFetch(state.id)) }
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

    private mutating func retry(
        _ report: FailureReport, gained: Bool, _ context: FetchContext, _ step: inout FetchStep
    ) {
        if !gained { state.fruitlessAttempts += 1 }
        nextSource(after: report)
        var random = SeededGenerator(seed: context.seed)
        let origin = context.origin.afterFailure(report, now: context.now.wall, random: &random)
        step.writes.append(
            .originFailed(origin: context.origin.origin, coolDownUntil: origin.coolDownUntil))
        let verdict = RetryPolicy.decide(
            report, fruitlessAttempts: state.fruitlessAttempts, limit: request.options.retries,
            now: context.now.wall, deadline: deadline, random: &random)
        switch verdict {
        case .retry(let at):
            step.writes.append(.save(state))
            step.writes.append(
                .queued(
                    transfer, readyAt: at,
                    waitingFor: [
                        WaitReason(
                            .backoff, required: nil, current: report.error.message,
                            since: context.now.wall, nextCheck: at)
                    ]))
        case .fail(let error):
            fail(error, &step)
        }
    }

    /// The next mirror, under a validator that no longer names the other server's version: length and overlap must agree.
    private mutating func nextSource(after report: FailureReport) {
        guard !request.options.mirrors.isEmpty else { return }
        state.source = (state.source + 1) % sources.count
        state.validator = state.validator?.withoutIdentity
    }
}

extension Validator {
    /// What of it holds for another URL of the same bytes: the length, and a digest.
    package var withoutIdentity: Validator {
        Validator(length: length, digest: digest)
    }
}
