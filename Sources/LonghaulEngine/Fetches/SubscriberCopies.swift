internal import LonghaulCore

/// A whole file is copied for each transfer that shares it. Each copy continues as a separate fetch
/// with no missing bytes: it is verified, named and recorded by the rules of its transfer.
struct CopyStep {
    var writes: [StoreWrite] = []
    var orders: [FileOrder] = []
    /// The writes must survive a power cut before any effect.
    var durable = false
    /// Copies that were ordered; each is answered once.
    var ordered = 0
    /// The next event for the fetch's machine.
    var event: FetchEvent?
    /// A transfer has left the fetch: its own intent is applied now.
    var hasParted = false
}

extension ActiveFetch {
    /// Orders the missing copies. The leader comes last: until then the next engine could copy from
    /// the part file after a crash.
    func orderCopies() -> CopyStep {
        var step = CopyStep()
        guard stage == .sharing else { return step }
        var missing = subscribers.followers.filter { !copies.ordered.contains($0.id) }
        if subscribers.followers.isEmpty, copies.ordered.isEmpty || copies.isGivenAway {
            if machine.frame.isAtHome || copies.isGivenAway {
                step.event = .handedOut(leaderHasCopy: copies.isGivenAway)
                return step
            }
            missing = [subscribers.leader]
        }
        if missing.isEmpty { return step }
        copies.ordered.formUnion(missing.map(\.id))
        let orders = missing.map {
            CopyOrder(transfer: $0.id, destination: $0.destination, partSuffix: $0.partSuffix)
        }
        step.ordered = orders.count
        step.orders = [.copy(id, orders, length: machine.frame.bytes.state.bytesTotal ?? 0)]
        return step
    }

    /// Settles the outcome of one copy; other events mean nothing here.
    func settleCopy(_ event: FetchEvent, now: Timestamp) -> CopyStep {
        var step = CopyStep()
        if case .copied(let transfer, let identity, let path, let mountPoint) = event {
            copies.ordered.remove(transfer)
            guard let subscriber = subscribers[transfer], stage == .sharing else {
                step.orders = [.delete(OrphanedPart(path: path, identity: identity))]
                return step
            }
            let frame = machine.frame
            let copy = frame.copy(for: subscriber, identity, path: path, mountPoint: mountPoint)
            step.writes = [.give(transfer, copy, proven: frame.verified)]
            removeServed(transfer, &step)
        } else if case .copyFailed(let transfer, let fault) = event {
            copies.ordered.remove(transfer)
            guard let subscriber = subscribers[transfer], stage == .sharing else {
                return step
            }
            failCopy(of: subscriber, fault, &step, now: now)
        }
        return step
    }

    /// A copy that comes too late: its fetch, or every transfer that waited for it, has left.
    static func orderForLateCopy(_ event: FetchEvent) -> FileOrder? {
        guard case .copied(_, let identity, let path, _) = event else { return nil }
        return .delete(OrphanedPart(path: path, identity: identity))
    }

    /// A leader that is given a copy like the others leaves last, and the fetch ends with it at
    /// once, although copies for transfers that have left may still be under way.
    private func removeServed(_ transfer: TransferID, _ step: inout CopyStep) {
        if subscribers.remove(transfer, home: machine.frame.bytes.state.home) == .wasLast {
            copies.isGivenAway = true
        } else {
            machine.frame.serve(subscribers)
        }
        step.hasParted = true
    }

    /// The failure of one copy concerns its transfer alone. The last transfer keeps the only bytes
    /// there are: its copy is made when its disk has room, or works again.
    private func failCopy(
        of subscriber: Subscriber, _ fault: LocalFault, _ step: inout CopyStep, now: Timestamp
    ) {
        let transfer = subscriber.id
        let leads = transfer == subscribers.leader.id
        if leads, subscribers.followers.isEmpty {
            step.event = subscriber.isWanted ? .handOutFailed(fault) : .leave(.requeue)
            return
        }
        let error = LonghaulError(
            fault.code, fault.message, transferID: transfer, retryable: true, bytesKept: 0)
        if let need = fault.storageNeed, !subscriber.request.options.failOnFullDisk {
            let next = now + Limits.storageCheckSeconds
            let reason = WaitReason(
                .storage, required: need.rawValue, current: error.message, since: now,
                nextCheck: next)
            step.writes.append(.queued(transfer, readyAt: next, waitingFor: [reason]))
        } else if subscriber.isWanted {
            let totals = TransferTotals(machine.state, bytesDone: 0)
            step.writes.append(.failed(transfer, error, subscriber.part(of: totals)))
            step.durable = true
        } else if leads {
            // The transfer was paused when the end was too near to be stopped.
            step.writes.append(.queued(transfer, readyAt: nil, waitingFor: []))
        }
        step.writes.append(.leave(transfer))
        removeServed(transfer, &step)
    }
}

extension FetchState {
    /// The directory of the part file; empty if there is no part file.
    var home: String { FileNaming.directory(of: partPath) }
}

extension FetchStage {
    /// The leader is being given the file, or is about to be.
    var isEnding: Bool {
        switch self {
        case .sharing, .publishing, .left: true
        case .preparing, .checking, .moving, .settling, .verifying, .securing: false
        }
    }
}
