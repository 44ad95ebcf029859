/// Where a store lives: one directory that belongs to one user, and the names inside it.
package struct StoreLocation: Hashable, Sendable {
    /// Absolute path of the state directory.
    package let directory: String

    package init(directory: String) {
        var path = directory
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        self.directory = path
    }

    /// The SQLite file. Its `-wal` and `-shm` companions lie beside it.
    package var database: String { directory + "/queue.sqlite" }

    /// Locked (flock) while the store is created, migrated or repaired. Its content means nothing.
    package var openLock: String { directory + "/open.lock" }

    /// Where a damaged file is moved to: the first free number from 1.
    func damaged(_ number: Int) -> String { "\(database).damaged-\(number)" }

    /// The companions that SQLite finds by the name of the file.
    static let companions = ["-wal", "-shm", "-journal"]
}
