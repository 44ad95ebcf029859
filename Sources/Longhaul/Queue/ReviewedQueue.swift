internal import LonghaulCore
internal import LonghaulStore
internal import LonghaulPlatform

/// The queue for less trusted clients, from a network: each request and each change of one is
/// reviewed in the transaction that records it. Throws the errors of ``TransferQueue``, and of the
/// review.
package struct ReviewedQueue: Sendable {
    private let queue: TransferQueue
    private let review: RequestReview

    package init(_ queue: TransferQueue, _ review: RequestReview) {
        self.queue = queue
        self.review = review
    }

    /// Records all requests or none.
    ///
    /// - Parameter takesUpFailed: See ``RequestReview/takesUpFailed``.
    package func enqueue(
        _ requests: [TransferRequest], takesUpFailed: Bool
    ) throws(LonghaulError) -> [EnqueueOutcome] {
        var review = review
        review.takesUpFailed = takesUpFailed
        var outcomes: [EnqueueOutcome] = []
        try PreparedRequests.of(requests, in: queue).enqueue(
            in: queue, .allOrNone, review: review
        ) {
            outcomes.append($0)
        }
        return outcomes
    }

    package func change(_ id: TransferID, _ change: TransferChange) throws(LonghaulError) {
        var given = change.fields.request
        given.url = change.url ?? ""
        given.options.headers = HeaderFields(change.headers)
        let now = queue.now
        var stored = try change.inStore(now: now)
        stored.review = { [given, review] before, after throws(LonghaulError) in
            try review.allow(ReviewedChange(before: before, after: after, given: given))
        }
        try queue.store.wants.change(id, stored, now: now)
        WakeChannel.poke(queue.directory)
    }

    /// Refused keys for S3 are not replaced: this process's keys are not the client's.
    package func resume(
        _ selection: TransferSelection
    ) throws(LonghaulError) -> [ChangeOutcome] {
        try rearm(selection, .resume)
    }

    /// The same for ended ones.
    package func retry(_ selection: TransferSelection) throws(LonghaulError) -> [ChangeOutcome] {
        try rearm(selection, .retry)
    }

    private func rearm(
        _ selection: TransferSelection, _ change: WantedChange
    ) throws(LonghaulError) -> [ChangeOutcome] {
        let outcomes = try queue.store.wants.change(selection.inStore, to: change, now: queue.now)
        WakeChannel.poke(queue.directory)
        return outcomes.map { $0.outcome(of: change) }
    }

    /// Figures that only rise; one that is missing is 0.
    package func totals() throws(LonghaulError) -> [LifetimeTotal: Int64] {
        try queue.store.settings.totals()
    }
}
