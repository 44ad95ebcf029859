internal import LonghaulCore
internal import LonghaulPlatform
internal import Synchronization

/// The open part files of downloads. Each step runs on a disk thread, in order per fetch.
final class OpenParts: Sendable {
    /// The jobs of its fetch, which run one at a time, change it; others read it under the lock.
    private struct Part {
        var file: PartFile
        var cells: FetchCells
        var isBackground = false
        var digests: [FileDigest] = []
    }

    let board: ProgressBoard
    let directories = DirectoryHandles()
    private let parts = Mutex<[FetchID: Part]>([:])
    /// Recognizes the names of this store's part files.
    private let store: String
    private let tell: @Sendable (EngineInput) -> Void

    static let closedMeanwhile = LocalFault(code: .io, message: "closed meanwhile")

    init(board: ProgressBoard, store: String, tell: @escaping @Sendable (EngineInput) -> Void) {
        self.board = board
        self.store = store
        self.tell = tell
    }

    func report(_ fetch: FetchID, _ event: FetchEvent) {
        tell(.fetch(fetch, event))
    }

    // MARK: - The table

    func opened(_ file: PartFile, of fetch: FetchID, isBackground: Bool, fetched: Int64) {
        let cell = board.takeFetch(fetch, received: fetched, mount: file.mount)
        parts.withLock {
            $0[fetch] = Part(
                file: file, cells: FetchCells(own: cell), isBackground: isBackground)
        }
    }

    /// The open part file of a fetch; `nil` = it was closed meanwhile.
    func file(of fetch: FetchID) -> PartFile? {
        parts.withLock { $0[fetch]?.file }
    }

    /// A fetch under way has its bytes in this file.
    func isInUse(_ identity: FileIdentity) -> Bool {
        parts.withLock { $0.values.contains { $0.file.identity == identity } }
    }

    func names(_ name: String, _ transfer: TransferID, _ partSuffix: Int) -> PartNames {
        PartNames(for: name, id: transfer.rawValue, number: partSuffix, store: store)
    }

    /// `nil` = the fetch has no part file open.
    func target(for fetch: FetchID, generation: Int64, start: Int64) -> SegmentTarget? {
        parts.withLock { parts in
            guard let file = parts[fetch]?.file,
                let cell = parts[fetch]?.cells.claim(
                    fetch, on: board, generation: generation, start: start)
            else { return nil }
            return SegmentTarget(
                descriptor: file.descriptor, cell: cell, device: file.identity.device)
        }
    }

    func cell(of fetch: FetchID) -> UInt? { parts.withLock { $0[fetch]?.cells.own } }

    /// The caller frees the cell.
    func forget(cell: UInt, of fetch: FetchID) {
        parts.withLock { $0[fetch]?.cells.forget(cell) }
    }

    // MARK: - Steps

    func reserve(_ fetch: FetchID, _ bytes: Int64) {
        guard let part = file(of: fetch) else { return }
        do throws(SystemFailure) {
            try part.preallocate(bytes)
            report(fetch, .reserved)
        } catch {
            report(fetch, .reserveFailed(LocalFault(error)))
        }
    }

    func truncate(_ fetch: FetchID, _ generation: Int64) {
        guard let part = file(of: fetch) else { return }
        do throws(SystemFailure) {
            try part.truncate(to: 0)
            parts.withLock { parts in
                parts[fetch]?.digests = []
                parts[fetch]?.cells.retag(on: board, generation: generation)
            }
            report(fetch, .truncated)
        } catch {
            report(fetch, .truncateFailed(LocalFault(error)))
        }
    }

    func sync(
        _ fetch: FetchID, _ token: Int64, _ digests: [Checksum.Algorithm], through: Int64
    ) {
        guard let part = file(of: fetch) else { return }
        let isBackground = parts.withLock { $0[fetch]?.isBackground ?? false }
        if isBackground { DiskPriority.setIdle(true) }
        defer {
            if isBackground {
                part.dropCached()
                DiskPriority.setIdle(false)
            }
        }
        do throws(SystemFailure) {
            try part.sync()
            let displaced = PartChecks.displacement(of: part)
            if displaced?.losesBytes != true { report(fetch, .synced(token: token)) }
            if let displaced { return report(fetch, displaced) }
            // Behind the wire, from the page cache; a failure shows again, and counts, when the
            // file is verified.
            if !digests.isEmpty { _ = try? digest(fetch, part, digests, through: through) }
        } catch {
            // The next sync would return 0: bytes written since the last one are unreliable.
            board.distrust(fetch)
            report(fetch, .syncFailed(token: token, LocalFault(error)))
        }
    }

    private func digest(
        _ fetch: FetchID, _ part: PartFile, _ algorithms: [Checksum.Algorithm], through: Int64,
        isWhole: Bool = false
    ) throws(SystemFailure) -> [FileDigest] {
        var digests = parts.withLock { $0[fetch]?.digests ?? [] }
        if digests.map(\.algorithm) != algorithms
            || digests.contains(where: { $0.position > through })
        {
            digests = algorithms.map { FileDigest($0) }
        }
        for index in digests.indices {
            try digests[index].update(
                from: part.descriptor, upTo: through, path: part.path, isWhole: isWhole)
        }
        let done = digests
        parts.withLock { $0[fetch]?.digests = done }
        return done
    }

    func verify(_ fetch: FetchID, _ wanted: [Checksum], length: Int64, destination: String) {
        guard let part = file(of: fetch) else { return }
        do throws(SystemFailure) {
            if let fault = try PartChecks.fit(part, to: length) {
                return report(fetch, .verifyFailed(fault))
            }
            let digests = try digest(
                fetch, part, wanted.map(\.algorithm), through: length, isWhole: true)
            for (checksum, digest) in zip(wanted, digests) {
                let actual = digest.hex()
                if actual == checksum.hex { continue }
                try part.sync()
                if let fault = try PartChecks.gap(in: part, before: length) {
                    return report(fetch, .verifyFailed(fault))
                }
                let name = PathParts.split(destination)?.name ?? destination
                let kept = try Publication.keepBad(part, as: name)
                report(fetch, .mismatched(checksum, actual: actual, keptAt: kept))
                return
            }
            report(fetch, .verified)
        } catch {
            report(fetch, .verifyFailed(LocalFault(error)))
        }
    }

    func close(_ fetch: FetchID, deletingPart: Bool) {
        guard let entry = parts.withLock({ $0.removeValue(forKey: fetch) }) else { return }
        entry.cells.free(on: board)
        if deletingPart {
            delete(OrphanedPart(path: entry.file.path, identity: entry.file.identity))
        }
    }

    func delete(_ part: OrphanedPart) {
        guard let (directory, _) = PathParts.split(part.path),
            let handle = try? directories.handle(for: directory)
        else { return }
        if PartFile.discard(part, in: handle) { tell(.gone(part)) }
    }

    func fill(_ fetch: FetchID, _ kept: KeptFile) {
        guard let part = file(of: fetch) else { return }
        do throws(SystemFailure) {
            // A crash may have left some of another copy.
            try part.truncate(to: 0)
            try part.fill(
                from: kept.path, kept.identity, length: kept.length,
                unchangedSince: kept.finishedAt)
            try part.sync()
            // Preallocated by its program, or sparse: SEEK_HOLE would not show the written length.
            let zeros = kept.isOfAnother ? try part.firstZeros(before: kept.length) : nil
            report(fetch, .filled(zerosFrom: zeros))
        } catch {
            try? part.truncate(to: 0)
            report(fetch, .fillFailed(LocalFault(error)))
        }
    }
}
