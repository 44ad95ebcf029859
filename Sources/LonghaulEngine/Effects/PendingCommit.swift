internal import LonghaulCore

/// Writes that wait for the commit, and the effects that follow it. After a failed commit the same
/// writes are tried again.
struct PendingCommit {
    var writes: [StoreWrite] = []
    var effects: [(FetchID, FetchEffect)] = []
    var orders: [FileOrder] = []
    /// The writes must survive a power cut before any effect.
    var durable = false

    var isEmpty: Bool { writes.isEmpty && effects.isEmpty && orders.isEmpty }

    mutating func append(_ step: FetchStep, of fetch: FetchID) {
        writes += step.writes
        for effect in step.effects { effects.append((fetch, effect)) }
        durable = durable || step.durable
    }

    mutating func append(_ step: CopyStep) {
        writes += step.writes
        orders += step.orders
        durable = durable || step.durable
    }
}

/// Writes as the commit has turned out.
extension [StoreWrite] {
    /// Settles whether a transfer waits for input or fails, which the transaction alone knows.
    func settled(unanswerable: Set<TransferID>) -> [StoreWrite] {
        if unanswerable.isEmpty { return self }
        return map { write in
            guard case .needsInput(let id, let error, let totals) = write,
                unanswerable.contains(id)
            else { return write }
            return .failed(id, error, totals)
        }
    }

    /// The writes may leave the rest of an upload at a server.
    var abandonUploads: Bool {
        contains { write in
            if case .dropFetch = write { return true }
            if case .abandonUpload = write { return true }
            return false
        }
    }

    /// A transfer waits for room on its disk.
    var findDiskFull: Bool {
        contains { write in
            guard case .queued(_, _, let reasons) = write else { return false }
            return reasons.contains { $0.reason == .storage }
        }
    }
}
