internal import GRDB
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
    /// The caller holds the engine's lock: an engine that goes on writing to the file set aside
    /// would write for nobody. A crash at any point leaves either the damaged file or the new one
    /// under the store's name.
    package static func repair(
        directory: String, now: Timestamp
    ) throws(LonghaulError) -> RepairReport? {
        let location = StoreLocation(directory: directory)
        guard Store.exists(at: location) else { return nil }
        var report = RepairReport()
        try correctModes(location, &report)
        if let reason = try damage(location) {
            report.mended.append(reason)
            let lock = try OpenLock(location.openLock)
            defer { withExtendedLifetime(lock) {} }
            try replace(location, now: now, &report)
        } else {
            let store = try Store.open(directory: location.directory, mode: .existing)
            defer { try? store.close() }
            try tidy(store, &report)
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

    private static func correctModes(
        _ location: StoreLocation, _ report: inout RepairReport
    ) throws(LonghaulError) {
        let files = [location.database] + StoreLocation.companions.map { location.database + $0 }
        for (path, mode) in [(location.directory, UInt32(0o700))] + files.map({ ($0, 0o600) }) {
            guard let status = FileStatus.of(path, followingLinks: path == location.directory),
                status.owner == geteuid(), status.permissions & 0o022 != 0
            else { continue }
            guard chmod(path, mode) == 0 else {
                throw StoreFailure.system("set the mode of", path, errno: errno)
            }
            report.mended.append("mode of \(path) set to \(String(mode, radix: 8))")
        }
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
        let work = location.directory + "/salvage"
        try emptyDirectory(work)
        try Salvage.run(from: location, in: work, now: now, &report)
        try swap(location, fresh: StoreLocation(directory: work).database, aside: aside)
        removeDirectory(work)
        report.movedTo = aside
    }

    private static func isTaken(_ path: String) -> Bool {
        ([""] + StoreLocation.companions).contains { FileStatus.of(path + $0) != nil }
    }

    /// The new file takes the name in one step, after the old one has got its other name. The old
    /// log goes first: beside the new file it would be taken for its own.
    private static func swap(
        _ location: StoreLocation, fresh: String, aside: String
    ) throws(LonghaulError) {
        guard link(location.database, aside) == 0 else {
            throw StoreFailure.system("make a second name for", location.database, errno: errno)
        }
        for suffix in StoreLocation.companions {
            let path = location.database + suffix
            if rename(path, aside + suffix) != 0, errno != ENOENT {
                throw StoreFailure.system("move aside", path, errno: errno)
            }
        }
        guard rename(fresh, location.database) == 0 else {
            throw StoreFailure.system("put in place", fresh, errno: errno)
        }
        let descriptor = open(location.directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw StoreFailure.system("open", location.directory, errno: errno)
        }
        defer { _ = Glibc.close(descriptor) }
        guard fsync(descriptor) == 0 else {
            throw StoreFailure.system("sync", location.directory, errno: errno)
        }
    }

    private static func emptyDirectory(_ path: String) throws(LonghaulError) {
        removeDirectory(path)
        try StoreDirectory.create(path)
    }

    /// Only what a repair puts there: the directory is not entered deeper.
    private static func removeDirectory(_ path: String) {
        let names = ["queue.sqlite", "open.lock", "damaged", "template/queue.sqlite"]
        for name in names {
            for suffix in [""] + StoreLocation.companions { _ = unlink("\(path)/\(name)\(suffix)") }
        }
        _ = unlink(path + "/template/open.lock")
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
