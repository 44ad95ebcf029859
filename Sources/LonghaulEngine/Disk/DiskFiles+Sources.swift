internal import LonghaulCore
internal import LonghaulPlatform
internal import Synchronization

/// The files that uploads send: opened for reading, and closed. Nothing here writes or deletes one.
extension DiskFiles {
    struct OpenSource {
        var file: SourceFile
        var fetchCell: UInt
        var segmentCells: [UInt] = []
    }

    func openSource(_ fetch: FetchID, _ path: String, sent: Int64) {
        do throws(SystemFailure) {
            let file = try SourceFile(path)
            let cell = board.takeFetch(fetch, received: sent, mount: 0)
            sources.withLock { $0[fetch] = OpenSource(file: file, fetchCell: cell) }
            report(fetch, .opened(file.version))
        } catch {
            report(fetch, .prepareFailed(SourceFile.fault(error)))
        }
    }

    func sourceTarget(for fetch: FetchID, generation: Int64, start: Int64) -> SegmentTarget? {
        sources.withLock { sources in
            guard let entry = sources[fetch] else { return nil }
            let cell = board.claim(
                fetch, generation: generation, start: start, fetchCell: entry.fetchCell)
            sources[fetch]?.segmentCells.append(cell)
            return SegmentTarget(
                descriptor: entry.file.descriptor, cell: cell,
                device: entry.file.version.device)
        }
    }

    /// `false` = the fetch has no source open.
    func closeSource(_ fetch: FetchID) -> Bool {
        guard let entry = sources.withLock({ $0.removeValue(forKey: fetch) }) else { return false }
        board.free(entry.fetchCell)
        for cell in entry.segmentCells { board.free(cell) }
        return true
    }
}
