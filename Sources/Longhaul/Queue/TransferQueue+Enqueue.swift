public import LonghaulCore
internal import LonghaulStore
internal import LonghaulPlatform

extension TransferQueue {
    /// Records the requests, all or none, and returns what became of each in order. A transfer with
    /// an id survives a power cut when this returns. With `keepGoing` the valid ones are recorded
    /// and the others report their error.
    ///
    /// The same URL to the same destination is recorded once as long as it has not completed
    /// (`EnqueueOutcome.existing`). Options that differ from the default are then changed as by
    /// ``change(_:_:)``, except the earliest moment.
    ///
    /// Refusals (`invalidRequest`, `unsupported`, `conflict`, `permission`, `destinationExists`)
    /// throw when not `keepGoing`.
    ///
    /// Uploads with a snapshot (`UploadOptions.snapshot`) have theirs when this returns, which may
    /// take as long as their files are copied. One that cannot be made throws in any case.
    ///
    /// - Throws: `LonghaulError` `storeUnavailable`; a refusal when not `keepGoing`; of a snapshot
    ///   `noSpace`, `io`, `permission`, `sourceChanged`. Then nothing was recorded.
    public func enqueue(_ requests: [TransferRequest], keepGoing: Bool = false)
        throws(LonghaulError) -> [EnqueueOutcome]
    {
        var outcomes: [EnqueueOutcome] = []
        try PreparedRequests.of(requests, in: self).enqueue(
            in: self, keepGoing ? .keepGoing : .allOrNone
        ) {
            outcomes.append($0)
        }
        return outcomes
    }

    /// The same for any number of requests in bounded memory and one transaction: `next` is called
    /// until it returns `nil`; throwing records nothing. Both closures are called on the caller's
    /// thread; outcomes come in the order of the requests, in batches.
    ///
    /// The closures must not wait, for a network, a pipe or a person: from the 257th request on
    /// they are called inside the transaction, and until it ends no other process, the engine
    /// included, can change anything in the store; it gives up after ten seconds. Collect first
    /// what takes time to come. So an upload with a snapshot is refused here (`unsupported`).
    ///
    /// - Throws: `LonghaulError` `storeUnavailable`; a refusal when not `keepGoing`; and what
    ///   `next` throws. Then nothing was recorded.
    public func enqueue(
        keepGoing: Bool, next: () throws -> TransferRequest?, report: (EnqueueOutcome) -> Void
    ) throws {
        try EnqueuePipeline.carryOut(
            self, keepGoing ? .keepGoing : .allOrNone, next: next, report: report)
    }
}

extension EnqueuePipeline {
    /// Records all requests returned by `next`.
    fileprivate static func carryOut(
        _ queue: TransferQueue, _ refusals: RefusalPolicy, _ review: RequestReview? = nil,
        next: () throws -> TransferRequest?, report: (EnqueueOutcome) -> Void
    ) throws {
        try queue.followClock()
        var admitted = ValidatedRequests(refusals)
        let pipeline = EnqueuePipeline(store: queue.store, now: queue.now, refusals, review)
        let first = admitted.batch(from: next)
        if admitted.isAtEnd {
            var rest = [first, []].makeIterator()
            try pipeline.record(next: { rest.next() ?? [] }, report: { $0.forEach(report) })
        } else {
            try pipeline.carry(first, then: { admitted.batch(from: next) }, report: report)
        }
        WakeChannel.poke(queue.directory)
    }
}

extension TransferRequest {
    /// The file of an upload; of a download, the one named by the request or the URL.
    package var path: String? {
        if case .file(let path) = destination { return path }
        guard let parts = try? RequestValidator.parse(url) else { return nil }
        return try? RequestValidator.destination(of: self, parts)
    }

    /// The transfer that has carried out this very request, where its file is still there as it was
    /// published. A file that was touched since counts if it has the digest that the request names.
    package func alreadyComplete(in queue: TransferQueue) throws(LonghaulError) -> Transfer? {
        if options.upload != nil { return nil }
        let parts = try RequestValidator.parse(url)
        let path = try RequestValidator.destination(of: self, parts)
        guard
            let (transfer, identity) = try queue.store.transfers.completed(
                url: url, origin: parts.origin, at: path, now: queue.now),
            session == transfer.session, let ended = transfer.finishedAt,
            options.checksum == nil || options.checksum == transfer.checksum,
            isSame(as: transfer)
        else { return nil }
        let size = transfer.bytesDone
        // Later changes would seem earlier by a clock that was ahead.
        let isUnchanged =
            ended <= queue.now
            && FileInspection.isUnchanged(path, identity, size: size, since: ended)
        return isUnchanged || options.checksum?.isOfFile(at: path, size: size) == true
            ? transfer : nil
    }

    private func isSame(as transfer: Transfer) -> Bool {
        var other = TransferRequest(url: transfer.url, destination: destination)
        other.options = transfer.options
        guard let one = FetchIdentity(self), let other = FetchIdentity(other) else { return false }
        return one.selectsSame(as: other)
    }
}

extension Checksum {
    fileprivate func isOfFile(at path: String, size: Int64) -> Bool {
        PlacedFile().version(at: path)?.size == size
            && (try? PlacedFile().has(self, at: path)) == true
    }
}

extension PreparedRequests {
    /// Prepares requests with the snapshots that they ask for. A snapshot may take as long as
    /// copying its file, so snapshots are made before anything is recorded.
    ///
    /// - Parameter copying: Called with path and length before a file is copied.
    package static func of(
        _ requests: [TransferRequest], in queue: TransferQueue,
        copying: (String, Int64) -> Void = { _, _ in }
    ) throws(LonghaulError) -> PreparedRequests {
        try Snapshots(queue.store, in: queue.directory).prepare(requests, copying: copying)
    }

    /// Does what ``TransferQueue/enqueue(keepGoing:next:report:)`` does.
    package static func enqueue(
        in queue: TransferQueue, _ refusals: RefusalPolicy, next: () throws -> TransferRequest?,
        report: (EnqueueOutcome) -> Void
    ) throws {
        try EnqueuePipeline.carryOut(queue, refusals, next: next, report: report)
    }

    /// Does what ``TransferQueue/enqueue(_:keepGoing:)`` does, once. When this throws, the reports
    /// were about the requests before the one that it throws for.
    package func enqueue(
        in queue: TransferQueue, _ refusals: RefusalPolicy, review: RequestReview? = nil,
        report: (EnqueueOutcome) -> Void
    ) throws(LonghaulError) {
        defer { Snapshots(queue.store, in: queue.directory).release(self) }
        var rest = requests.makeIterator()
        do {
            try EnqueuePipeline.carryOut(
                queue, refusals, review, next: { rest.next() }, report: report)
        } catch {
            throw error as? LonghaulError ?? LonghaulError(.internal, "\(error)")
        }
    }
}

/// Tells which requests need not be made: an equal one has left the same file, by path, size and
/// times, at the same place, in any session, and no upload to that place was recorded since.
package struct SentUploads {
    private let queue: TransferQueue
    private var validator = RequestValidator()

    package init(_ queue: TransferQueue) {
        self.queue = queue
    }

    /// - Throws: `LonghaulError` `storeUnavailable`, or the refusal of the request.
    package mutating func contains(_ request: TransferRequest) throws(LonghaulError) -> Bool {
        var request = request
        // A snapshot that may not be needed is not made for this.
        request.options.upload?.snapshot = false
        guard case .insert(let new) = try validator.admit(request), let file = SentFile(new)
        else { return false }
        return try queue.store.transfers.hasSent(file)
    }
}
