internal import LonghaulModel

/// Reacts to bytes that moved, were made durable, or are lost.
extension DownloadMachine {
    /// Bytes moved or time passed: a checkpoint may be due, and so may another connection.
    mutating func progressed(_ context: FetchContext) {
        guard stage == .moving else { return }
        wire.frame.bytes.checkpoints.ticked(at: context.now.monotonic)
        if wire.frame.bytes.checkpoints.pinFallsDue(at: context.now.monotonic) {
            wire.frame.bytes.state.isPrefetched = false
            wire.frame.save()
        }
        if wire.held == nil, wire.frame.bytes.isCheckpointDue(at: context.now.monotonic) {
            wire.frame.sync(digests: digests)
        }
        if !wire.leaveSlow(context) { wire.split(context) }
    }

    mutating func synced(_ token: Int64, _ context: FetchContext) {
        guard wire.frame.synced(token, at: context.now.monotonic) else { return }
        if stage == .settling {
            quiet(context)
        } else if stage == .moving, segments.isEmpty, isWhole {
            finish()
        } else {
            progressed(context)
        }
    }

    /// The kernel may have dropped the pages that it could not write, and answers 0 to the next
    /// sync: what was written since the last good one is unknown. Go back to it, under a new
    /// generation so that the board's word for it is void too.
    mutating func syncFailed(_ token: Int64, _ fault: LocalFault, _ context: FetchContext) {
        guard wire.frame.bytes.checkpoints.endSync(token) != nil else { return }
        wire.distrustWritten()
        leave(wire.frame.target.leaving(after: fault, bytesKept: have.count), context)
    }

    /// The same for the sync of the whole file before publication.
    mutating func secureFailed(_ fault: LocalFault, _ context: FetchContext) {
        wire.distrustWritten()
        failedLocally(fault, context)
    }

    /// Others moved or deleted the part file. What is on its way out anyway says what it has to
    /// say; the next attempt sees the rest.
    mutating func displaced(_ fault: LocalFault, isGone: Bool, _ context: FetchContext) {
        if isGone {
            wire.frame.void(.partFileMissing)
            wire.ignoreWritten()
            wire.frame.bytes.state.partIdentity = nil
            wire.frame.save()
        }
        if stage == .settling {
            quiet(context)
        } else {
            failedLocally(fault, context)
        }
    }
}
