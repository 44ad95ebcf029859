internal import CSQLite
package import LonghaulModel

#if canImport(Glibc)
internal import Glibc
#else
internal import Musl
#endif

/// Copies are made daily.
private let copyIntervalSeconds: Double = 24 * 3600
/// Pages of 4 KiB that are copied before the engine is asked again whether to continue: 1 MiB.
private let copyStepPages: Int32 = 256
/// Rows that are looked through for credentials at a time.
private let copyRowsAtOnce = 1000
/// Bytes that the disk must have left beside the copy.
private let copySpareBytes: Int64 = 64 << 20

/// The two latest daily copies of the store. An engine makes them while it works; a repair puts one
/// in the place of a damaged store.
package enum StoreCopy {
    /// True if the newest copy is a day old. A copy of another store that was at the same path does
    /// not count.
    package static func isDue(of store: Store, now: Timestamp) throws(LonghaulError) -> Bool {
        let path = store.location.copy(1)
        guard let status = FileStatus.of(path) else { return true }
        // A copy dated in the future was made before the clock was set back.
        guard abs(now - status.modified) < copyIntervalSeconds else { return true }
        let origin: String? = try? Connection(path: path, readOnly: true)
            .value("SELECT storeID FROM lease")
        return try store.lease.info().storeID != origin
    }

    /// Makes a copy, if the disk has room for it, and deletes the older of the two. Writers do not
    /// wait: the copy reads one snapshot. The call blocks until the copy is made, and ends soon
    /// after `goesOn` returns `false`.
    ///
    /// A copy that is not finished, or whose pages are damaged, leaves the earlier copies
    /// unchanged.
    package static func make(
        directory: String, now: Timestamp, goesOn: @escaping () -> Bool
    ) throws(LonghaulError) {
        guard hasRoom(StoreLocation(directory: directory)) else { return }
        let store = try Store.open(directory: directory, mode: .probe)
        defer { try? store.close() }
        _ = try make(of: store, now: now, goesOn: goesOn)
    }

    /// Makes the copy to which a user can return when a migration was a mistake; it takes its turn
    /// among the daily copies. Throws when no sound copy can be made.
    static func makeBeforeMigration(of store: Store) throws(LonghaulError) {
        let path = store.location.database
        guard hasRoom(store.location) else { throw StoreFailure.full(path) }
        guard try make(of: store, now: nil, goesOn: { true }) else {
            throw StoreFailure.damaged(path, "found before it was to be upgraded")
        }
    }

    /// Returns whether there is a copy now: it was finished, and its pages are sound.
    private static func make(
        of store: Store, now: Timestamp?, goesOn: @escaping () -> Bool
    ) throws(LonghaulError) -> Bool {
        let path = store.location.unfinishedCopy
        FileStatus.removeDatabase(path)
        defer { FileStatus.removeDatabase(path) }
        try StoreDirectory.createFile(path)
        do {
            guard try copy(store, to: path, goesOn), try settle(path, goesOn) else { return false }
        } catch {
            throw StoreFailure.translate(error, path: path)
        }
        if let now { try date(path, now) }
        try FileSwap.sync(path)
        try putInPlace(store.location)
        return true
    }

    /// Bytes that a copy takes.
    package static func size(directory: String) -> Int64 {
        let location = StoreLocation(directory: directory)
        return [location.database, location.log].reduce(0) { $0 + (FileStatus.of($1)?.size ?? 0) }
    }

    private static func hasRoom(_ location: StoreLocation) -> Bool {
        let size = size(directory: location.directory)
        return ReserveFile.free(at: location.directory).map { $0 - size >= copySpareBytes }
            ?? false
    }

    private static func copy(
        _ store: Store, to path: String, _ goesOn: () -> Bool
    ) throws -> Bool {
        let target = try Connection(path: path)
        // A copy that is not finished is deleted.
        try target.execute("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF")
        var isEnded = false
        do {
            try store.snapshot { source in
                _ = try source.value("SELECT epoch FROM lease") as Int64?
                try source.copy(into: target, pages: copyStepPages) {
                    // A backlog of unwritten pages would hold up the sync of the next commit.
                    try FileSwap.sync(path)
                    if !goesOn() {
                        isEnded = true
                        throw Ended()
                    }
                }
            }
        } catch {
            if isEnded { return false }
            throw error
        }
        try target.close()
        return true
    }

    private struct Ended: Error {}

    /// Credentials of uploads are deleted with the upload's end, and a copy would keep them longer.
    /// Overwritten, not only unlinked.
    private static func leaveOutCredentials(_ target: Connection) throws {
        try target.execute("PRAGMA secure_delete=ON; BEGIN")
        for table in ["transfer", "abandonedUpload"] {
            var last: Int64? = 0
            while let after = last {
                last = try leaveOutCredentials(of: table, after: after, target)
            }
        }
        // A store that is about to be migrated may have none.
        let hasBundles: Bool? = try target.value(
            "SELECT 1 FROM sqlite_master WHERE name = 'bundle'")
        let bundles =
            hasBundles != true
            ? []
            : try target.all("SELECT id, settings FROM bundle") {
                ($0[0] as Int64, $0.json(1) as BundleSettings?)
            }
        for (id, settings) in bundles {
            guard var settings, case .token = settings.secret else { continue }
            settings.secret = nil
            try target.run(
                "UPDATE bundle SET settings = ?2 WHERE id = ?1", id, StoredJSON.encode(settings))
        }
        try leaveOutFolderCredentials(target)
        try target.execute("COMMIT")
    }

    /// A folder that had credentials is paused in the copy: without them its uploads would fail.
    private static func leaveOutFolderCredentials(_ target: Connection) throws {
        let hasFolders: Bool? = try target.value(
            "SELECT 1 FROM sqlite_master WHERE name = 'folder'")
        if hasFolders != true { return }
        let folders = try target.all("SELECT id, settings FROM folder") {
            ($0[0] as Int64, $0.json(1) as FolderSettings?)
        }
        for (id, settings) in folders {
            guard var settings else { continue }
            let options = settings.common.options.withoutCredentials
            if options == settings.common.options { continue }
            settings.common.options = options
            try target.run(
                "UPDATE folder SET settings = ?2, paused = 1 WHERE id = ?1", id,
                StoredJSON.encode(settings))
        }
    }

    /// Leaves the credentials of some rows out; returns the last of these rows, `nil` = there are
    /// no more.
    private static func leaveOutCredentials(
        of table: String, after id: Int64, _ target: Connection
    ) throws -> Int64? {
        let rows = try target.all(
            """
            SELECT id, options FROM \(table) WHERE id > ?1 AND \
            (instr(options, '"user"') > 0 OR instr(options, '"headers"') > 0) ORDER BY id LIMIT ?2
            """, id, copyRowsAtOnce
        ) { ($0[0] as Int64, TransferOptions(stored: $0[1])) }
        for (id, options) in rows {
            guard let options, options.upload != nil else { continue }
            try target.run(
                "UPDATE \(table) SET options = ?2 WHERE id = ?1", id,
                options.withoutCredentials.stored)
        }
        return rows.last?.0
    }

    /// Turns the copy into a single file without a log, and reads it.
    private static func settle(_ path: String, _ goesOn: @escaping () -> Bool) throws -> Bool {
        let target = try Connection(path: path)
        try target.execute("PRAGMA synchronous=OFF; PRAGMA journal_mode=DELETE")
        do {
            try leaveOutCredentials(target)
            let fault = try target.quickFault(goesOn: goesOn)
            try target.close()
            return fault == nil
        } catch let error as SQLiteError where error.code == SQLITE_INTERRUPT {
            return false
        }
    }

    /// The date of the copy is that of its snapshot.
    private static func date(_ path: String, _ now: Timestamp) throws(LonghaulError) {
        let milliseconds = max(0, now.milliseconds)
        let time = timespec(
            tv_sec: Int(milliseconds / 1000), tv_nsec: Int(milliseconds % 1000) * 1_000_000)
        guard utimensat(AT_FDCWD, path, [time, time], AT_SYMLINK_NOFOLLOW) == 0 else {
            throw StoreFailure.system("date", path, errno: errno)
        }
    }

    /// A crash between the two renames leaves the older copy, and the next copy is due.
    private static func putInPlace(_ location: StoreLocation) throws(LonghaulError) {
        for (from, to) in [
            (location.copy(1), location.copy(2)), (location.unfinishedCopy, location.copy(1)),
        ] where rename(from, to) != 0 && errno != ENOENT {
            throw StoreFailure.system("rename", from, errno: errno)
        }
        try FileSwap.syncDirectory(location.directory)
    }
}
