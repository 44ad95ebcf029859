internal import LonghaulCore
internal import LonghaulStore
internal import LonghaulPlatform

/// Ends of transfers that are read from the log at once.
private let endsPerRead = 256

/// Finds out which of the transfers that are waited for have ended, or wait for a word. It reads
/// the event log and not the transfers: one new event among a thousand that are waited for costs
/// one look.
struct EndWatch {
    /// The last event that was read; `nil` = the log is not followed: there is no waiter, or it is
    /// another log.
    private var log: Int64?
    private var edition: UInt64 = 0
    /// Examined one by one, regardless of the log.
    private var unseen: Set<TransferID> = []

    mutating func rest() {
        log = nil
        unseen.removeAll()
    }

    /// The store was replaced: all awaited transfers are examined again.
    mutating func forgetLog() {
        log = nil
    }

    /// A store that cannot be read now is looked at again with the next change.
    mutating func findEnds(
        in queue: TransferQueue, for waited: Set<TransferID>, fresh: Set<TransferID>,
        edition: UInt64
    ) -> [(TransferID, Result<Transfer, any Error>)] {
        unseen.formUnion(fresh)
        guard !unseen.isEmpty || edition != self.edition else { return [] }
        var found: [(TransferID, Result<Transfer, any Error>)] = []
        do throws(LonghaulError) {
            let now = queue.now
            // Before the transfers are looked at: what ends after that is in the log.
            var read: Int64
            if let log { read = log } else { read = try queue.store.events.last() }
            var candidates = log == nil ? waited : unseen.intersection(waited)
            while log != nil {
                let ends = try queue.store.events.ends(after: read, limit: endsPerRead)
                guard let last = ends.last else { break }
                candidates.formUnion(waited.intersection(ends.ids))
                read = last
            }
            for id in candidates {
                guard let transfer = try queue.store.transfers.find(id, now: now) else {
                    found.append((id, .failure(LonghaulError.noTransfer(id))))
                    continue
                }
                let needsInput = transfer.waitingFor.contains { $0.reason == .input }
                if transfer.isOver || needsInput { found.append((id, .success(transfer))) }
            }
            log = read
            unseen.removeAll()
            self.edition = edition
        } catch {
            return []
        }
        return found
    }
}

extension Transfer {
    /// True if the transfer is over. One that is being cancelled has its end, and its event, before
    /// it.
    var isOver: Bool { state.hasEnded && finishedAt != nil }
}

extension LonghaulError {
    static func noTransfer(_ id: TransferID) -> LonghaulError {
        LonghaulError(.noSuchTransfer, "there is no transfer \(id)", transferID: id)
    }
}
