/// A write for the engine's commit. A value, so that a commit that failed (disk full) can be tried
/// again unchanged.
package indirect enum StoreWrite: Hashable, Sendable {
    case save(FetchState)
    /// Back to the queue; due at once if `readyAt` is nil.
    case queued(TransferID, readyAt: Timestamp?, waitingFor: [WaitReason])
    /// Why its last attempt gained nothing; `nil` = one has gained bytes since.
    case lastError(TransferID, LonghaulError?)
    /// Terminal states carry their event in the same write, so that the two cannot be split.
    case completed(TransferID, path: String, TransferTotals)
    /// Completed as well: another file stands under the name and is kept, as was asked for.
    case skipped(TransferID, LonghaulError, path: String, TransferTotals)
    case failed(TransferID, LonghaulError, TransferTotals)
    /// Waits for another URL or credentials if its session has a host that can be asked; else it
    /// has failed.
    case needsInput(TransferID, LonghaulError, TransferTotals)
    case cancelled(TransferID, TransferTotals)
    case restarted(TransferID, reason: String, bytesLost: Int64)
    case attempt(TransferID, AttemptRecord)
    /// The state of this upload is of no more use; the server may still have the upload.
    case abandonUpload(TransferID, FetchState)
    /// The fetch row is of no more use.
    case dropFetch(TransferID)
    /// This state, of a copy of the shared file, is the transfer's own from now on. The digests
    /// are those that the file was found to have.
    case give(TransferID, FetchState, proven: [Checksum])
    /// The shared fetch serves this transfer no more.
    case leave(TransferID)
    /// The shared fetch serves no transfer any more.
    case discard(FetchID)
    /// A part file that is to be deleted, and whose fetch stays.
    case orphan(OrphanedPart)
    /// Nothing is left of a part file that was given up.
    case forget(OrphanedPart)
    case learn(origin: String, OriginLesson)
    case originFailed(origin: String, Failure, gained: Int64)
    case originWorked(origin: String, bytesPerSecond: Double?, http2: Bool)
    /// The three above, once folded into the origin's memory.
    case saveOrigin(OriginMemory)
}

/// The reported numbers of a transfer. They are copied to its row when it ends.
package struct TransferTotals: Hashable, Sendable {
    package var bytesTotal: Int64?
    /// Bytes that are kept and count towards the file.
    package var bytesDone: Int64
    /// Body bytes ever received.
    package var bytesFetched: Int64
    package var attempts: Int
    package var restarts: Int

    package init(
        bytesTotal: Int64? = nil, bytesDone: Int64 = 0, bytesFetched: Int64 = 0,
        attempts: Int = 0, restarts: Int = 0
    ) {
        self.bytesTotal = bytesTotal
        self.bytesDone = bytesDone
        self.bytesFetched = bytesFetched
        self.attempts = attempts
        self.restarts = restarts
    }

    package init(_ state: FetchState, bytesDone: Int64) {
        self.init(
            bytesTotal: state.bytesTotal, bytesDone: bytesDone,
            bytesFetched: state.bytesFetched, attempts: state.attempts, restarts: state.restarts)
    }

    /// Numbers of a fetch, by its durable bytes.
    package init(_ state: FetchState) {
        self.init(state, bytesDone: state.durable.count)
    }
}
