import LonghaulCore
import LonghaulStore

/// Transfers that wait for the end of others. A generator of their own leaves the rest of a life as
/// it would be without them.
extension SimWorld {
    /// Lets a new transfer wait for one or two others, in a third of the lives.
    func drawDependencies(_ request: inout TransferRequest) throws {
        guard seed % 3 == 1 else { return }
        var chance = SeededGenerator(seed: seed ^ UInt64(nextURL) << 32)
        guard chance.happens(0.4) else { return }
        request.options.afterAny = chance.happens(0.3)
        for _ in 0..<2 {
            guard let other = expected.keys.sorted().randomElement(using: &chance),
                let state = try clients.transfers.find(other, now: now.wall)?.state,
                request.options.afterAny || state != .failed && state != .cancelled
            else { continue }
            if !request.options.after.contains(other) { request.options.after.append(other) }
        }
    }

    /// One of those that the transfer waits for has not ended as it is to, as far as the engine
    /// knows.
    func isBeforeItsTime(_ id: TransferID) -> Bool {
        guard let known = expected[id] else { return false }
        return known.after.contains { other in
            // One that is gone had ended before.
            guard let transfer = shown[other] else { return false }
            return !transfer.state.hasEnded || transfer.finishedAt == nil
        }
    }

    /// A transfer that never began needs all of them to have completed.
    func checkDependencies(_ transfer: Transfer) throws {
        guard let known = expected[transfer.id], !known.after.isEmpty, !known.hasBegun else {
            return
        }
        guard transfer.startedAt != nil else { return }
        expected[transfer.id]?.hasBegun = true
        for other in known.after {
            // It may have been taken up again since.
            let hasEnded = known.afterAny && expected[other].map { $0.terminalEvents > 0 } ?? true
            if !completed.contains(other), !hasEnded {
                throw SimComplaint("\(transfer.id) began before \(other) was over", self)
            }
        }
    }

    /// What has failed for one that is gone can never begin.
    func mendDependencies(_ id: TransferID, _ change: inout RequestChange) {
        guard let after = expected[id]?.after, shown[id]?.startedAt == nil else { return }
        let left = after.filter { expected[$0] != nil }
        if left == after { return }
        change.fields[\.after] = left
        expected[id]?.after = left
    }
}
