internal import LonghaulModel

/// Extends the writes for the leader of a fetch to all transfers that the fetch serves, in the same
/// commit.
package enum FanOut {
    package static func extend(_ step: inout FetchStep, to subscribers: Subscribers) {
        guard subscribers.isShared else { return }
        let writes = step.writes.flatMap { extended($0, subscribers) }
        assert(writes.count >= step.writes.count, "the leader's own writes stay")
        step.writes = writes
    }

    private static func extended(
        _ write: StoreWrite, _ subscribers: Subscribers
    ) -> [StoreWrite] {
        func forAll(_ own: (Subscriber) -> StoreWrite) -> [StoreWrite] {
            [write] + subscribers.followers.lazy.filter(\.isWanted).map(own)
        }
        switch write {
        case .queued(_, let readyAt, let reasons):
            // The disk of the leader is full: followers on other disks need not wait for it.
            if reasons.contains(where: { $0.reason == .storage }), areSomeElsewhere(subscribers) {
                return [write] + release(subscribers)
            }
            return forAll { .queued($0.id, readyAt: readyAt, waitingFor: reasons) }
        case .lastError(_, let error):
            // The disk of the leader does not concern the others.
            if error?.code.isLocal == true { return [write] }
            return forAll { .lastError($0.id, error?.about($0.id)) }
        case .failed(_, let error, let totals):
            if error.code.isLocal, areSomeElsewhere(subscribers) {
                return [write] + release(subscribers)
            }
            return forAll { .failed($0.id, error.about($0.id), $0.part(of: totals)) }
        case .needsInput(_, let error, let totals):
            return forAll { .needsInput($0.id, error.about($0.id), $0.part(of: totals)) }
        case .restarted(_, let reason, let bytesLost):
            return forAll { .restarted($0.id, reason: reason, bytesLost: bytesLost) }
        case .completed(_, _, let totals) where subscribers.isOfUpload:
            // The server has the file that all of them send, the paused ones included. The row of
            // the fetch goes with the leader, and the server's answer with it.
            let others = subscribers.followers.map {
                StoreWrite.completed($0.id, path: $0.destination, $0.part(of: totals))
            }
            return others + [write]
        case .completed, .skipped:
            // The file was found under its name when it was opened: nothing is left to copy.
            return [write] + release(subscribers)
        case .save, .cancelled, .attempt, .abandonUpload, .dropFetch, .give, .leave, .discard,
            .orphan, .forget, .learn, .originFailed, .originWorked, .saveOrigin:
            return [write]
        }
    }

    /// The followers start again, without the leader and its bytes. The earliest moment of each
    /// holds again.
    private static func release(_ subscribers: Subscribers) -> [StoreWrite] {
        subscribers.followers.flatMap { subscriber -> [StoreWrite] in
            let leave = StoreWrite.leave(subscriber.id)
            if !subscriber.isWanted { return [leave] }
            return [.queued(subscriber.id, readyAt: nil, waitingFor: []), leave]
        }
    }

    private static func areSomeElsewhere(_ subscribers: Subscribers) -> Bool {
        let home = FileNaming.directory(of: subscribers.leader.destination)
        return subscribers.followers.contains { $0.isWanted && !$0.isAt(home) }
    }
}

extension Subscriber {
    /// The totals of the shared fetch with its own count of received bytes.
    package func part(of totals: TransferTotals) -> TransferTotals {
        var own = totals
        own.bytesFetched = bytesFetched
        return own
    }
}

extension LonghaulError.Code {
    /// The error is about the disk of one transfer's file, and does not concern the others.
    fileprivate var isLocal: Bool {
        switch self {
        case .io, .permission, .noSpace, .destinationExists: true
        default: false
        }
    }
}
