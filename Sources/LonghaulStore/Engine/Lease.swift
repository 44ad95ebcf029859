package import LonghaulModel

/// Identifies the holder of the lease. It is raised at every take-over, so that the transactions of
/// a replaced holder fail.
package struct Epoch: Hashable, Comparable, Sendable {
    package let rawValue: Int64

    package init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    package static func < (left: Epoch, right: Epoch) -> Bool { left.rawValue < right.rawValue }
}

extension Epoch: StoredID {}

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

    /// True if it serves every request for an engine, and ends only when it is idle or on request.
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

/// The row of the lease: which process is the engine.
package struct EngineLease {
    let store: Store

    private enum Column: Int32, StoredColumn {
        case epoch, storeID, pid, pidStart, bootID, mode, since, nextWake

        static let select = "SELECT \(list) FROM lease"
    }

    package func info() throws(LonghaulError) -> EngineInfo {
        let found = try store.access {
            try $0.first(Column.select) { (row: StoredRow<Column>) in
                EngineInfo(
                    epoch: row[.epoch], storeID: row[.storeID],
                    holder: row.isNull(.pid)
                        ? nil
                        : EngineHolder(
                            pid: Int32(truncatingIfNeeded: row[.pid] as Int64),
                            pidStart: row[.pidStart], bootID: row[.bootID], mode: row[.mode]),
                    since: row[.since], nextWake: row[.nextWake])
            }
        }
        guard let found else {
            throw StoreFailure.damaged(store.location.database, "the lease row is missing")
        }
        return found
    }

    /// Takes over the lease in the store, durably. The caller holds the kernel lock. When this
    /// returns, the previous holder cannot write any more.
    package func raiseEpoch(
        _ holder: EngineHolder, now: Timestamp
    ) throws(LonghaulError) -> Epoch {
        try store.write(.durable) { connection in
            try connection.run(
                """
                UPDATE lease SET epoch = epoch + 1, pid = ?1, pidStart = ?2, bootID = ?3, \
                mode = ?4, since = ?5, nextWake = NULL
                """, Int64(holder.pid), holder.pidStart, holder.bootID, holder.mode, now)
            // The conditions of the previous holder.
            try SettingRows(connection).remove(ConditionsRecord.key)
            if holder.stays { try SettingRows(connection).remove(StoreSettings.requestKey) }
            guard let epoch: Epoch = try connection.value("SELECT epoch FROM lease")
            else { throw StoreFailure.damaged(store.location.database, "the lease row is missing") }
            return epoch
        }
    }

    /// Releases the lease: the row names no holder any more. Does nothing if another process has
    /// taken the lease.
    package func release(_ epoch: Epoch) throws(LonghaulError) {
        try store.write(.relaxed) {
            try $0.run(
                """
                UPDATE lease SET pid = NULL, pidStart = NULL, bootID = NULL, mode = NULL, \
                since = NULL WHERE epoch = ?1
                """, epoch.rawValue)
        }
    }
}

extension Store {
    /// The lease: the process that is the engine.
    package var lease: EngineLease { EngineLease(store: self) }
}
