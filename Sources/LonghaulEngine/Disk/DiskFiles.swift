package import LonghaulCore
package import LonghaulPlatform

/// ``FilePort`` on the real disk.
package final class DiskFiles: FilePort {
    private let board: ProgressBoard
    private let workers: FileWorkers
    private let parts: OpenParts
    private let sources: OpenSources

    package init(
        board: ProgressBoard, workers: FileWorkers, store: String,
        tell: @escaping @Sendable (EngineInput) -> Void
    ) {
        self.board = board
        self.workers = workers
        parts = OpenParts(board: board, store: store, tell: tell)
        sources = OpenSources(board: board)
    }

    package func submit(_ orders: [FileOrder]) {
        if orders.isEmpty { return }
        var jobs: [FileWorkers.Work] = []
        jobs.reserveCapacity(orders.count)
        for order in orders {
            if case .copy(let fetch, let copies, let length) = order {
                // A large number of copies are several jobs.
                jobs += FileCopier(parts: parts, workers: workers).jobs(fetch, copies, length)
            } else {
                if case .close(let fetch, _) = order { sources.leave(fetch) }
                jobs.append(work(order))
            }
        }
        workers.submit(jobs)
    }

    private func work(_ order: FileOrder) -> FileWorkers.Work {
        let disk = disk(of: order)
        let (key, job) = job(order, on: disk)
        return FileWorkers.Work(key: key, disk: disk, job)
    }

    /// Found without asking any disk: it may be the one that hangs.
    private func disk(of order: FileOrder) -> UInt64? {
        switch order {
        case .prepare(let fetch, let part, _):
            if let disk = self.disk(of: fetch) ?? part.disk?.device { return disk }
            let directory = FileNaming.directory(of: part.destination)
            return parts.directories.device(of: directory)
                ?? UInt64(bitPattern: Int64(directory.hashValue))
        case .openSource(_, let path, _):
            let directory = FileNaming.directory(of: path)
            return UInt64(bitPattern: Int64(directory.hashValue))
        case .lookAtSource(let fetch), .reserve(let fetch, _), .truncate(let fetch, _),
            .sync(let fetch, _, _, _),
            .verify(let fetch, _, _, _), .digest(let fetch, _, _), .fill(let fetch, _),
            .copy(let fetch, _, _),
            .close(let fetch, _):
            return self.disk(of: fetch)
        case .secure(let fetches): return fetches.first.flatMap { self.disk(of: $0.0) }
        case .publish(let orders): return orders.first.flatMap { self.disk(of: $0.0) }
        case .delete(let part): return part.identity.device
        }
    }

    private func disk(of fetch: FetchID) -> UInt64? { parts.file(of: fetch)?.identity.device }

    private func job(
        _ order: FileOrder, on disk: UInt64?
    ) -> (key: Int64, job: FileWorkers.Job) {
        let (parts, sources) = (parts, sources)
        return switch order {
        case .prepare(let fetch, let part, let fetched):
            (fetch.rawValue, { parts.prepare(fetch, part, fetched: fetched) })
        case .openSource(let fetch, let path, let sent):
            (fetch.rawValue, { parts.report(fetch, sources.open(fetch, path, sent: sent)) })
        case .lookAtSource(let fetch):
            (
                fetch.rawValue,
                {
                    if let event = sources.present(of: fetch) { parts.report(fetch, event) }
                }
            )
        case .reserve(let fetch, let bytes): (fetch.rawValue, { parts.reserve(fetch, bytes) })
        case .truncate(let fetch, let generation):
            (fetch.rawValue, { parts.truncate(fetch, generation) })
        case .sync(let fetch, let token, let digests, let through):
            (fetch.rawValue, { parts.sync(fetch, token, digests, through: through) })
        case .verify(let fetch, let wanted, let length, let destination):
            (
                fetch.rawValue,
                { self.verify(fetch, wanted, length: length, destination: destination) }
            )
        case .digest(let fetch, let range, let algorithm):
            (
                fetch.rawValue,
                {
                    if let event = sources.digest(fetch, range, algorithm) {
                        parts.report(fetch, event)
                    }
                }
            )
        case .secure(let fetches): (DiskQueue.finishing.key(disk), { parts.secure(fetches) })
        case .publish(let orders): (DiskQueue.finishing.key(disk), { parts.publish(orders) })
        case .fill(let fetch, let kept): (fetch.rawValue, { parts.fill(fetch, kept) })
        case .copy: preconditionFailure("copies are several jobs, see `submit`")
        case .close(let fetch, let deletingPart):
            (fetch.rawValue, { self.close(fetch, deletingPart: deletingPart) })
        case .delete(let part): (DiskQueue.deleting.key(disk), { parts.delete(part) })
        }
    }

    private func verify(
        _ fetch: FetchID, _ wanted: [Checksum], length: Int64, destination: String
    ) {
        if let event = sources.verify(fetch, wanted) { return parts.report(fetch, event) }
        parts.verify(fetch, wanted, length: length, destination: destination)
    }

    private func close(_ fetch: FetchID, deletingPart: Bool) {
        if !sources.close(fetch) { parts.close(fetch, deletingPart: deletingPart) }
    }

    // MARK: - Cells

    package func target(for fetch: FetchID, generation: Int64, start: Int64) -> SegmentTarget? {
        sources.target(for: fetch, generation: generation, start: start)
            ?? parts.target(for: fetch, generation: generation, start: start)
    }

    package func release(_ target: SegmentTarget, of fetch: FetchID) {
        if target.cell == 0 { return }
        parts.forget(cell: target.cell, of: fetch)
        sources.forget(cell: target.cell, of: fetch)
        board.free(target.cell)
    }

    package func written(_ target: SegmentTarget) -> Int64 {
        target.cell == 0 ? 0 : board.written(at: target.cell)
    }

    package func received(_ target: SegmentTarget) -> Int64 {
        target.cell == 0 ? 0 : board.received(at: target.cell)
    }

    package func publish(rate: Double, fetched: Int64, of fetch: FetchID) {
        let cell = parts.cell(of: fetch) ?? sources.cell(of: fetch) ?? 0
        if cell == 0 { return }
        board.publish(rate: rate, at: cell)
        board.publish(counted: fetched, at: cell)
    }

    /// An open directory keeps its disk busy, so that it could not be unmounted.
    package func rest() {
        let directories = parts.directories
        if directories.count == 0 { return }
        workers.submit(key: DiskQueue.deleting.key(nil)) { directories.removeAll() }
    }

    // MARK: - Recovery

    package func leftovers() -> [BoardLeftover] {
        board.leftovers.map { left in
            let isSegment = left.kind == .segment
            return BoardLeftover(
                fetch: left.fetch, generation: isSegment ? left.generation : nil,
                written: left.start..<max(left.start, left.written), received: left.received,
                mount: left.mount)
        }
    }

    package func resetBoard() {
        board.reset()
    }

    package func facts(
        part: String, destination: String, madeOn disk: MountedDisk?, expecting: FileIdentity?
    ) -> FileFacts {
        FileInspection.facts(
            part: part, destination: destination, madeOn: disk, expecting: expecting)
    }

    package func sync(
        part: String, of fetch: FetchID, expecting identity: FileIdentity
    ) -> LocalFault? {
        guard let (directory, name) = PathParts.split(part) else { return nil }
        do throws(SystemFailure) {
            let handle = try parts.directories.handle(for: directory)
            // A file that is not writable has lost nothing by it.
            switch try PartFile.reopen(name, in: handle, expecting: identity, isForSync: true) {
            case .opened(let file): try file.sync()
            case .vanished, .replaced: break
            }
            return nil
        } catch {
            board.distrust(fetch)
            return LocalFault(error)
        }
    }
}

extension DiskFiles {
    package func takeBack(_ part: OrphanedPart, from destination: String) {
        guard FileInspection.entry(at: part.path) == .missing,
            let (directory, _) = PathParts.split(part.path),
            let (_, name) = PathParts.split(destination),
            let handle = try? parts.directories.handle(for: directory)
        else { return }
        Publication.takeBack(part, movedAsideAs: name, in: handle)
    }

    package func clearPart(
        of transfer: TransferID, _ partSuffix: Int, beside destination: String,
        madeSince since: Timestamp, sparing recorded: OrphanedPart?
    ) {
        guard let (directory, name) = PathParts.split(destination),
            let handle = try? parts.directories.handle(for: directory)
        else { return }
        // The path counts as well: a file has another identity where numbers do not outlast a
        // mount.
        let names = parts.names(name, transfer, partSuffix).filter {
            recorded?.path.isExactly(handle.path(of: $0.text)) != true
        }
        PartFile.clear(names, in: handle, leftSince: since) {
            parts.isInUse($0) || $0 == recorded?.identity
        }
    }

    package func syncDirectory(of path: String, without part: OrphanedPart?) -> LocalFault? {
        if let part, !part.path.isExactly(path) { PartFile.discard(part) }
        guard let (directory, _) = PathParts.split(path) else { return nil }
        do throws(SystemFailure) {
            try parts.directories.handle(for: directory).sync()
            return nil
        } catch {
            return LocalFault(error)
        }
    }
}

extension LocalFault {
    init(_ failure: SystemFailure) {
        let error = failure.longhaulError()
        self.init(code: error.code, message: error.message, isPassing: failure.isPassing)
        isBusy = failure.isBusy
    }
}

/// The cells of a fetch on the progress board: one for the fetch, one for each request.
struct FetchCells {
    let own: UInt
    private var segments: [UInt] = []

    init(own: UInt) {
        self.own = own
    }

    /// Takes a cell for a request.
    mutating func claim(
        _ fetch: FetchID, on board: ProgressBoard, generation: Int64, start: Int64
    ) -> UInt {
        let cell = board.claim(fetch, generation: generation, start: start, fetchCell: own)
        segments.append(cell)
        return cell
    }

    /// The caller frees the cell.
    mutating func forget(_ cell: UInt) { segments.removeAll { $0 == cell } }

    /// The bytes of the requests are void: they count from the beginning of the file.
    func retag(on board: ProgressBoard, generation: Int64) {
        for cell in segments where cell != 0 {
            board.retag(cell, generation: generation, start: 0)
        }
    }

    func free(on board: ProgressBoard) {
        board.free(own)
        for cell in segments { board.free(cell) }
    }
}

/// Work that runs one piece after the other on each disk, beside the other disks. Keys of
/// fetches are positive, these are not.
enum DiskQueue: Int64, CaseIterable {
    /// A batch of files becomes durable, or gets its names.
    case finishing
    case copying
    /// Finds the disk that copies go to, by directory.
    case locating
    case deleting

    func key(_ disk: UInt64?) -> Int64 {
        let number = Int64((disk ?? 0) & (1 << 60 - 1))
        return -1 - rawValue - number * Int64(Self.allCases.count)
    }
}
