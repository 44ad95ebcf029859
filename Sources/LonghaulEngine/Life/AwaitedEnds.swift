internal import LonghaulCore

/// Transfers that an engine is to see to their end. As long as one of them has not ended the others
/// need not be looked at: each is looked at once, and one of them more often.
struct AwaitedEnds {
    private var pending: [TransferID]

    init(_ ids: [TransferID]) {
        pending = ids.reversed()
    }

    var areOver: Bool { pending.isEmpty }

    mutating func look<Failure>(
        _ hasEnded: (TransferID) throws(Failure) -> Bool
    ) throws(Failure) {
        while let id = pending.last, try hasEnded(id) { pending.removeLast() }
    }
}
