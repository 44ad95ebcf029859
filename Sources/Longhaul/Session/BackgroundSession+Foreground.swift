public import FoundationEssentials
public import LonghaulCore
internal import LonghaulStore
internal import LonghaulPlatform

/// Transfers whose result a task waits for. They are the session's own from the start, so nothing
/// has to be handed over when the wait ends.
extension BackgroundSession {
    /// The content of a URL, in memory.
    ///
    /// When the Swift task is cancelled, or the process dies, the transfer is *promoted*: it
    /// continues in the background, without another request while this process is the engine, else
    /// from the bytes received. It is then among ``tasks``, its event among ``events``, and its
    /// file stays until it is moved, or the transfer is removed. A transfer that has ended by the
    /// time of the cancellation is returned.
    ///
    /// An answer other than success throws; of a transfer that has failed nothing stays. Bodies
    /// that memory should not hold are better asked for with ``download(for:)``;
    /// `request.options.maxSize` bounds them.
    ///
    /// - Throws: `LonghaulError` of the transfer, or a refusal, as ``download(_:to:)``;
    ///   `CancellationError` when it was promoted.
    public func data(
        for request: TransferRequest
    ) async throws -> (Data, TransferResponse) {
        let id = try await begin(request, ForegroundContents.prefix)
        // However it ends: what stays awaited is withheld from the events for ever.
        defer { sharedStore.release(id) }
        let file = try await fetch(id)
        let path = file.url.path(percentEncoded: false)
        let data = try await executor.perform { context throws(LonghaulError) in
            try ForegroundContents(context.queue).read(of: id, at: path)
        }
        return (data, file.response)
    }

    /// The content of a URL, in a file that is the caller's to move or delete. Promoted like
    /// ``data(for:)``.
    ///
    /// - Throws: `LonghaulError` as ``data(for:)``.
    public func download(
        for request: TransferRequest
    ) async throws -> (URL, TransferResponse) {
        let id = try await begin(request, "")
        defer { sharedStore.release(id) }
        let file = try await fetch(id)
        try await consume(id)
        return (file.url, file.response)
    }

    /// When this returns the events leave it out; the caller records that it was consumed.
    func fetch(_ id: TransferID) async throws -> DownloadedFile {
        do {
            // Without a handler for input, a wait for input would never end.
            let seen = try await executor.end(of: id, orInput: !inputs.isWatching)
            if !seen.state.hasEnded { try await giveUp(id) }
            return try await deliver(seen)
        } catch is CancellationError {
            guard let ended = try await promote(id) else { throw CancellationError() }
            return try await deliver(ended)
        }
    }

    /// The waiting task gets the error. No other call asks for the transfer, so it goes.
    private func deliver(_ ended: Transfer) async throws(LonghaulError) -> DownloadedFile {
        do throws(LonghaulError) {
            return try DownloadedFile(ended)
        } catch {
            try? await remove(ended.id)
            throw error
        }
    }

    /// Removes a transfer with the rest of its file. Its events are acknowledged first: they could
    /// not be delivered without it.
    private func remove(_ id: TransferID) async throws(LonghaulError) {
        try await executor.change { queue throws(LonghaulError) in
            try queue.store.events.consume(id, forgetting: false, now: queue.now)
            _ = try queue.remove([id])
        }
    }

    func consume(_ id: TransferID) async throws(LonghaulError) {
        try await executor.change { queue throws(LonghaulError) in
            try queue.store.events.consume(id, forgetting: false, now: queue.now)
        }
    }

    /// Gives up a transfer that waits for input which no handler gives: the waiting task gets the
    /// reason, and the transfer ends.
    private func giveUp(_ id: TransferID) async throws {
        let error = try await executor.change { queue throws(LonghaulError) in
            let error = try queue.store.questions.inputError(of: id)
            _ = try queue.cancel(.ids([id]))
            if !queue.isEngineRunning { try queue.settle() }
            return error
        }
        let ended = try await executor.end(of: id)
        try? await remove(id)
        throw error
            ?? LonghaulError(
                .cancelled,
                "transfer \(id) waited for input, and the session has no handler for it",
                transferID: id, bytesKept: ended.bytesDone)
    }

    private func begin(
        _ request: TransferRequest, _ prefix: String
    ) async throws -> TransferID {
        let name = prefix + ForegroundContents.freshName()
        return try await begin(
            request, at: PathParts.join(PathParts.join(executor.directory, "foreground"), name))
    }

    func begin(_ request: TransferRequest, at path: String) async throws -> TransferID {
        try Task.checkCancellation()
        try executor.checkOpen()
        var request = try completed(request, path)
        request.isDiscretionary = false
        let (foreground, sharedStore) = (request, sharedStore)
        return try await executor.change { queue throws(LonghaulError) in
            guard case .recorded(let id, _) = try queue.enqueue([foreground]).first else {
                throw LonghaulError(.internal, "a request was neither recorded nor refused")
            }
            sharedStore.hold(id)
            return id
        }
    }

    /// No task waits for it any more. From now on the events tell of it; if it has ended before, it
    /// is returned instead, because an event of its may have been passed over.
    private func promote(_ id: TransferID) async throws(LonghaulError) -> Transfer? {
        let sharedStore = sharedStore
        // The read runs outside of the cancelled task: jobs of the executor are not cancelled.
        return try await executor.perform { context throws(LonghaulError) in
            let transfer = try context.queue.store.transfers.find(id, now: context.queue.now)
            if let transfer, transfer.state.hasEnded { return transfer }
            sharedStore.release(id)
            return nil
        }
    }
}
