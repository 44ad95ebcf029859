internal import FoundationEssentials
internal import LonghaulCore
internal import LonghaulStore
internal import LonghaulPlatform

/// The files of foreground requests whose content is returned in memory.
struct ForegroundContents {
    private let store: Store
    private let machine: Machine
    private let directory: String

    init(_ queue: TransferQueue) {
        store = queue.store
        machine = queue.machine
        directory = queue.directory
    }

    /// A file name that is not in use, from 128 random bits.
    static func freshName() -> String {
        var random = SystemRandom()
        return [random.next(), random.next()].map { String($0, radix: 36) }.joined()
    }

    /// The content of a completed transfer that only the caller knows of: afterwards the
    /// store has forgotten it, and the file is gone.
    ///
    /// In this order a crash in between leaves a file without a use, never an event without
    /// its file.
    func read(of id: TransferID, at path: String) throws(LonghaulError) -> Data {
        let data: Data
        do {
            data = try Data(contentsOf: URL(fileURLWithPath: path, isDirectory: false))
        } catch {
            throw LonghaulError(
                .io, "\(path) was downloaded, and cannot be read: \(error)", transferID: id)
        }
        try store.events.consume(id, forgetting: true, now: machine.now().wall)
        SpooledFile.remove(path)
        return data
    }

    /// Files of this name are read by ``read(of:at:)`` alone.
    static let prefix = "data-"

    /// Deletes contents whose transfer a killed process has removed, but not the file.
    ///
    /// Safe beside any process: a transfer is recorded before its file comes into being, names are
    /// never used again, and one without a transfer was read already. Another process that
    /// deletes it too finds it gone, which is as good.
    func sweep() {
        let place = PathParts.join(directory, "foreground")
        // Files beside a file, for people to look at, have a suffix.
        let contents = (directoryNames(place) ?? []).filter {
            $0.hasPrefix(Self.prefix) && !$0.contains(".")
        }
        for path in contents.map({ PathParts.join(place, $0) }) {
            if (try? store.transfers.hasTransfer(to: path)) == false { SpooledFile.remove(path) }
        }
    }
}
