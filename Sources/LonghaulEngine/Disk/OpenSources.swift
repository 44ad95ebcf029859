internal import LonghaulCore
internal import LonghaulPlatform
internal import Synchronization

/// The files that uploads send: opened for reading, and closed. Nothing here writes or deletes one.
final class OpenSources: Sendable {
    private struct Source {
        var file: SourceFile
        var cells: FetchCells
        /// The reader's result is not wanted any more.
        var isLeft = false
    }

    private let board: ProgressBoard
    private let sources = Mutex<[FetchID: Source]>([:])

    init(board: ProgressBoard) {
        self.board = board
    }

    /// - Parameter sent: Bytes that were ever sent for the fetch.
    func open(_ fetch: FetchID, _ path: String, sent: Int64) -> FetchEvent {
        do throws(SystemFailure) {
            let file = try SourceFile(path)
            let cell = board.takeFetch(fetch, received: sent, mount: 0)
            sources.withLock { $0[fetch] = Source(file: file, cells: FetchCells(own: cell)) }
            return .opened(file.version)
        } catch {
            return .prepareFailed(SourceFile.fault(error))
        }
    }

    /// The file as it is now; `nil` = as for ``verify(_:_:)``.
    func present(of fetch: FetchID) -> FetchEvent? {
        guard let file = sources.withLock({ $0[fetch] })?.file else { return nil }
        return .looked(file.present, hasWriter: file.hasWriter)
    }

    /// Reads the file and compares its digests; `nil` = the fetch has no source open, or was left
    /// meanwhile.
    func verify(_ fetch: FetchID, _ wanted: [Checksum]) -> FetchEvent? {
        guard let entry = sources.withLock({ $0[fetch] }) else { return nil }
        let (file, length) = (entry.file, entry.file.version.size)
        var isLeft = false
        do throws(SystemFailure) {
            for checksum in wanted {
                let digest = FileDigest(checksum.algorithm)
                try digest.update(
                    from: file.descriptor, upTo: length, path: file.path, isWhole: true
                ) { position in
                    isLeft = sources.withLock { $0[fetch]?.isLeft ?? true }
                    if entry.cells.own != 0 {
                        board.publish(checked: position, at: entry.cells.own)
                    }
                    return isLeft
                }
                if isLeft { return nil }
                guard file.isUnchanged else { return .verifyFailed(SourceFile.changed) }
                let actual = digest.hex()
                if actual != checksum.hex {
                    return .mismatched(checksum, actual: actual, keptAt: file.path)
                }
            }
            if entry.cells.own != 0 { board.publish(checked: 0, at: entry.cells.own) }
            return .verified
        } catch {
            return .verifyFailed(file.isUnchanged ? LocalFault(error) : SourceFile.changed)
        }
    }

    /// Reads a piece of the file; `nil` = as for ``verify(_:_:)``.
    func digest(
        _ fetch: FetchID, _ range: Range<Int64>, _ algorithm: Checksum.Algorithm
    ) -> FetchEvent? {
        guard let file = sources.withLock({ $0[fetch] })?.file else { return nil }
        var isLeft = false
        do throws(SystemFailure) {
            let digest = FileDigest(algorithm, from: range.lowerBound)
            try digest.update(from: file.descriptor, upTo: range.upperBound, path: file.path) { _ in
                isLeft = sources.withLock { $0[fetch]?.isLeft ?? true }
                return isLeft
            }
            if isLeft { return nil }
            guard file.isUnchanged else { return .verifyFailed(SourceFile.changed) }
            return .digested(Checksum(algorithm: algorithm, hex: digest.hex()))
        } catch {
            return .verifyFailed(file.isUnchanged ? LocalFault(error) : SourceFile.changed)
        }
    }

    /// Stops reading the fetch's file; ``close(_:)`` follows.
    func leave(_ fetch: FetchID) { sources.withLock { $0[fetch]?.isLeft = true } }

    /// `nil` = the fetch has no source open.
    func target(for fetch: FetchID, generation: Int64, start: Int64) -> SegmentTarget? {
        sources.withLock { sources in
            guard let file = sources[fetch]?.file,
                let cell = sources[fetch]?.cells.claim(
                    fetch, on: board, generation: generation, start: start)
            else { return nil }
            return SegmentTarget(
                descriptor: file.descriptor, cell: cell, device: file.version.device)
        }
    }

    func cell(of fetch: FetchID) -> UInt? { sources.withLock { $0[fetch]?.cells.own } }

    /// The caller frees the cell.
    func forget(cell: UInt, of fetch: FetchID) {
        sources.withLock { $0[fetch]?.cells.forget(cell) }
    }

    /// `false` = the fetch has no source open.
    func close(_ fetch: FetchID) -> Bool {
        guard let entry = sources.withLock({ $0.removeValue(forKey: fetch) }) else { return false }
        entry.cells.free(on: board)
        return true
    }
}
