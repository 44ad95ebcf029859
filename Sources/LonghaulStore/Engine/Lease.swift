package import LonghaulCore

/// Identifies the holder of the lease. It is raised at every take-over, so that the transactions of
/// a replaced holder fail.
package struct Epoch: Hashable, Comparable, Sendable {
    package let rawValue: Int64

    package init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    package static func < (left: Epoch, right: Epoch) -> Bool { left.rawValue < right.rawValue }
}

/// Thrown instead of writing: another process has taken the lease since. Nothing of the transaction
/// is kept.
package struct LeaseLost: Error, Hashable, Sendable {}

/// The process that is the engine. It also holds the kernel lock; this record is for users, and
/// distinguishes an engine from a dead predecessor.
package struct EngineHolder: Hashable, Sendable {
    package var pid: Int32
    /// Start time of the process in clock ticks since boot (/proc/PID/stat, field 22): detects a
    /// reused pid.
    package var pidStart: Int64
    package var bootID: String
    /// daemon, run, get, embedded or background.
    package var mode: String

    package init(pid: Int32, pidStart: Int64, bootID: String, mode: String) {
        self.pid = pid
        self.pidStart = pidStart
        self.bootID = bootID
        self.mode = mode
    }

    /// Whether it serves every wish for an engine, and ends only when it is idle or on request.
    package var stays: Bool { mode == "daemon" || mode == "background" }
}

/// The lease row. Only the kernel lock shows whether the holder is alive.
package struct EngineInfo: Hashable, Sendable {
    package var epoch: Epoch
    /// Random, made with the store: distinguishes it from a later store at the same path.
    package var storeID: String
    /// `nil`: the last holder released the lease, or there never was one.
    package var holder: EngineHolder?
    package var since: Timestamp?
    /// When the engine will wake on its own; `nil` = nothing is due.
    package var nextWake: Timestamp?
}

extension Store {
    package func engineInfo() throws(LonghaulError) -> EngineInfo {
        let found = try access {
            try $0.first(
                """
                SELECT epoch, storeID, pid, pidStart, bootID, mode, since, nextWake FROM lease
                """
            ) { row in
                EngineInfo(
                    epoch: Epoch(rawValue: row.int64(0)), storeID: row.text(1),
                    holder: row.isNull(2)
                        ? nil
                        : EngineHolder(
                            pid: Int32(truncatingIfNeeded: row.int64(2)), pidStart: row.int64(3),
                            bootID: row.text(4), mode: row.text(5)),
                    since: row.optionalTimestamp(6), nextWake: row.optionalTimestamp(7))
            }
        }
        guard let found else {
            throw StoreFailure.damaged(location.database, "the lease row is missing")
        }
        return found
    }

    /// Takes over the lease in the store, durably. The caller holds the kernel lock. When this
    /// returns, the previous holder cannot write any more.
    package func raiseEpoch(
        _ holder: EngineHolder, now: Timestamp
    ) throws(LonghaulError) -> Epoch {
        try write(.durable) { connection in
            try connection.run(
                """
                UPDATE lease SET epoch = epoch + 1, pid = ?1, pidStart = ?2, bootID = ?3, \
                mode = ?4, since = ?5, nextWake = NULL
                """, Int64(holder.pid), holder.pidStart, holder.bootID, holder.mode, now)
            // The conditions of the previous holder.
            try connection.removeSetting(ConditionsRecord.key)
            if holder.stays { try connection.removeSetting(Store.wishKey) }
            guard let epoch = try connection.first("SELECT epoch FROM lease", read: { $0.int64(0) })
            else { throw StoreFailure.damaged(location.database, "the lease row is missing") }
            return Epoch(rawValue: epoch)
        }
    }

    /// Releases the lease: the row names no holder any more. Does nothing if another process has
    /// taken the lease.
    package func releaseLease(_ epoch: Epoch) throws(LonghaulError) {
        try write(.relaxed) {
            try $0.run(
                """
                UPDATE lease SET pid = NULL, pidStart = NULL, bootID = NULL, mode = NULL, \
                since = NULL WHERE epoch = ?1
                """, epoch.rawValue)
        }
    }

    /// The memory of an origin.
    package func origin(_ name: String) throws(LonghaulError) -> OriginMemory {
        try access { try $0.first(OriginRecord.select, name, read: OriginRecord.read) }
            ?? OriginMemory(origin: name)
    }
}

/// The wish for an engine that stays, with the program to run: a row of `setting`.
///
/// It is recorded before the check whether an engine runs, and every engine reads it after it has
/// released the lease. So one of the two notices a wish that comes while an engine ends.
extension Store {
    static let wishKey = "wantedEngine"

    package func wishForEngine(_ executable: String) throws(LonghaulError) {
        if try access({ try $0.setting(Store.wishKey) }) == executable { return }
        try write(.relaxed) { try $0.set(Store.wishKey, to: executable) }
    }

    /// Removes the wish and returns its program; `nil` = there was none.
    package func takeEngineWish() throws(LonghaulError) -> String? {
        // Without a wish no write lock is taken.
        if try access({ try $0.setting(Store.wishKey) }) == nil { return nil }
        return try write(.relaxed) { connection in
            let wish = try connection.setting(Store.wishKey)
            try connection.removeSetting(Store.wishKey)
            return wish
        }
    }

    /// Whether transfers are left that are wanted to run.
    package func isAnyWanted() throws(LonghaulError) -> Bool {
        try access { connection in
            try connection.first(
                """
                SELECT 1 FROM tally WHERE n > 0 AND (pending = 1 OR phase = 0 AND want = 0) LIMIT 1
                """
            ) { _ in true } ?? false
        }
    }
}

extension Store {
    /// The conditions and limits of the last engine; valid while it runs.
    package func engineView() throws(LonghaulError) -> EngineView? {
        let text = try access { try $0.setting(ConditionsRecord.key) }
        return text.flatMap(ConditionsRecord.read)
    }
}
