package import LonghaulModel

/// How long the store knows that a file was sent, and of how many files.
private let sentFileSeconds: Double = 366 * 86_400
private let sentFilesMax = 1_000_000

/// Finds and deletes expired rows of the queue.
package struct RetentionRows {
    let connection: Connection

    /// Deletes events that were acknowledged before a moment. Waiting events stay, however old.
    /// Returns the number of deleted ones; at the limit there may be more.
    package func forgetEvents(acknowledgedBefore moment: Timestamp, limit: Int) throws -> Int {
        try connection.run(
            """
            DELETE FROM event WHERE seq IN (SELECT seq FROM event INDEXED BY eventDone \
            WHERE acknowledgedAt IS NOT NULL AND acknowledgedAt < ?1 \
            ORDER BY acknowledgedAt LIMIT ?2)
            """, moment, limit)
        return connection.changes
    }

    /// Deletes events older than a moment of sessions without a host: no program is notified of
    /// them. Returns the number of deleted events. Only the oldest events are examined, so that a
    /// pass is cheap in any log.
    package func forgetUnreadEvents(before moment: Timestamp, limit: Int) throws -> Int {
        try connection.run(
            """
            DELETE FROM event WHERE seq IN (\
            SELECT o.seq FROM (SELECT seq, at, sessionID FROM event ORDER BY seq LIMIT ?2) o \
            JOIN session s ON s.id = o.sessionID WHERE o.at < ?1 AND s.host IS NULL)
            """, moment, limit)
        return connection.changes
    }

    /// Transfers that ended before a moment and that nothing needs any more, the oldest first: no
    /// bytes are kept for `retry`, and no event waits for a host.
    package func endedTransfers(before moment: Timestamp, limit: Int) throws -> [TransferID] {
        try connection.values(
            """
            SELECT t.id FROM transfer t INDEXED BY transferFinished WHERE t.ended = 1 \
            AND t.finishedAt < ?1 AND t.rearm = t.rearmed AND t.fetchID IS NULL \
            AND NOT EXISTS (SELECT 1 FROM event e JOIN session s ON s.id = e.sessionID \
            WHERE e.transferID = t.id AND e.acknowledgedAt IS NULL AND s.host IS NOT NULL) \
            ORDER BY t.finishedAt LIMIT ?2
            """, moment, limit)
    }

    /// Deletes the oldest records of files that were sent.
    package func forgetSentFiles(now: Timestamp) throws {
        try SentFileRows(connection).forget(
            before: now + -sentFileSeconds, keeping: sentFilesMax)
    }

    package func forget(_ id: TransferID, now: Timestamp) throws -> [OrphanedPart] {
        try TransferRows(connection).forget(id, now: now)
    }

    /// Records an event, once, for each ended transfer whose bytes have been kept for `seconds`.
    package func announceEndOfBytes(
        _ seconds: Double, _ log: LogWriter, limit: Int, now: Timestamp
    ) throws {
        let ids: [TransferID] = try connection.values(
            "\(Self.kept) AND NOT EXISTS (\(Self.notice)) LIMIT ?3", now + -seconds,
            EventType.transferBytesExpire.rawValue, limit)
        let end = RFC3339.format(now + Limits.partNoticeSeconds)
        for id in ids {
            try log.append(.transferBytesExpire, of: id, detail: #"{"at":"\#(end)"}"#, now: now)
        }
    }

    /// Ended transfers whose bytes have been kept for `seconds`, and whose event is at least
    /// `notice` seconds old.
    package func bytesToDrop(
        _ seconds: Double, announcedFor notice: Double, limit: Int, now: Timestamp
    ) throws -> [TransferID] {
        try connection.values(
            "\(Self.kept) AND EXISTS (\(Self.notice) AND e.at <= ?3) LIMIT ?4", now + -seconds,
            EventType.transferBytesExpire.rawValue, now + -notice, limit)
    }

    /// Transfers that ended, and whose deadline passed, before a moment, and that keep bytes.
    private static let kept = """
        SELECT t.id FROM transfer t INDEXED BY transferKeeping WHERE t.ended = 1 \
        AND t.fetchID IS NOT NULL AND t.finishedAt < ?1 AND t.deadline < ?1 AND t.rearm = t.rearmed
        """

    private static let notice = """
        SELECT 1 FROM event e WHERE e.transferID = t.id AND e.type = ?2 AND e.at >= t.finishedAt
        """
}

extension EngineTransaction {
    /// Expired rows of the queue.
    package var retention: RetentionRows { RetentionRows(connection: connection) }
}
