internal import LonghaulCore
internal import LonghaulPlatform
internal import LonghaulStore

/// The queue as clients of aria2's JSON-RPC have it: in an order that they change, and with names
/// that they choose. Throws `storeUnavailable`.
package struct AriaQueue: Sendable {
    private let queue: TransferQueue
    /// Greatest number of transfers shown; the newest of a longer queue.
    private let limit: Int

    package init(_ queue: TransferQueue, limit: Int) {
        self.queue = queue
        self.limit = limit
    }

    /// Finds the transfer to which a client has given a gid (``TransferOptions/gid``).
    package func transfer(gid: String) throws(LonghaulError) -> TransferID? {
        try queue.store.transfers.find(gid: gid)
    }

    /// Finds transfers by a prefix of the gid: one given by a client, or the id.
    ///
    /// - Parameters:
    ///   - prefix: Hexadecimal digits, in lower case.
    ///   - ids: The ids that have it as 16 digits; `nil` = no id has.
    /// - Returns: Two at most: more is not unique either.
    package func transfers(
        gidPrefix prefix: String, ids: ClosedRange<Int64>?
    ) throws(LonghaulError) -> [TransferID] {
        var found = try queue.store.transfers.find(gidPrefix: prefix, limit: 2)
        if let ids {
            var filter = TransferFilter()
            filter.includeAll = true
            filter.limit = limit
            filter.below = TransferID(rawValue: ids.upperBound + 1)
            let own = try queue.transfers(filter).prefix { $0.id.rawValue >= ids.lowerBound }
            found += own.lazy.filter { $0.options.gid == nil }.map(\.id).prefix(2)
        }
        return Array(found.prefix(2))
    }

    /// Waiting and paused transfers in the order of their turns: by priority, then by place, which
    /// is by age unless one was moved.
    package func waiting() throws(LonghaulError) -> [Transfer] {
        var filter = TransferFilter()
        filter.states = [.waiting, .paused]
        filter.limit = limit
        let places = try queue.store.wants.places()
        func turn(_ transfer: Transfer) -> (Int, Int64, TransferID) {
            let place = places[transfer.id] ?? transfer.id.rawValue
            return (transfer.priority.rawValue, place, transfer.id)
        }
        return try queue.transfers(filter).sorted { turn($0) < turn($1) }
    }

    /// Moves a waiting transfer among others of its priority.
    ///
    /// - Parameter wanted: The new position in ``waiting()``, by the present one and the last one.
    ///   A transfer goes no further than to the first or last one of its priority.
    /// - Returns: Its new position.
    /// - Throws: `conflict` when it does not wait.
    package func move(
        _ id: TransferID, to wanted: (_ present: Int, _ last: Int) -> Int
    ) throws(LonghaulError) -> Int {
        let waiting = try waiting()
        guard let present = waiting.firstIndex(where: { $0.id == id }) else {
            throw LonghaulError(
                .conflict, "it does not wait, or is not among the \(limit) newest that do",
                transferID: id)
        }
        let priority = waiting[present].priority
        let first = waiting.firstIndex { $0.priority == priority } ?? present
        let last = waiting.lastIndex { $0.priority == priority } ?? present
        let target = min(max(first, wanted(present, waiting.count - 1)), last)
        var ids = waiting[min(present, target)...max(present, target)].map(\.id)
        if target < present {
            ids.insert(ids.removeLast(), at: 0)
        } else {
            ids.append(ids.removeFirst())
        }
        try queue.store.wants.arrange(ids)
        WakeChannel.poke(queue.directory)
        return target
    }
}
