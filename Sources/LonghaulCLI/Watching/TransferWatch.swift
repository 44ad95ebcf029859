import Longhaul

/// Finds out which transfers have ended, a few at a time: reading all of ten thousand five times a
/// second would take longer than fetching them.
struct TransferWatch {
    private(set) var pending: [TransferID]
    private(set) var ended: [TransferID: Transfer] = [:]
    /// Removed by another process during the wait.
    private(set) var gone: Set<TransferID> = []

    init(_ ids: [TransferID]) {
        pending = ids
    }

    var isOver: Bool { pending.isEmpty }

    /// The result of one look.
    struct Sight {
        /// Ended since the last look.
        var ended: [Transfer] = []
        /// The transfers of this look that have not ended.
        var unfinished: [Transfer] = []
    }

    /// Reads from the front until enough unfinished transfers were found; these go to the back, so
    /// that every one has its turn.
    ///
    /// - Parameter read: Leaves out transfers that do not exist.
    mutating func refresh(_ read: ([TransferID]) throws -> [Transfer]) rethrows -> Sight {
        var sight = Sight()
        var looked = 0
        var unfinished: [TransferID] = []
        while looked < pending.count, unfinished.count < Limits.watchedPerRead {
            let ids = Array(pending[looked...].prefix(Limits.watchedPerRead))
            var found: [TransferID: Transfer] = [:]
            for transfer in try read(ids) { found[transfer.id] = transfer }
            looked += ids.count
            for id in ids {
                guard let transfer = found[id] else {
                    gone.insert(id)
                    continue
                }
                if transfer.state.hasEnded {
                    ended[id] = transfer
                    sight.ended.append(transfer)
                } else {
                    unfinished.append(id)
                    sight.unfinished.append(transfer)
                }
            }
        }
        pending.removeFirst(looked)
        pending += unfinished
        return sight
    }
}
