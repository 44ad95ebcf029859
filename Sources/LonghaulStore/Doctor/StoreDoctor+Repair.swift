package import LonghaulModel

#if canImport(Glibc)
internal import Glibc
#else
internal import Musl
#endif

/// A store with fewer free pages is not rewritten.
private let shrinkLeastFreePages: Int64 = 1_000

/// The results of a repair.
package struct RepairReport: Hashable, Sendable {
    /// The path that the damaged file was moved to. `nil`: the file was sound, and only the points
    /// in `mended` were corrected.
    package var movedTo: String?
    /// The copy that replaces the file; `nil` for a moved file: an empty store.
    package var restored: Restored?
    /// The last numbers that the damaged file had given; `nil` if they cannot be read.
    package var before: StoreNumbers?
    /// The id that the next transfer gets, where the file was moved.
    package var nextTransfer: Int64?
    /// The corrections, as texts for people.
    package var mended: [String] = []
    /// The store is empty.
    package var isTotalLoss: Bool { movedTo != nil && restored == nil }
}

extension StoreDoctor {
    /// Repairs the store in `directory`: corrects modes and removes stray rows. A damaged file is
    /// moved to `queue.sqlite.damaged-N` and never overwritten. The newest sound copy takes its
    /// place (``StoreCopy``), or an empty store without a copy. `nil` when there is neither a
    /// store nor a copy.
    ///
    /// The caller holds the engine's lock. Transactions of other processes that have the file open
    /// fail afterwards, because it is no longer the store's: see ``Store/hasBeenSuperseded()``.
    package static func repair(directory: String) throws(LonghaulError) -> RepairReport? {
        let location = StoreLocation(directory: directory)
        guard
            Store.exists(at: location) || location.hasRemains || newestCopy(location) != nil
        else { return nil }
        var report = RepairReport()
        report.mended = try correctModes(directory: directory)
        try FileSwap.putBack(location)
        var store: Store?
        defer { try? store?.close() }
        if let reason = try damage(location, &store) {
            report.mended.append(reason)
            try replace(location, store, &report)
        } else if let store {
            removeDirectory(location.salvage)
            try tidy(store, &report)
            let bytes = try shrink(store)
            if bytes > 0 { report.mended.append("gave \(bytes >> 20) MiB back to the disk") }
        }
        return report
    }

    /// When the newest copy was made; `nil`: no copy exists.
    static func newestCopy(_ location: StoreLocation) -> Timestamp? {
        (1...Limits.copiesKept).lazy
            .compactMap { FileStatus.of(location.copy($0))?.modified }.first
    }

    /// Opens the store and returns why the file must be replaced; `nil` when it need not be. Throws
    /// if a repair cannot help: another program's file, a newer version, a network file system, a
    /// failing disk.
    private static func damage(
        _ location: StoreLocation, _ store: inout Store?
    ) throws(LonghaulError) -> String? {
        guard Store.exists(at: location) || location.hasRemains else {
            return "the queue \(location.database) is missing"
        }
        do {
            let opened = try Store.open(directory: location.directory, mode: .existing)
            store = opened
            return try opened.faults(limit: 1).first.map { "damaged: \($0)" }
        } catch {
            if StoreFailure.isDamage(error) { return error.parts.what }
            throw error
        }
    }

    /// Removes the permissions of other users from the directory and its files; returns the
    /// corrections. Changes nothing through a link.
    package static func correctModes(directory: String) throws(LonghaulError) -> [String] {
        let location = StoreLocation(directory: directory)
        var done: [String] = []
        func correct(
            _ path: String, _ status: FileStatus?, to mode: UInt32, _ flags: Int32
        ) throws(LonghaulError) {
            guard let status, status.owner == geteuid(),
                status.permissions & 0o022 != 0 || status.permissions & mode != mode
            else { return }
            guard fchmodat(AT_FDCWD, path, mode, flags) == 0 else {
                throw StoreFailure.system("set the mode of", path, errno: errno)
            }
            done.append("mode of \(path) set to \(String(mode, radix: 8))")
        }
        let home = FileStatus.of(location.directory, followingLinks: true)
        try correct(location.directory, home, to: 0o700, 0)
        for path in location.files {
            guard let status = FileStatus.of(path), status.isRegular else { continue }
            try correct(path, status, to: 0o600, AT_SYMLINK_NOFOLLOW)
        }
        return done
    }

    private static func tidy(_ store: Store, _ report: inout RepairReport) throws(LonghaulError) {
        let stray = try store.stray()
        if stray.isEmpty { return }
        try store.write(.durable) { try StrayRepair($0).removeStrays() }
        report.mended.append(stray.description)
    }

    /// - Parameter store: The damaged store, if SQLite can open it: nothing is written to it from
    ///   the reading of its numbers until the other file is in place.
    private static func replace(
        _ location: StoreLocation, _ store: Store?, _ report: inout RepairReport
    ) throws(LonghaulError) {
        let lock = try OpenLock(location.openLock)
        defer { withExtendedLifetime(lock) {} }
        do {
            try store?.write(.relaxed) { connection in
                report.before = try? StoreNumbers(connection)
                try putCopyInPlace(location, &report)
            }
        } catch {
            guard StoreFailure.isDamage(error) else { throw error }
        }
        if report.movedTo == nil { try putCopyInPlace(location, &report) }
    }

    private static func putCopyInPlace(
        _ location: StoreLocation, _ report: inout RepairReport
    ) throws(LonghaulError) {
        let work = location.salvage
        // A missing file is replaced like an empty one.
        try StoreDirectory.createFile(location.database)
        removeDirectory(work)
        try StoreDirectory.create(work)
        // Without the store's file, the directory shows that a repair was broken off.
        defer { if Store.exists(at: location) { removeDirectory(work) } }
        let restored = try Restoration.run(from: location, in: work)
        let aside = location.damaged(location.firstFreeNumber)
        try FileSwap.swap(
            location, fresh: StoreLocation(directory: work).database, aside: aside)
        report.movedTo = aside
        report.restored = restored
        report.nextTransfer = (restored?.last.transfer ?? 0) + Limits.restoredNumbersSkipped + 1
    }

    /// Deletes only the files that a repair makes; subdirectories are left alone.
    private static func removeDirectory(_ path: String) {
        for name in ["queue.sqlite", "new.sqlite", "copy-1.sqlite"] {
            FileStatus.removeDatabase("\(path)/\(name)")
        }
        for name in ["open.lock", "spare"] { _ = unlink("\(path)/\(name)") }
        _ = rmdir(path)
    }
}

extension StoreDoctor {
    /// Returns free pages to the disk if they are most of the file, which SQLite never does by
    /// itself. Returns the number of bytes; 0 if it is not worth it, if the disk has no room for
    /// the copy that it takes, or if other connections write for longer than a moment.
    static func shrink(_ store: Store) throws(LonghaulError) -> Int64 {
        let size: (pages: Int64, free: Int64, page: Int64) = try store.access { connection in
            func number(_ name: String) throws -> Int64 {
                try connection.value("PRAGMA \(name)") ?? 0
            }
            return (
                try number("page_count"), try number("freelist_count"), try number("page_size")
            )
        }
        guard size.free >= shrinkLeastFreePages, size.free > size.pages / 2 else { return 0 }
        do {
            try store.access { connection in
                try connection.run("VACUUM")
                try connection.run("PRAGMA wal_checkpoint(TRUNCATE)")
            }
        } catch {
            // The file is unchanged.
            return 0
        }
        return size.free * size.page
    }
}

/// Puts rows right that refer to nothing.
private struct StrayRepair: ConnectionRows {
    let connection: Connection

    /// Repairs stray rows, and counts the tally again.
    func removeStrays() throws {
        try connection.run("DELETE FROM \(Stray.fetches)")
        try connection.run("DELETE FROM \(Stray.attempts)")
        // The bytes of a transfer are unknown without its fetch: it starts from zero.
        try connection.run(
            """
            UPDATE transfer SET fetchID = NULL, phase = CASE WHEN ended THEN phase ELSE 0 END, \
            readyAt = CASE WHEN phase = 1 THEN 0 ELSE readyAt END \
            WHERE id IN (SELECT id FROM \(Stray.fetchless))
            """)
        try connection.run(
            """
            INSERT INTO session (id, name, created) \
            SELECT DISTINCT sessionID, 'recovered-' || sessionID, 0 FROM transfer \
            WHERE sessionID NOT IN (SELECT id FROM session)
            """)
        try restoreOrigins()
        try connection.run("DELETE FROM tally")
        try connection.run(
            "INSERT INTO tally (sessionID, phase, want, pending, n) \(Stray.counted)")
    }

    /// The name of a missing origin is taken from the URLs of its transfers. Two rows of one name
    /// would be two budgets for one server, so the transfers move to an existing row of that name.
    private func restoreOrigins() throws {
        let missing = try connection.all(
            """
            SELECT originID, min(url) FROM transfer WHERE originID NOT IN (SELECT id FROM origin) \
            GROUP BY originID
            """
        ) { ($0[0] as Int64, $0[1] as String) }
        for (id, url) in missing {
            let name = (try? URLParts(url))?.origin ?? "recovered-\(id)"
            let existing: Int64? = try connection.value(
                "SELECT id FROM origin WHERE name = ?1", name)
            if let existing {
                try connection.run(
                    "UPDATE transfer SET originID = ?2 WHERE originID = ?1", id, existing)
            } else {
                try connection.run("INSERT INTO origin (id, name) VALUES (?1, ?2)", id, name)
            }
        }
    }
}
