package import LonghaulCore

#if canImport(Glibc)
internal import Glibc
#else
internal import Musl
#endif

/// What a repair did.
package struct RepairReport: Hashable, Sendable {
    /// Where the damaged file was moved; `nil`: the file was sound, and only what stands in
    /// `mended` was put in order.
    package var movedTo: String?
    /// Rows saved, by table.
    package var recovered: [String: Int] = [:]
    /// Rows that could be read and made no sense, and places where reading failed.
    package var lost = 0
    /// Transfers that the damaged file counted; `nil` when that could not be read.
    package var transfersBefore: Int?
    /// What was put in order, for people.
    package var mended: [String] = []
}

extension StoreDoctor {
    /// Mends the store in `directory`: corrects modes, removes stray rows; and a damaged file is
    /// moved aside to `queue.sqlite.damaged-N`, never overwritten, and what can be read of it goes
    /// into a new one. `nil` when there is no store.
    ///
    /// The caller holds the engine's lock. Others who have the store open wait before they write,
    /// and are told then that their file is not the store's any more: see ``RepairHold``.
    package static func repair(
        directory: String, now: Timestamp
    ) throws(LonghaulError) -> RepairReport? {
        let location = StoreLocation(directory: directory)
        guard Store.exists(at: location) || location.hasLog else { return nil }
        var report = RepairReport()
        report.mended = try correctModes(directory: directory)
        try putBack(location)
        if FileStatus.of(location.salvage) != nil { removeDirectory(location.salvage) }
        if let reason = try damage(location) {
            report.mended.append(reason)
            let lock = try OpenLock(location.openLock)
            defer { withExtendedLifetime(lock) {} }
            // A log alone is moved aside with its file as it now is: without a byte.
            try StoreDirectory.createFile(location.database)
            let hold = try RepairHold(location)
            defer { withExtendedLifetime(hold) {} }
            try replace(location, now: now, &report)
        } else {
            let store = try Store.open(directory: location.directory, mode: .existing)
            defer { try? store.close() }
            try tidy(store, &report)
            let bytes = try shrink(store)
            if bytes > 0 { report.mended.append("gave \(bytes >> 20) MiB back to the disk") }
        }
        return report
    }

    /// Why the file must be replaced; `nil` when it need not be. Throws what a repair cannot mend:
    /// another program's file, a newer version, a network file system, a failing disk.
    private static func damage(_ location: StoreLocation) throws(LonghaulError) -> String? {
        do {
            let store = try Store.open(directory: location.directory, mode: .existing)
            defer { try? store.close() }
            return try store.faults(limit: 1).first.map { "damaged: \($0)" }
        } catch {
            if StoreFailure.isDamage(error) { return error.parts.what }
            throw error
        }
    }

    /// Lets the owner, and nobody else, write the directory and its files; returns what was done.
    /// Changes nothing through a link.
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
        try store.write(.durable) { try $0.removeStrays(now: nil) }
        report.mended.append(stray.description)
    }

    private static func replace(
        _ location: StoreLocation, now: Timestamp, _ report: inout RepairReport
    ) throws(LonghaulError) {
        var number = 1
        while isTaken(location.damaged(number)) { number += 1 }
        let aside = location.damaged(number)
        let work = location.salvage
        try emptyDirectory(work)
        defer { removeDirectory(work) }
        try Salvage.run(from: location, in: work, now: now, &report)
        try swap(location, fresh: StoreLocation(directory: work).database, aside: aside)
        report.movedTo = aside
    }

    private static func emptyDirectory(_ path: String) throws(LonghaulError) {
        removeDirectory(path)
        try StoreDirectory.create(path)
    }

    /// Only what a repair puts there: the directory is not entered deeper.
    private static func removeDirectory(_ path: String) {
        for place in ["", "/template"] {
            for name in ["queue.sqlite", "damaged"] {
                for suffix in [""] + StoreLocation.companions {
                    _ = unlink("\(path)\(place)/\(name)\(suffix)")
                }
            }
            for name in ["open.lock", "spare"] { _ = unlink("\(path)\(place)/\(name)") }
        }
        _ = rmdir(path + "/template")
        _ = rmdir(path)
    }
}

extension Connection {
    /// Puts rows right that refer to nothing, and counts anew. With `now`, sessions that were lost
    /// get a row again.
    func removeStrays(now: Timestamp?) throws {
        try run("DELETE FROM \(Stray.fetches)")
        try run("DELETE FROM \(Stray.attempts)")
        // Without its fetch nothing is known of a transfer's bytes: it starts anew.
        try run(
            """
            UPDATE transfer SET fetchID = NULL, phase = CASE WHEN ended THEN phase ELSE 0 END, \
            readyAt = CASE WHEN phase = 1 THEN 0 ELSE readyAt END \
            WHERE id IN (SELECT id FROM \(Stray.fetchless))
            """)
        try run(
            """
            INSERT INTO session (id, name, created) \
            SELECT DISTINCT sessionID, 'recovered-' || sessionID, ?1 FROM transfer \
            WHERE sessionID NOT IN (SELECT id FROM session)
            """, now ?? Timestamp(milliseconds: 0))
        try restoreOrigins()
        try run("DELETE FROM tally")
        try run("INSERT INTO tally (sessionID, phase, want, pending, n) \(Stray.counted)")
    }

    /// Damage may put the parts of two rows together, each of them good by itself: what such a one
    /// would fetch, and where to, nobody has asked for. The keys, made of both texts, tell.
    func failContradictory(now: Timestamp) throws {
        let found = try all(
            """
            SELECT id, url, originID, identityKey, coalesce(realPath, destination), destinationKey \
            FROM transfer WHERE ended = 0
            """
        ) { row -> Int64? in
            let isWhole =
                row.int64(3) == IdentityKey.of(row.text(1), origin: row.int64(2))
                && row.int64(5) == DestinationKey.of(row.text(4))
            return isWhole ? nil : row.int64(0)
        }
        for id in found.compactMap(\.self) {
            let error = LonghaulError(
                .internal,
                "the store was damaged here: URL and destination may be those of different "
                    + "transfers; look at both; `resume` carries it on, `remove` forgets it",
                transferID: TransferID(rawValue: id))
            try run(
                """
                UPDATE transfer SET phase = 4, ended = 1, finishedAt = ?2, error = ?3, \
                waitReason = NULL WHERE id = ?1
                """, id, now, StoredJSON.encode(error))
        }
    }

    /// An origin's name stands in the URLs of its transfers. Two rows of one name would be two
    /// budgets for one server, so transfers move to the row that is there.
    private func restoreOrigins() throws {
        let missing = try all(
            """
            SELECT originID, min(url) FROM transfer WHERE originID NOT IN (SELECT id FROM origin) \
            GROUP BY originID
            """
        ) { ($0.int64(0), $0.text(1)) }
        for (id, url) in missing {
            let name = (try? URLParts(url))?.origin ?? "recovered-\(id)"
            let existing = try first("SELECT id FROM origin WHERE name = ?1", name) { $0.int64(0) }
            if let existing {
                try run("UPDATE transfer SET originID = ?2 WHERE originID = ?1", id, existing)
            } else {
                try run("INSERT INTO origin (id, name) VALUES (?1, ?2)", id, name)
            }
        }
    }
}
