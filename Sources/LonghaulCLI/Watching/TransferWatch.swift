import Longhaul

/// Which of some transfers have ended, found out a few at a time: looking at all of ten thousand
/// five times a second would take more than fetching them.
struct TransferWatch {
    private(set) var pending: [TransferID]
    private(set) var ended: [TransferID: Transfer] = [:]
    /// Removed by somebody while we looked on.
    private(set) var gone: Set<TransferID> = []

    /// Transfers that have not ended, looked at in one go.
    static let looksMaximum = 64

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
    mutating func look(_ lookUp: (TransferID) throws -> Transfer?) rethrows -> Sight {
        var sight = Sight()
        var looked = 0
        var unfinished: [TransferID] = []
        while looked < pending.count, unfinished.count < TransferWatch.looksMaximum {
            let id = pending[looked]
            looked += 1
            guard let transfer = try lookUp(id) else {
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
        pending.removeFirst(looked)
        pending += unfinished
        return sight
    }
}
