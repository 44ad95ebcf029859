internal import LonghaulCore
internal import LonghaulStore

/// What is written of the leader is written of all that the fetch serves.
extension Engine {
    func spread(_ step: inout FetchStep, over entry: ActiveFetch) {
        // Alone, it has nobody to speak of.
        guard entry.isShared else { return }
        let subscribers = entry.subscribers
        var writes: [StoreWrite] = []
        for write in step.writes {
            switch write {
            case .queued(let id, let readyAt, let reasons):
                writes += requeue(subscribers, id, readyAt, reasons)
            case .failed(_, let error, let totals):
                writes.append(write)
                writes += fail(subscribers, error, totals)
            case .restarted(_, let reason, let bytesLost):
                writes.append(write)
                for subscriber in subscribers.followers where subscriber.isWanted {
                    writes.append(.restarted(subscriber.id, reason: reason, bytesLost: bytesLost))
                }
            case .completed, .skipped:
                // Found under its name when it was opened: there is nothing left to copy.
                writes.append(write)
                writes += release(subscribers)
            case .needsInput(_, let error, let totals):
                writes.append(write)
                writes += needInput(subscribers, error, totals)
            case .save, .cancelled, .attempt, .dropFetch, .give, .leave, .discard, .forget,
                .learn, .originFailed, .originWorked, .saveOrigin:
                writes.append(write)
            }
        }
        step.writes = writes
    }

    /// Of each its own earliest moment holds again, now that it does not come along any more.
    private func requeue(
        _ subscribers: Subscribers, _ id: TransferID, _ readyAt: Timestamp?, _ reasons: [WaitReason]
    ) -> [StoreWrite] {
        var writes: [StoreWrite] = [.queued(id, readyAt: readyAt, waitingFor: reasons)]
        let home = FileNaming.directory(of: subscribers.leader.destination)
        let isFull = reasons.contains { $0.reason == .storage }
        if isFull, subscribers.followers.contains(where: { $0.isElsewhere(than: home) }) {
            // Where the leader is: the others need not wait for it.
            return writes + release(subscribers)
        }
        for subscriber in subscribers.followers where subscriber.isWanted {
            writes.append(.queued(subscriber.id, readyAt: readyAt, waitingFor: reasons))
        }
        return writes
    }

    private func fail(
        _ subscribers: Subscribers, _ error: LonghaulError, _ totals: TransferTotals
    ) -> [StoreWrite] {
        let home = FileNaming.directory(of: subscribers.leader.destination)
        if error.code.isLocal, subscribers.followers.contains(where: { $0.isElsewhere(than: home) })
        {
            return release(subscribers)
        }
        var writes: [StoreWrite] = []
        for subscriber in subscribers.followers where subscriber.isWanted {
            var own = error
            own.transferID = subscriber.id
            var numbers = totals
            numbers.bytesFetched = subscriber.bytesFetched
            writes.append(.failed(subscriber.id, own, numbers))
        }
        return writes
    }

    private func needInput(
        _ subscribers: Subscribers, _ error: LonghaulError, _ totals: TransferTotals
    ) -> [StoreWrite] {
        subscribers.followers.filter(\.isWanted).map { subscriber in
            var own = error
            own.transferID = subscriber.id
            var numbers = totals
            numbers.bytesFetched = subscriber.bytesFetched
            return .needsInput(subscriber.id, own, numbers)
        }
    }

    /// The followers begin anew, without the leader and what it has.
    private func release(_ subscribers: Subscribers) -> [StoreWrite] {
        var writes: [StoreWrite] = []
        for subscriber in subscribers.followers {
            if subscriber.isWanted {
                writes.append(.queued(subscriber.id, readyAt: nil, waitingFor: []))
            }
            writes.append(.leave(subscriber.id))
        }
        return writes
    }
}

extension Subscriber {
    fileprivate func isElsewhere(than home: String) -> Bool {
        isWanted && !isAt(home)
    }
}
