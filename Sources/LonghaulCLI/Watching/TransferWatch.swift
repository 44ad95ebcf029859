import Longhaul

/// Which of some transfers have ended, found out a few at a time: looking at all of ten thousand
/// five times a second would take more than fetching them.
struct TransferWatch {
    private(set) var pending: [TransferID]
    private(set) var ended: [TransferID: Transfer] = [:]
    /// Removed by somebody while we looked on.
    private(set) var gone: Set<TransferID> = []

    /// Transfers that are read together. Once so many have not ended, it is enough for one look.
    static let page = 64

    init(_ ids: [TransferID]) {
        pending = ids
    }

    var isOver: Bool { pending.isEmpty }

    /// What one look has found.
    struct Sight {
        /// Ended since the last look.
        var ended: [Transfer] = []
        /// Those that have not ended, of those that were looked at.
        var unfinished: [Transfer] = []
    }

    /// Looks from the front until enough unfinished ones were met; those go to the back, so that
    /// every one has its turn.
    ///
    /// - Parameter read: Leaves out those that there are none of.
    mutating func look(_ read: ([TransferID]) throws -> [Transfer]) rethrows -> Sight {
        var sight = Sight()
        var looked = 0
        var unfinished: [TransferID] = []
        while looked < pending.count, unfinished.count < TransferWatch.page {
            let ids = Array(pending[looked...].prefix(TransferWatch.page))
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
