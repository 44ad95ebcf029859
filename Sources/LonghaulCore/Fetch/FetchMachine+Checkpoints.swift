/// Store progress ≤ durable bytes, always: sync first, then commit what the sync covered.
extension FetchMachine {
    mutating func sync(_ step: inout FetchStep) {
        precondition(syncing == nil, "one sync at a time")
        syncing = PendingSync(token: nextToken, covers: have, retired: retired.count)
        step.effects.append(
            .sync(
                token: nextToken, digests: digests.map(\.algorithm), through: have.prefix))
        nextToken += 1
    }

    /// Bytes moved or time passed: a checkpoint may be due, and so may another connection.
    mutating func progressed(_ context: FetchContext, _ step: inout FetchStep) {
        guard stage == .moving else { return }
        lastTick = context.now.monotonic
        if let pinDue, pinDue <= context.now.monotonic {
            self.pinDue = nil
            state.isPrefetched = false
            step.writes.append(.save(state))
        }
        if isCheckpointDue(context) { sync(&step) }
        split(context, &step)
    }

    private func isCheckpointDue(_ context: FetchContext) -> Bool {
        guard syncing == nil, held == nil else { return false }
        let unsynced = have.count - state.durable.count
        guard unsynced > 0, state.validator != nil else { return false }
        if unsynced >= Limits.checkpointBytes { return true }
        guard let lastCheckpoint else { return true }
        return context.now.monotonic - lastCheckpoint >= Limits.checkpointSeconds
    }

    /// When to look again for lack of events: a checkpoint that falls due, connections to add.
    /// `nil` while off the wire.
    package var nextTick: Instant? {
        guard stage == .moving, !segments.isEmpty else { return nil }
        let pause = isTryingConnections ? Limits.splitTickSeconds : Limits.tickSeconds
        return [(lastTick ?? lastCheckpoint).map { $0 + pause }, pinDue].compactMap(\.self).min()
    }

    mutating func synced(_ token: Int64, _ context: FetchContext, _ step: inout FetchStep) {
        // A restart or an earlier failure has voided syncs that were under way.
        guard let pending = syncing, pending.token == token else { return }
        syncing = nil
        lastCheckpoint = context.now.monotonic
        state.durable = state.durable.union(pending.covers)
        state.isPrefetched = false
        step.writes.append(.save(state))
        // A power cut may take every commit since the last one that was made durable, however old
        // they are: what is to cost one checkpoint at most has to reach the disk with it.
        step.durable = true
        release(first: pending.retired, &step)
        if stage == .settling {
            quiet(context, &step)
        } else if stage == .moving, segments.isEmpty, isWhole {
            finish(&step)
        } else {
            progressed(context, &step)
        }
    }

    /// After the commit that this step asks for.
    mutating func release(first count: Int, _ step: inout FetchStep) {
        guard count > 0 else { return }
        step.effects.append(.release(Array(retired.prefix(count))))
        retired.removeFirst(count)
    }

    /// The kernel may have dropped the pages that it could not write, and answers 0 to the next
    /// sync: what was written since the last good one is unknown. Go back to it, under a new
    /// generation so that the board's word for it is void too.
    mutating func syncFailed(
        _ token: Int64, _ fault: LocalFault, _ context: FetchContext, _ step: inout FetchStep
    ) {
        guard let pending = syncing, pending.token == token else { return }
        syncing = nil
        state.generation += 1
        distrustWritten()
        step.writes.append(.save(state))
        step.durable = true
        leave(local(fault, context), context, &step)
    }

    /// The same for the sync of the whole file before publication.
    mutating func secureFailed(
        _ fault: LocalFault, _ context: FetchContext, _ step: inout FetchStep
    ) {
        state.generation += 1
        distrustWritten()
        step.writes.append(.save(state))
        step.durable = true
        failedLocally(fault, context, &step)
    }

    /// Others moved or deleted the part file. What is on its way out anyway says what it has to
    /// say; the next attempt sees the rest.
    mutating func displaced(
        _ fault: LocalFault, isGone: Bool, _ context: FetchContext, _ step: inout FetchStep
    ) {
        if isGone {
            voidBytes(.partFileMissing, &step)
            distrustWritten()
            state.partIdentity = nil
            step.writes.append(.save(state))
        }
        if stage == .settling {
            quiet(context, &step)
        } else {
            failedLocally(fault, context, &step)
        }
    }

    /// Back to what is durable; segments still under way no longer count.
    mutating func distrustWritten() {
        have = state.durable
        for index in segments.indices {
            segments[index].decision = nil
            segments[index].isOpen = false
        }
    }
}
