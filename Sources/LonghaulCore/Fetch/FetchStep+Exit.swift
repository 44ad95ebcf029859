/// Off the wire, checkpointed: what is recorded of the transfer now.
extension FetchStep {
    mutating func exit(
        _ wire: inout FetchWire, _ leaving: FetchLeaving, _ context: FetchContext
    ) {
        let hasGained = wire.run.hasGained(wire.bytes)
        if hasGained { wire.bytes.state.fruitlessAttempts = 0 }
        let deletesPart = !wire.target.isUpload && !wire.bytes.isPartOfUse
        // The next part file is another one: its name has to be made durable, too.
        if deletesPart, !leaving.isCancel { wire.bytes.state.partIdentity = nil }
        switch leaving {
        case .requeue:
            writes.append(.save(wire.bytes.state))
            if hasGained, wire.target.lastError != nil {
                writes.append(.lastError(wire.target.transfer, nil))
            }
            writes.append(.queued(wire.target.transfer, readyAt: nil, waitingFor: []))
        case .retry(let failure): retry(&wire, failure, hasGained: hasGained, context)
        case .pause(let pause):
            requeue(
                wire, at: pause.until, .backoff, required: WaitReason.retryAfter, pause.error,
                context)
        case .waitForStorage(let error, let need):
            waitForStorage(wire, error, needs: need, context)
        case .fail(let error): fail(wire, error)
        case .needInput(let error): needInput(wire, error)
        case .cancel(let keepingBytes):
            // Else a part file that cannot be deleted now would be forgotten.
            writes.append(.save(wire.bytes.state))
            writes.append(.cancelled(wire.target.transfer, wire.bytes.totals))
            durable = true
            if !keepingBytes { writes.append(.dropFetch(wire.target.transfer)) }
            // The file of an upload is its owner's.
            effects.append(.close(deletingPart: !wire.target.isUpload && !keepingBytes))
            return
        }
        effects.append(.close(deletingPart: deletesPart))
    }

    private mutating func retry(
        _ wire: inout FetchWire, _ failure: Failure, hasGained: Bool, _ context: FetchContext
    ) {
        var random = SeededGenerator(seed: context.seed)
        wire.blame(failure, context, &self)
        let verdict = RetryPolicy.decide(
            failure,
            attempts: RetryPolicy.Attempts(
                fruitless: wire.bytes.state.fruitlessAttempts, hasGained: hasGained,
                sinceRequest: wire.run.sinceRequest(at: context.now.monotonic),
                retries: wire.target.request.options.retries,
                unreachable: wire.bytes.have.isEmpty
                    ? wire.target.request.options.unreachableAttempts : nil),
            now: context.now.wall, deadline: wire.target.deadline, using: &random)
        wire.bytes.nextSource(in: wire.target)
        let wish = failure.retryAfter.map { _ in WaitReason.retryAfter }
        switch verdict {
        case .retry(let at, let count, let error):
            wire.bytes.state.fruitlessAttempts = count
            requeue(wire, at: at, .backoff, required: wish, error, context)
        case .restart(_, let at, let count):
            wire.bytes.state.fruitlessAttempts = count
            requeue(wire, at: at, .backoff, required: wish, failure.error, context)
        case .waitForStorage(let error):
            waitForStorage(wire, error, needs: .space, context)
        case .needsInput(let error): needInput(wire, error)
        case .fail(let error): fail(wire, error)
        }
    }

    private mutating func fail(_ wire: FetchWire, _ error: LonghaulError) {
        writes.append(.save(wire.bytes.state))
        writes.append(.failed(wire.target.transfer, signed(error, wire), wire.bytes.totals))
        durable = true
    }

    private mutating func needInput(_ wire: FetchWire, _ error: LonghaulError) {
        writes.append(.save(wire.bytes.state))
        writes.append(.needsInput(wire.target.transfer, signed(error, wire), wire.bytes.totals))
        durable = true
    }

    private mutating func waitForStorage(
        _ wire: FetchWire, _ error: LonghaulError, needs need: StorageNeed,
        _ context: FetchContext
    ) {
        requeue(
            wire, at: context.now.wall + Limits.storageCheckSeconds, .storage,
            required: need.rawValue, error, context)
    }

    private mutating func requeue(
        _ wire: FetchWire, at next: Timestamp, _ reason: WaitReason.Reason, required: String?,
        _ error: LonghaulError, _ context: FetchContext
    ) {
        writes.append(.save(wire.bytes.state))
        writes.append(.lastError(wire.target.transfer, signed(error, wire)))
        writes.append(
            .queued(
                wire.target.transfer, readyAt: next,
                waitingFor: [
                    WaitReason(
                        reason, required: required, current: error.message,
                        since: context.now.wall, nextCheck: next)
                ]))
    }

    /// Says whose error it is, and what is kept.
    private func signed(_ error: LonghaulError, _ wire: FetchWire) -> LonghaulError {
        var error = error
        error.transferID = wire.target.transfer
        error.bytesKept = wire.bytes.have.count
        return error
    }
}
