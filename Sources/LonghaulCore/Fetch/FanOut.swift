/// Extends the writes for the leader of a fetch to all transfers that the fetch serves, in the same
/// commit.
package enum FanOut {
    package static func extend(_ step: inout FetchStep, to subscribers: Subscribers) {
        guard subscribers.isShared else { return }
        var writes: [StoreWrite] = []
        for write in step.writes {
            switch write {
            case .queued(let id, let readyAt, let reasons):
                writes += requeue(subscribers, id, readyAt, reasons)
            case .lastError(_, let error):
                writes.append(write)
                // The disk of the leader is no matter of the others.
                if error?.code.isLocal == true { continue }
                for subscriber in subscribers.followers where subscriber.isWanted {
                    writes.append(.lastError(subscriber.id, error?.about(subscriber.id)))
                }
            case .failed(_, let error, let totals):
                writes.append(write)
                writes += fail(subscribers, error, totals)
            case .restarted(_, let reason, let bytesLost):
                writes.append(write)
                for subscriber in subscribers.followers where subscriber.isWanted {
                    writes.append(.restarted(subscriber.id, reason: reason, bytesLost: bytesLost))
                }
            case .completed(_, _, let totals) where subscribers.isOfUpload:
                // The row of the fetch goes with the leader, and the server's answer with it.
                writes += complete(subscribers, totals)
                writes.append(write)
            case .completed, .skipped:
                // The file was found under its name when it was opened: nothing is left to copy.
                writes.append(write)
                writes += release(subscribers)
            case .needsInput(_, let error, let totals):
                writes.append(write)
                writes += needInput(subscribers, error, totals)
            case .save, .cancelled, .attempt, .abandonUpload, .dropFetch, .give, .leave, .discard,
                .orphan, .forget, .learn, .originFailed, .originWorked, .saveOrigin:
                writes.append(write)
            }
        }
        assert(writes.count >= step.writes.count, "the leader's own writes stay")
        step.writes = writes
    }

    /// The earliest moment of each subscriber holds again, now that it is back in the queue.
    private static func requeue(
        _ subscribers: Subscribers, _ id: TransferID, _ readyAt: Timestamp?, _ reasons: [WaitReason]
    ) -> [StoreWrite] {
        var writes: [StoreWrite] = [.queued(id, readyAt: readyAt, waitingFor: reasons)]
        let isFull = reasons.contains { $0.reason == .storage }
        // The disk of the leader is full: those on other disks need not wait for it.
        if isFull, areSomeElsewhere(subscribers) { return writes + release(subscribers) }
        for subscriber in subscribers.followers where subscriber.isWanted {
            writes.append(.queued(subscriber.id, readyAt: readyAt, waitingFor: reasons))
        }
        return writes
    }

    private static func fail(
        _ subscribers: Subscribers, _ error: LonghaulError, _ totals: TransferTotals
    ) -> [StoreWrite] {
        if error.code.isLocal, areSomeElsewhere(subscribers) { return release(subscribers) }
        return subscribers.followers.filter(\.isWanted).map { subscriber in
            let (own, numbers) = ownPart(of: subscriber, error, totals)
            return .failed(subscriber.id, own, numbers)
        }
    }

    private static func needInput(
        _ subscribers: Subscribers, _ error: LonghaulError, _ totals: TransferTotals
    ) -> [StoreWrite] {
        subscribers.followers.filter(\.isWanted).map { subscriber in
            let (own, numbers) = ownPart(of: subscriber, error, totals)
            return .needsInput(subscriber.id, own, numbers)
        }
    }

    /// The server has the file that all of them send, those that are paused included.
    private static func complete(
        _ subscribers: Subscribers, _ totals: TransferTotals
    ) -> [StoreWrite] {
        subscribers.followers.map { subscriber in
            var numbers = totals
            numbers.bytesFetched = subscriber.bytesFetched
            return .completed(subscriber.id, path: subscriber.destination, numbers)
        }
    }

    private static func ownPart(
        of subscriber: Subscriber, _ error: LonghaulError, _ totals: TransferTotals
    ) -> (LonghaulError, TransferTotals) {
        let own = error.about(subscriber.id)
        var numbers = totals
        numbers.bytesFetched = subscriber.bytesFetched
        return (own, numbers)
    }

    /// The followers begin anew, without the leader and its bytes.
    private static func release(_ subscribers: Subscribers) -> [StoreWrite] {
        var writes: [StoreWrite] = []
        for subscriber in subscribers.followers {
            if subscriber.isWanted {
                writes.append(.queued(subscriber.id, readyAt: nil, waitingFor: []))
            }
            writes.append(.leave(subscriber.id))
        }
        return writes
    }

    private static func areSomeElsewhere(_ subscribers: Subscribers) -> Bool {
        let home = FileNaming.directory(of: subscribers.leader.destination)
        return subscribers.followers.contains { $0.isWanted && !$0.isAt(home) }
    }
}
