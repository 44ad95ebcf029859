internal import LonghaulCore
internal import LonghaulPlatform
internal import LonghaulStore

/// Others that a transfer passes at most when it is moved: each one's place is written.
private let passedTransfersMaximum = 1000
/// Transfers in the list of the order.
private let orderedTransfersMaximum = 100_000

/// The order of the waiting and paused transfers of a queue. Throws `storeUnavailable`.
package struct QueueOrder: Sendable {
    private let queue: TransferQueue

    package init(_ queue: TransferQueue) {
        self.queue = queue
    }

    /// By priority, then by place.
    package func ids() throws(LonghaulError) -> [TransferID] {
        try queue.store.wants.order(limit: orderedTransfersMaximum)
    }

    /// Moves a transfer before or behind another one of its priority.
    ///
    /// - Throws: `conflict` where one of them does not wait, their priorities differ, or more than
    ///   1000 others lie between.
    package func move(
        _ id: TransferID, isAfter: Bool, _ other: TransferID
    ) throws(LonghaulError) {
        try queue.store.wants.move(
            id, isAfter ? .after : .before, of: other, atMost: passedTransfersMaximum)
        WakeChannel.poke(queue.directory)
    }
}

/// The rate of all transfers of a queue together. Throws `storeUnavailable`.
package struct RateControl: Sendable {
    private let queue: TransferQueue

    package init(_ queue: TransferQueue) {
        self.queue = queue
    }

    /// The limit that was set by hand and holds now; `nil` = those of the configuration hold.
    package func limit() throws(LonghaulError) -> RateOverride? {
        let limit = try queue.store.settings.rateLimit()
        return limit.flatMap { $0.holds(at: queue.now) ? $0 : nil }
    }

    /// Sets the limit for this engine and later ones; `nil` = those of the configuration hold
    /// again. Running transfers continue.
    package func set(_ limit: RateOverride?) throws(LonghaulError) {
        precondition(limit?.bytesPerSecond ?? 1 > 0, "nothing would ever move")
        try queue.store.settings.setRateLimit(limit)
        WakeChannel.poke(queue.directory)
    }

    /// The rate that a plan has now; `nil` = as fast as it goes.
    package func rate(of plan: RatePlan) -> Int64? {
        plan.now(queue.now, LocalTime.ofProcess).bytesPerSecond
    }
}
