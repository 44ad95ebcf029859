/// The place of a store: one directory that belongs to one user, and the names inside it.
package struct StoreLocation: Hashable, Sendable {
    /// Absolute path of the state directory.
    package let directory: String

    package init(directory: String) {
        var path = directory
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        self.directory = path
    }

    /// The store whose SQLite file this is.
    init(database: String) {
        self.init(
            directory: String(database[..<(database.lastIndex(of: "/") ?? database.endIndex)]))
    }

    /// The SQLite file. Its `-wal` and `-shm` companions lie beside it.
    package var database: String { directory + "/queue.sqlite" }

    /// SQLite's write-ahead log: changes that are not in the file yet.
    package var log: String { database + "-wal" }

    /// Locked (flock) while the store is created, migrated or repaired. Its content means nothing.
    package var openLock: String { directory + "/open.lock" }

    /// Space that the store may use on a full disk (``ReserveFile``). Its content means nothing.
    package var spare: String { directory + "/spare" }

    /// All files with fixed names that must be writable, the engine's included.
    var files: [String] {
        [database] + Self.companions.map { database + $0 }
            + ["open.lock", "engine.lock", "progress"].map { "\(directory)/\($0)" }
    }

    /// A store that is being made: it gets its name when it is whole.
    var unfinished: String { directory + "/new.sqlite" }

    /// The daily copies; 1 is the newest. Their names do not begin as the store's does: a process
    /// that waits for a commit watches all files whose names begin so.
    package func copy(_ generation: Int) -> String { "\(directory)/copy-\(generation).sqlite" }

    /// A copy that is being made.
    var unfinishedCopy: String { directory + "/copy.sqlite" }

    /// The working directory of a repair, until the new file is in place.
    var salvage: String { directory + "/salvage" }

    /// Shows that a missing file was there: the directory of a repair, or a log with committed
    /// data, which is larger than its header (sqlite.org/walformat.html).
    var hasRemains: Bool {
        (FileStatus.of(log)?.size ?? 0) > Self.logHeaderSize || FileStatus.of(salvage) != nil
    }

    private static let logHeaderSize: Int64 = 32

    /// The path that a damaged file is moved to.
    func damaged(_ number: Int) -> String { "\(database).damaged-\(number)" }

    /// The number of the next damaged file, from 1.
    var firstFreeNumber: Int {
        var number = 1
        while ([""] + Self.companions).contains(where: {
            FileStatus.of(damaged(number) + $0) != nil
        }) {
            number += 1
        }
        return number
    }

    /// The companions that SQLite finds by the name of the file.
    static let companions = ["-wal", "-shm", "-journal"]
}
