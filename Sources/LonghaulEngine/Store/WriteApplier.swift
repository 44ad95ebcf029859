internal import LonghaulCore
internal import LonghaulStore

/// Turns the writes of machines into rows. Some outcomes are known only within the transaction;
/// they are in ``TurnChanges``.
struct WriteApplier {
    let now: Moment

    func apply(
        _ write: StoreWrite, _ tx: borrowing EngineTransaction, _ changes: inout TurnChanges
    ) throws {
        switch write {
        case .save(let state): try tx.fetches.save(state)
        case .queued(let id, let readyAt, let reasons):
            try tx.transfers.setQueued(id, readyAt: readyAt, waitingFor: reasons, now: now.wall)
            // The transfer was cancelled while it was about to get its name, and then the disk
            // failed.
            if try tx.inbox.add(unlessWanted: id) { changes.hasNewIntents = true }
        case .lastError(let id, let error): try tx.transfers.setLastError(error, of: id)
        case .completed(let id, let path, let totals):
            changes.deletions += try tx.transfers.complete(
                id, finalPath: path, numbers: totals, now: now.wall)
        case .skipped(let id, let error, let path, let totals):
            try tx.transfers.complete(
                id, finalPath: path, numbers: totals, skipped: error,
                now: now.wall)
        case .failed(let id, let error, let totals):
            try tx.transfers.fail(id, error: error, numbers: totals, now: now.wall)
        case .needsInput(let id, let error, let totals):
            let waits = try tx.questions.needInput(
                id, error: error, numbers: totals, now: now.wall)
            if !waits { changes.unanswerable.insert(id) }
        case .cancelled(let id, let totals):
            try tx.transfers.cancel(id, numbers: totals, now: now.wall)
            // The transfer was wanted again while it was leaving.
            if try tx.transfers.askAgain(for: id) { changes.hasNewIntents = true }
        case .restarted(let id, let reason, let bytes):
            try recordRestart(of: id, reason, bytesLost: bytes, tx)
        case .attempt(let id, let outcome):
            tx.log.record(outcome, of: id)
        case .abandonUpload(let id, let state): try tx.abandonedUploads.record(state, of: id)
        case .dropFetch(let id):
            try tx.fetches.drop(of: id, now: now.wall)
            changes.deletions += try tx.snapshots.abandon(of: id)
        case .give(let id, let copy, let proven): try give(copy, to: id, proven, tx, &changes)
        case .leave(let id): try tx.sharing.leave(id)
        case .discard(let fetch): try tx.sharing.discard(fetch, now: now.wall)
        case .orphan(let part): try tx.fetches.orphan(part, now: now.wall)
        case .forget(let part): try tx.fetches.forget(part)
        case .saveOrigin(let memory): try tx.origins.save(memory)
        case .learn, .originFailed, .originWorked:
            preconditionFailure("folded into the origin's memory before the commit")
        }
    }

    func recordRestart(
        of id: TransferID, _ reason: String, bytesLost: Int64, _ tx: borrowing EngineTransaction
    ) throws {
        try tx.log.append(
            .transferRestarted, of: id,
            detail: StoredJSON.encode(RestartDetail(reason: reason, bytesLost: bytesLost)),
            now: now.wall)
    }

    /// A copy is a separate fetch from this commit on.
    private func give(
        _ copy: FetchState, to id: TransferID, _ proven: [Checksum],
        _ tx: borrowing EngineTransaction, _ changes: inout TurnChanges
    ) throws {
        guard let (work, state) = try tx.sharing.adopt(copy, for: id) else { return }
        guard work.phase == .running else {
            // The transfer was cancelled while the copy was made.
            if try tx.inbox.add(unlessWanted: id) { changes.hasNewIntents = true }
            return
        }
        changes.starts.given.append(
            StartedFetch(
                work: work, state: state, session: work.request.session,
                subscribers: Subscribers(leader: Subscriber(work)), proven: proven))
    }
}

/// The detail of a `transferRestarted` event.
private struct RestartDetail: Codable {
    var reason: String
    var bytesLost: Int64
}
