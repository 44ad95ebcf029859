internal import LonghaulCore
internal import LonghaulPlatform
internal import LonghaulStore

/// Transfers whose bytes are only passed on: their files are in a separate directory beside the
/// store, and are removed with the process that reads them.
package struct StreamedTransfers {
    private let queue: TransferQueue

    package init(_ queue: TransferQueue) {
        self.queue = queue
    }

    private var streams: String { PathParts.join(queue.directory, "streams") }

    /// A new path for such a file. The directory is private like the state directory.
    ///
    /// - Throws: `LonghaulError` where the directory cannot be made.
    package func newPath() throws(LonghaulError) -> String {
        do throws(SystemFailure) {
            let directory = try DirectoryHandle.creating(streams, isPrivate: true)
            var random = SystemRandom()
            return directory.path(of: String(random.next(), radix: 36))
        } catch {
            throw error.longhaulError()
        }
    }

    /// Cancels such a transfer. One that has ended is forgotten, and its file is deleted.
    ///
    /// - Returns: Whether it is gone.
    /// - Throws: `LonghaulError` `storeUnavailable`.
    @discardableResult
    package func discard(_ id: TransferID) throws(LonghaulError) -> Bool {
        guard let transfer = try queue.store.transfers.find(id, now: queue.now) else { return true }
        if !transfer.state.hasEnded {
            _ = try queue.cancel(.ids([id]), by: .command)
            return false
        }
        if transfer.state == .completed {
            let name = transfer.path.split(separator: "/").last.map(String.init) ?? ""
            try? DirectoryHandle(opening: streams).remove(name)
        }
        return try queue.remove([id]).allSatisfy { $0.error == nil }
    }

    /// Removes killed readers, with the transfers that only they read.
    ///
    /// - Throws: `LonghaulError` `storeUnavailable`.
    package func sweepReaders() throws(LonghaulError) {
        let machine = queue.machine
        for id in try queue.store.readers.sweep(isAlive: { $0.isAlive(on: machine) }) {
            guard let transfer = try queue.store.transfers.find(id, now: queue.now),
                FileNaming.directory(of: transfer.path).isExactly(streams)
            else { continue }
            try discard(id)
        }
    }
}
