public import FoundationEssentials
public import LonghaulCore

/// A download of a session. It is the store's, not this value's: letting go of the value, or the
/// process ending, changes nothing about it.
public struct DownloadTask: Sendable, Identifiable {
    /// The number that the command prints and takes.
    public let id: TransferID
    let session: BackgroundSession

    init(_ id: TransferID, _ session: BackgroundSession) {
        self.id = id
        self.session = session
    }

    /// Progress from now to the transfer's end.
    public var progress: ProgressUpdates {
        ProgressUpdates(executor: session.executor, id: id)
    }

    /// The file, once it exists, whole and durable.
    ///
    /// Throws the transfer's `LonghaulError` when it has failed or was cancelled, by any process.
    /// Cancelling the Swift task ends the wait (`CancellationError`), not the transfer.
    public var value: DownloadedFile {
        get async throws {
            let ended = try await session.executor.end(of: id)
            return try DownloadedFile(ended)
        }
    }

    /// The store's knowledge of the transfer, and how far it is.
    public var transfer: Transfer {
        get async throws(LonghaulError) {
            let id = id
            let transfer = try await session.executor.perform { context throws(LonghaulError) in
                try context.transfer(id)
            }
            guard let transfer else { throw LonghaulError.noTransfer(id) }
            return transfer
        }
    }

    /// Wait reasons and forecast, as `longhaul why` shows them.
    public var explanation: TransferExplanation {
        get async throws(LonghaulError) {
            try session.executor.checkOpen()
            let (id, directory) = (id, session.executor.directory)
            return try await Blocking.run { () throws(LonghaulError) in
                let queue = try TransferQueue(directory: directory)
                guard let transfer = try queue.transfer(id) else { throw .noTransfer(id) }
                let forecast = try queue.forecast(of: transfer) { RFC3339.format($0) }
                return TransferExplanation(
                    state: transfer.state, waitingFor: transfer.waitingFor, forecast: forecast)
            }
        }
    }

    // MARK: - Wants

    /// Stops it with its bytes kept, until ``resume()``. Durable when this returns.
    ///
    /// - Throws: `LonghaulError` `noSuchTransfer`; `conflict` when it has ended;
    ///   `sessionInvalidated`, `storeUnavailable`.
    public func pause() async throws(LonghaulError) {
        try await change { queue, id throws(LonghaulError) in try queue.pause(.ids([id])) }
    }

    /// Resumes the transfer; a failed one is retried from the bytes that are kept, and one that
    /// waits for a back-off is tried now.
    ///
    /// - Throws: `LonghaulError` `noSuchTransfer`; `conflict` when it was cancelled;
    ///   `sessionInvalidated`, `storeUnavailable`.
    public func resume() async throws(LonghaulError) {
        try await change { queue, id throws(LonghaulError) in try queue.resume(.ids([id])) }
    }

    /// Ends it; its event follows. The bytes go with it, unless they are kept for ``retry()``.
    ///
    /// - Throws: `LonghaulError` `noSuchTransfer`; `conflict` when it has ended;
    ///   `sessionInvalidated`, `storeUnavailable`.
    public func cancel(keepingBytes: Bool = false) async throws(LonghaulError) {
        try await change { queue, id throws(LonghaulError) in
            try queue.cancel(.ids([id]), keepingBytes: keepingBytes)
        }
    }

    /// Retries a failed or cancelled transfer from the bytes that are kept.
    ///
    /// - Throws: `LonghaulError` `noSuchTransfer`; `conflict` while another transfer has its
    ///   destination, or when its deadline is over; `sessionInvalidated`, `storeUnavailable`.
    public func retry() async throws(LonghaulError) {
        try await change { queue, id throws(LonghaulError) in try queue.retry(.ids([id])) }
    }

    /// Asks another URL for the rest: the bytes are kept if the new server proves that it has the
    /// same file. One that has failed then waits for ``resume()``.
    ///
    /// - Throws: `LonghaulError` `noSuchTransfer`; `conflict` when it is completed;
    ///   `invalidRequest` for an invalid URL; `sessionInvalidated`, `storeUnavailable`.
    public func replaceURL(_ url: URL) async throws(LonghaulError) {
        let id = id
        try await session.executor.change { queue throws(LonghaulError) in
            var change = TransferChange()
            change.url = url.absoluteString
            try queue.change(id, change)
        }
    }

    private func change(
        _ body:
            @escaping @Sendable (TransferQueue, TransferID) throws(LonghaulError) ->
            [ChangeOutcome]
    ) async throws(LonghaulError) {
        let id = id
        let refusal = try await session.executor.change { queue throws(LonghaulError) in
            let outcome = try body(queue, id).first
            // Without an engine, no other process would carry the change out.
            if !queue.isEngineRunning { try queue.settle() }
            return outcome?.error
        }
        if let refusal { throw refusal }
    }
}

/// A transfer's wait reasons and forecast.
public struct TransferExplanation: Sendable {
    /// The state of the transfer.
    public var state: TransferState
    /// Each condition that holds it; empty while it runs and when it has ended.
    public var waitingFor: [WaitReason]
    /// The forecast, as far as known.
    public var forecast: Forecast
}

/// A file that was downloaded.
public struct DownloadedFile: Sendable {
    /// The place of the file; another name than requested only where that was allowed.
    public var url: URL
    /// The answer of the server about the file.
    public var response: TransferResponse
    /// The cost of the transfer.
    public var metrics: TransferMetrics

    init(_ ended: Transfer) throws(LonghaulError) {
        switch ended.state {
        case .completed: if let skipped = ended.error { throw skipped }
        case .failed:
            throw ended.error
                ?? LonghaulError(
                    .internal, "the transfer failed", transferID: ended.id,
                    bytesKept: ended.bytesDone)
        case .waiting, .running, .paused, .cancelled:
            throw LonghaulError(
                .cancelled, "transfer \(ended.id) was cancelled", transferID: ended.id,
                bytesKept: ended.bytesDone)
        }
        url = URL(fileURLWithPath: ended.path, isDirectory: false)
        response = ended.response ?? TransferResponse(url: ended.requestURL)
        metrics = TransferMetrics(ended)
    }
}

/// The cost of a transfer: bytes, attempts and time.
public struct TransferMetrics: Hashable, Sendable {
    /// The size of the file.
    public var bytes: Int64
    /// Body bytes that came over the wire, repetitions included.
    public var bytesFetched: Int64
    /// Requests that went out.
    public var attempts: Int
    /// Times that bytes were given up because the server's file had changed.
    public var restarts: Int
    /// When it was enqueued.
    public var createdAt: Date
    /// When its first attempt began; `nil` = no request went out.
    public var startedAt: Date?
    /// When it ended.
    public var finishedAt: Date?

    init(_ transfer: Transfer) {
        bytes = transfer.bytesDone
        bytesFetched = transfer.bytesFetched
        attempts = transfer.attempts
        restarts = transfer.restarts
        createdAt = Date(transfer.createdAt)
        startedAt = transfer.startedAt.map(Date.init)
        finishedAt = transfer.finishedAt.map(Date.init)
    }
}
