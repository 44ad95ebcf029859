extension Version1 {
    /// Partial where a query concerns few rows: a million waiting rows that are not in an index
    /// cost their insertion nothing. The large ones depend on `ended` and not on `phase`, because
    /// an update rewrites every index that mentions a column it sets.
    static let indexes: [String] = [
        "CREATE INDEX transferByReservation ON transfer (reservationKey) WHERE ended = 0",
        "CREATE INDEX transferByIdentity ON transfer (identityKey) WHERE ended = 0",
        "CREATE INDEX transferFailed ON transfer (reservationKey) WHERE phase = 4",
        """
        CREATE INDEX transferKept ON transfer (identityKey)
        WHERE phase = 3 AND fileInode IS NOT NULL
        """,
        "CREATE INDEX transferShared ON transfer (sharedFetch) WHERE sharedFetch IS NOT NULL",
        "CREATE INDEX dependencyByAwaited ON dependency (awaits)",
        "CREATE INDEX readerByTransfer ON reader (transfer)",
        "CREATE INDEX transferLive ON transfer (sessionID, want) WHERE ended = 0",
        """
        CREATE INDEX transferReady ON transfer (eligibility, priority, sessionID, originID)
        WHERE phase = 0 AND want = 0 AND readyAt = 0
        """,
        "CREATE INDEX transferDue ON transfer (readyAt) WHERE phase = 0 AND readyAt > 0",
        """
        CREATE INDEX transferDueBesidesStorage ON transfer (readyAt)
        WHERE phase = 0 AND readyAt > 0 AND instr(coalesce(waitReason, ''), '"storage"') = 0
        """,
        "CREATE INDEX transferWaiver ON transfer (waiveAt) WHERE phase = 0 AND waiveAt > 0",
        "CREATE INDEX transferDeadline ON transfer (deadline) WHERE ended = 0 AND want IN (0, 1)",
        "CREATE INDEX transferRunning ON transfer (phase) WHERE phase = 1",
        "CREATE INDEX transferEnded ON transfer (sessionID, phase) WHERE ended = 1",
        "CREATE INDEX transferFinished ON transfer (finishedAt, sessionID) WHERE ended = 1",
        """
        CREATE INDEX transferKeeping ON transfer (finishedAt)
        WHERE ended = 1 AND fetchID IS NOT NULL
        """,
        "CREATE INDEX transferPending ON transfer (sessionID) WHERE rearm > rearmed",
        "CREATE INDEX orphanedPartByFile ON orphanedPart (inode)",
        "CREATE INDEX eventBySession ON event (sessionID)",
        "CREATE INDEX eventByTransfer ON event (transferID) WHERE transferID IS NOT NULL",
    ]

    /// Triggers count the tally, so that no statement can omit it. Insertions and ends are the
    /// exception: a transaction adds them up (see `EndNotes`), and until it does, a count may be
    /// negative. Running transfers are counted on demand: they are few, and claims and ends stay
    /// cheap.
    ///
    /// A change of `ended` alone fires no trigger: a trigger costs its statement as much as two
    /// indexes, even if its condition is false.
    static let triggers: [String] = [
        """
        CREATE TRIGGER tallyChange AFTER UPDATE OF want, rearm, rearmed ON transfer
        WHEN new.ended <> old.ended OR new.want <> old.want
          OR (new.rearm > new.rearmed) <> (old.rearm > old.rearmed)
        BEGIN
          INSERT INTO tally (sessionID, phase, want, pending, n)
            VALUES (old.sessionID, old.ended * old.phase, old.want, old.rearm > old.rearmed, -1)
            ON CONFLICT DO UPDATE SET n = n - 1;
          INSERT INTO tally (sessionID, phase, want, pending, n)
            VALUES (new.sessionID, new.ended * new.phase, new.want, new.rearm > new.rearmed, 1)
            ON CONFLICT DO UPDATE SET n = n + 1;
        END
        """,
        """
        CREATE TRIGGER tallyRemoval AFTER DELETE ON transfer
        BEGIN
          UPDATE tally SET n = n - 1 WHERE sessionID = old.sessionID
            AND phase = old.ended * old.phase AND want = old.want
            AND pending = (old.rearm > old.rearmed);
        END
        """,
    ]

    static let rows: [String] = [
        "INSERT INTO lease (id, epoch, storeID) VALUES (1, 0, lower(hex(randomblob(16))))"
    ]
}
