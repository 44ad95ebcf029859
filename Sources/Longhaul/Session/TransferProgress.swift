public import LonghaulCore

/// Least time between two values of a task's progress.
private let progressSeconds = 0.1

/// Progress of a transfer at one moment.
public struct TransferProgress: Hashable, Sendable {
    /// Bytes that are there and count towards the file. Decreases only when the file has changed on
    /// the server and the transfer restarts.
    public var bytesDone: Int64
    /// `nil` while the size is unknown.
    public var bytesTotal: Int64?
    /// Over the last seconds; `nil` while it is not moving.
    public var bytesPerSecond: Double?
    /// The state of the transfer.
    public var state: TransferState

    init(_ transfer: Transfer) {
        bytesDone = transfer.bytesDone
        bytesTotal = transfer.bytesTotal
        bytesPerSecond = transfer.bytesPerSecond
        state = transfer.state
    }

    /// The fraction that is done, 0 to 1; `nil` while the size is unknown.
    public var fractionCompleted: Double? {
        guard let bytesTotal else { return nil }
        return bytesTotal == 0 ? 1 : min(1, Double(bytesDone) / Double(bytesTotal))
    }
}

/// The progress of one transfer: its state at once, then each change, at most ten in a second. Ends
/// after the transfer's final state, completed or not.
///
/// Costs nothing while the transfer waits; while it runs, one look at shared memory for each value.
/// Any number may be iterated. A cancelled task makes it throw `CancellationError`.
public struct ProgressUpdates: AsyncSequence, Sendable {
    /// The element: one state of the transfer.
    public typealias Element = TransferProgress

    let executor: SessionExecutor
    let id: TransferID

    /// Begins with the present state.
    public func makeAsyncIterator() -> Iterator {
        Iterator(executor: executor, id: id)
    }

    /// Reads shared memory while the transfer runs, and else waits for a change of the store.
    public struct Iterator: AsyncIteratorProtocol {
        let executor: SessionExecutor
        let id: TransferID
        private var last: TransferProgress?
        private var lastGiven: ContinuousClock.Instant?
        private var hasEnded = false

        init(executor: SessionExecutor, id: TransferID) {
            self.executor = executor
            self.id = id
        }

        /// The next state; `nil` after the last one.
        ///
        /// - Throws: `CancellationError`; ``LonghaulModel/LonghaulError`` `noSuchTransfer` when it
        ///    was removed, `sessionInvalidated`, `storeUnavailable`.
        public mutating func next() async throws -> TransferProgress? {
            if hasEnded { return nil }
            let id = id
            // Values that follow each other at once are not worth a look each.
            if let lastGiven {
                try await Task.sleep(until: lastGiven + .seconds(progressSeconds))
            }
            while true {
                try Task.checkCancellation()
                let edition = executor.edition
                let transfer = try await executor.perform { context throws(LonghaulError) in
                    try context.transfer(id)
                }
                guard let transfer else { throw LonghaulError.noTransfer(id) }
                hasEnded = transfer.state.hasEnded
                let progress = TransferProgress(transfer)
                if progress != last {
                    last = progress
                    lastGiven = .now
                    return progress
                }
                let isMoving = progress.state == .running
                try await executor.changed(
                    since: edition, within: isMoving ? progressSeconds : nil)
            }
        }
    }
}
