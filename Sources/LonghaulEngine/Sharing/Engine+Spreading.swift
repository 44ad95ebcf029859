internal import LonghaulCore
internal import LonghaulStore

/// What is written of the leader is written of all that the fetch serves.
extension Engine {
    func spread(_ step: inout FetchStep, over entry: ActiveFetch) {
        // Alone, it has nobody to speak of.
        guard entry.isShared else { return }
        let roster = entry.roster
        var writes: [StoreWrite] = []
        for write in step.writes {
            switch write {
            case .queued(let id, let readyAt, let reasons):
                writes += requeue(roster, id, readyAt, reasons)
            case .failed(_, let error, let totals):
                writes.append(write)
                writes += fail(roster, error, totals)
            case .restarted(_, let reason, let bytesLost):
                writes.append(write)
                for sharer in roster.followers where sharer.isWanted {
                    writes.append(.restarted(sharer.id, reason: reason, bytesLost: bytesLost))
                }
            case .completed, .skipped:
                // Found under its name when it was opened: there is nothing left to copy.
                writes.append(write)
                writes += release(roster)
            case .needsInput(_, let error, let totals):
                writes.append(write)
                writes += needInput(roster, error, totals)
            case .save, .cancelled, .attempt, .dropFetch, .give, .leave, .discard, .forget,
                .learn, .originFailed, .originWorked, .saveOrigin:
                writes.append(write)
            }
        }
        step.writes = writes
    }

    /// Of each its own earliest moment holds again, now that it does not come along any more.
    private func requeue(
        _ roster: Roster, _ id: TransferID, _ readyAt: Timestamp?, _ reasons: [WaitReason]
    ) -> [StoreWrite] {
        var writes: [StoreWrite] = [.queued(id, readyAt: readyAt, waitingFor: reasons)]
        let home = FileNaming.directory(of: roster.leader.destination)
        let isFull = reasons.contains { $0.reason == .storage }
        if isFull, roster.followers.contains(where: { $0.isElsewhere(than: home) }) {
            // Where the leader is: the others need not wait for it.
            return writes + release(roster)
        }
        for sharer in roster.followers where sharer.isWanted {
            writes.append(.queued(sharer.id, readyAt: readyAt, waitingFor: reasons))
        }
        return writes
    }

    private func fail(
        _ roster: Roster, _ error: LonghaulError, _ totals: TransferTotals
    ) -> [StoreWrite] {
        let home = FileNaming.directory(of: roster.leader.destination)
        if error.code.isLocal, roster.followers.contains(where: { $0.isElsewhere(than: home) }) {
            return release(roster)
        }
        var writes: [StoreWrite] = []
        for sharer in roster.followers where sharer.isWanted {
            var own = error
            own.transferID = sharer.id
            var numbers = totals
            numbers.bytesFetched = sharer.bytesFetched
            writes.append(.failed(sharer.id, own, numbers))
        }
        return writes
    }

    private func needInput(
        _ roster: Roster, _ error: LonghaulError, _ totals: TransferTotals
    ) -> [StoreWrite] {
        roster.followers.filter(\.isWanted).map { sharer in
            var own = error
            own.transferID = sharer.id
            var numbers = totals
            numbers.bytesFetched = sharer.bytesFetched
            return .needsInput(sharer.id, own, numbers)
        }
    }

    /// The followers begin anew, without the leader and what it has.
    private func release(_ roster: Roster) -> [StoreWrite] {
        var writes: [StoreWrite] = []
        for sharer in roster.followers {
            if sharer.isWanted {
                writes.append(.queued(sharer.id, readyAt: nil, waitingFor: []))
            }
            writes.append(.leave(sharer.id))
        }
        return writes
    }
}

extension Sharer {
    fileprivate func isElsewhere(than home: String) -> Bool {
        isWanted && !isAt(home)
    }
}
