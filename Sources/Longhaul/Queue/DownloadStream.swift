internal import LonghaulCore
internal import LonghaulPlatform
internal import LonghaulStore

/// The bytes of one transfer in order, as they come. While a stream is open the transfer is fetched
/// in order and runs regardless of its conditions, and the idle machine does not go to sleep.
///
/// The stream reads the part file where the store and the progress board say that its bytes are,
/// and passes on only bytes of the version that the store names: an engine commits that a version
/// is given up before it writes a byte of another one. Engines, attempts and mirrors may change
/// meanwhile.
///
/// For one thread.
package final class DownloadStream {
    package enum Step {
        /// Number of bytes in the buffer.
        case bytes(Int)
        /// There are no more for now. `isMoving`: the next ones may come without a commit.
        case waits(isMoving: Bool)
        /// All bytes of a complete file have been read.
        case whole
        /// No more bytes come.
        case ended(LonghaulError)
    }

    /// The file and its version from which bytes were passed on.
    private struct Source {
        var fetch: FetchID
        var generation: Int64
        var restarts: Int
    }

    private let queue: TransferQueue
    private let id: TransferID
    private var reader: ReaderID?
    private var awake: ConditionsWatch?
    private var position: Int64
    /// `nil` = nothing was passed on.
    private var source: Source?
    private var file: ReadableFile?
    /// The part file that is open.
    private var path: String?
    /// Bytes known to be in the part file from the position on; beyond them the file is examined
    /// again.
    private var known: Range<Int64> = 0..<0

    /// Enters a reader.
    ///
    /// - Throws: `noSuchTransfer`; `invalidRequest` for an upload, which has no bytes to read;
    ///   `storeUnavailable`.
    package init(
        _ id: TransferID, from position: Int64 = 0, in queue: TransferQueue
    ) throws(LonghaulError) {
        self.queue = queue
        self.id = id
        self.position = position
        guard let transfer = try queue.store.transfers.find(id, now: queue.now) else {
            throw LonghaulError(.noSuchTransfer, "no such transfer", transferID: id)
        }
        if transfer.kind == .upload {
            throw LonghaulError(
                .invalidRequest, "an upload has no bytes to read", transferID: id)
        }
        if transfer.state.hasEnded { return }
        try? StreamedTransfers(queue).sweepReaders()
        let process = ProcessIdentity.current
        reader = try queue.store.readers.enter(
            id, from: position,
            LaunchedProcess(
                pid: process.pid, startTicks: Int64(clamping: process.startTicks),
                bootID: queue.machine.bootID ?? ""))
        WakeChannel.poke(queue.directory)
        awake = try? ConditionsWatch.start(
            .machine(environment: Environment.all()), interest: [])
        awake?.keepMachineAwake(reason: "transfer \(id) is read as it comes")
    }

    deinit {
        close()
    }

    /// Removes the reader. The transfer continues.
    package func close() {
        awake?.stop()
        awake = nil
        guard let reader else { return }
        self.reader = nil
        // A row that stays is swept by the next reader or engine.
        try? queue.store.readers.leave(reader, of: id)
        WakeChannel.poke(queue.directory)
    }

    /// Lets a waiting transfer run again after a failed attempt.
    package func hasten() throws(LonghaulError) {
        if reader == nil { return }
        try queue.store.readers.hasten(id)
        WakeChannel.poke(queue.directory)
    }

    /// Reads what comes next.
    ///
    /// - Throws: `LonghaulError` `storeUnavailable`.
    package func next(
        into buffer: UnsafeMutableRawBufferPointer
    ) throws(LonghaulError) -> Step {
        guard let transfer = try queue.store.transfers.find(id, now: queue.now) else {
            return .ended(LonghaulError(.noSuchTransfer, "it was removed", transferID: id))
        }
        switch transfer.state {
        case .completed: return readWhole(transfer, into: buffer)
        case .failed:
            return .ended(
                (transfer.error ?? LonghaulError(.internal, "it failed")).about(id))
        case .cancelled: return .ended(LonghaulError(.cancelled, "it was cancelled").about(id))
        case .waiting, .running, .paused: break
        }
        let waits = Step.waits(isMoving: transfer.state == .running)
        guard let held = transfer.held, held.hasVersion else {
            return hasGivenUp(transfer) ? .ended(changed) : waits
        }
        if let source, source.fetch != held.fetch || source.generation != held.generation {
            // A transfer that shares its fetch is given a copy in the end; the file that is open is
            // then another's. One that was given up is deleted.
            let isCopy =
                source.fetch != held.fetch && source.restarts == transfer.restarts && isLinked
            return isCopy ? waits : .ended(changed)
        }
        if position >= known.upperBound || path != held.partPath { known = bytes(held) }
        guard position < known.upperBound, let count = read(held.partPath, into: buffer), count > 0
        else {
            known = 0..<0
            return waits
        }
        guard try isStill(held, transfer) else {
            // The next step finds why: the file was restarted, or the transfer has failed.
            known = 0..<0
            return waits
        }
        source = Source(
            fetch: held.fetch, generation: held.generation, restarts: transfer.restarts)
        position += Int64(count)
        return .bytes(count)
    }

    // MARK: - The part file

    /// The bytes from the position on that are in the part file, without a gap.
    private func bytes(_ held: HeldBytes) -> Range<Int64> {
        var have = held.durable
        if held.durable.end(of: position) == nil {
            for (generation, range) in BoardReader.written(of: held.fetch, in: queue.directory)
            where generation == held.generation {
                have.insert(range)
            }
        }
        return have.end(of: position).map { position..<$0 } ?? 0..<0
    }

    /// `nil` = the file is about to have another name.
    private func read(
        _ part: String, into buffer: UnsafeMutableRawBufferPointer
    ) -> Int? {
        if file == nil || path != part {
            guard let opened = try? ReadableFile(part) else { return nil }
            file = opened
            path = part
        }
        let count = min(Int64(buffer.count), known.upperBound - position)
        return try? file?.read(
            into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<Int(count)]), at: position)
    }

    /// Tells whether the bytes just read were of that version: it was not given up meanwhile.
    private func isStill(
        _ held: HeldBytes, _ transfer: Transfer
    ) throws(LonghaulError) -> Bool {
        guard let now = try queue.store.transfers.find(id, now: queue.now),
            now.restarts == transfer.restarts
        else { return false }
        guard let after = now.held, after.fetch == held.fetch else { return true }
        return after.generation == held.generation
    }

    /// The file that is open was not given up.
    private var isLinked: Bool { (try? file?.facts().isLinked) ?? false }

    private func hasGivenUp(_ transfer: Transfer) -> Bool {
        source.map { $0.restarts != transfer.restarts } ?? false
    }

    private var changed: LonghaulError {
        LonghaulError(
            .sourceChanged,
            "the file was begun anew after \(position) bytes had been passed on: the server has "
                + "another one, or nothing proves that it is the same", transferID: id)
    }

    // MARK: - The whole file

    private func readWhole(
        _ transfer: Transfer, into buffer: UnsafeMutableRawBufferPointer
    ) -> Step {
        if hasGivenUp(transfer) { return .ended(changed) }
        if transfer.isSkipped {
            return .ended(
                LonghaulError(
                    .destinationExists, "another file was kept in its place"
                ).about(id))
        }
        do throws(SystemFailure) {
            if source == nil, path != nil { (file, path) = (nil, nil) }
            if file == nil { file = try finished(transfer) }
            // Bytes of the open part file were passed on: it must be the file that has completed.
            if path != nil, try file?.facts().isLinked != true { return .ended(changed) }
            guard let file else {
                return .ended(
                    LonghaulError(
                        .sourceChanged, "\(transfer.path) was changed since it completed"
                    ).about(id))
            }
            if position >= transfer.bytesDone { return .whole }
            let count = try file.read(into: buffer, at: position)
            guard count > 0 else {
                return .ended(
                    LonghaulError(.io, "\(transfer.path) was cut off").about(id))
            }
            position += Int64(count)
            return .bytes(count)
        } catch {
            return .ended(error.longhaulError().about(id))
        }
    }

    /// `nil` = another program has changed it since.
    private func finished(_ transfer: Transfer) throws(SystemFailure) -> ReadableFile? {
        let file = try ReadableFile(transfer.path)
        let facts = try file.facts()
        let end = transfer.finishedAt ?? transfer.createdAt
        return facts.size == transfer.bytesDone && facts.changedAt <= end ? file : nil
    }
}
