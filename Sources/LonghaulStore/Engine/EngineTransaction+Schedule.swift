internal import GRDB
package import LonghaulCore

extension EngineTransaction {
    /// Makes transfers whose moment (earliest begin, end of a back-off) has come ready. Returns how
    /// many; at the limit there may be more.
    package func promoteDue(_ now: Timestamp, limit: Int) throws -> Int {
        try connection.run(
            """
            UPDATE transfer SET readyAt = 0, waitReason = NULL WHERE id IN (SELECT id \
            FROM transfer INDEXED BY transferDue WHERE phase = 0 AND readyAt > 0 AND readyAt <= ?1 \
            ORDER BY readyAt LIMIT ?2)
            """, now, limit)
        return connection.changes
    }

    /// When the next transfer becomes ready by time; `nil` = none waits for time.
    package func nextDue() throws -> Timestamp? {
        try connection.first(
            """
            SELECT readyAt FROM transfer INDEXED BY transferDue WHERE phase = 0 AND readyAt > 0 \
            ORDER BY readyAt LIMIT 1
            """
        ) { $0.timestamp(0) }
    }

    /// Live transfers whose deadline has passed, the earliest first; those that are being cancelled
    /// are left to that.
    package func expired(_ now: Timestamp, limit: Int) throws -> [TransferID] {
        try connection.all(
            """
            SELECT id FROM transfer INDEXED BY transferDeadline WHERE ended = 0 AND deadline <= ?1 \
            AND want IN (0, 1) ORDER BY deadline LIMIT ?2
            """, now, limit
        ) { $0.transferID(0) }
    }

    /// The earliest deadline of a live transfer.
    package func nextDeadline() throws -> Timestamp? {
        try connection.first(
            """
            SELECT deadline FROM transfer INDEXED BY transferDeadline WHERE ended = 0 \
            AND want IN (0, 1) ORDER BY deadline LIMIT 1
            """
        ) { $0.timestamp(0) }
    }
}
