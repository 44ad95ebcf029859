package import LonghaulModel

/// A wake-up that was dropped, or handed over and not handled.
package struct WakeUpEnd: Hashable, Sendable {
    /// Empty = it has none.
    package var identifier: String
    package var isUrgent: Bool
    package var submittedAt: Timestamp
    package var at: Timestamp
    /// The launch that has not handled it; `nil` = it was dropped.
    package var launch: LaunchID?
    /// Reason why the wake-up was not handed over.
    package var obstacle: WaitReason.Reason?
}

private enum Column: Int32, StoredColumn {
    case identifier, urgent, submittedAt, at, launch, obstacle

    static let select = """
        SELECT \(list) FROM wakeUpEnd INDEXED BY wakeUpEndByHost WHERE host = ?1 \
        ORDER BY id DESC LIMIT ?2
        """
}

extension TaskRequests {
    /// The last wake-ups that were not handled, newest first.
    package func wakeUpEnds(of host: String) throws(LonghaulError) -> [WakeUpEnd] {
        try store.access {
            try $0.all(Column.select, host, Limits.wakeUpEndsKept) { (row: StoredRow<Column>) in
                WakeUpEnd(
                    identifier: row[.identifier], isUrgent: row[.urgent],
                    submittedAt: row[.submittedAt], at: row[.at], launch: row[.launch],
                    obstacle: row.known(.obstacle))
            }
        }
    }
}

/// The last wake-ups of each host that were not handled.
struct WakeUpLog {
    let connection: Connection

    func record(
        _ task: StoredTask, now: Timestamp, launch: LaunchID?, obstacle: WaitReason.Reason?
    ) throws {
        try connection.run(
            """
            INSERT INTO wakeUpEnd (host, identifier, urgent, submittedAt, at, launch, obstacle) \
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
            """, task.host, task.request.identifier, task.isUrgent, task.submittedAt, now, launch,
            obstacle?.rawValue)
        try connection.run(
            """
            DELETE FROM wakeUpEnd WHERE host = ?1 AND id NOT IN (SELECT id FROM wakeUpEnd \
            WHERE host = ?1 ORDER BY id DESC LIMIT ?2)
            """, task.host, Limits.wakeUpEndsKept)
    }
}
