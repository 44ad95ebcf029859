extension Migration {
    /// The first schema. Every table and column is explained in docs/internals/store.md.
    static let version1: [String] =
        tables1 + hostTables1 + taskTables1 + indexes1 + hostIndexes1 + taskIndexes1 + triggers1
        + rows1

    /// No check of `transfer` is an IN of more than two values: SQLite would build a table for it
    /// in every update, which costs as much as the rest of the update.
    private static let tables1: [String] = [
        """
        CREATE TABLE session (
          id INTEGER PRIMARY KEY AUTOINCREMENT,
          name TEXT NOT NULL UNIQUE,
          created INTEGER NOT NULL,
          host TEXT,
          discretionary INTEGER NOT NULL DEFAULT 0 CHECK (discretionary IN (0, 1)),
          launchEvents INTEGER NOT NULL DEFAULT 1 CHECK (launchEvents IN (0, 1)),
          askBeforeStart INTEGER NOT NULL DEFAULT 0 CHECK (askBeforeStart IN (0, 1)),
          launchDelay REAL,
          lastLaunch INTEGER NOT NULL DEFAULT 0
        ) STRICT
        """,
        """
        CREATE TABLE origin (
          id INTEGER PRIMARY KEY AUTOINCREMENT,
          name TEXT NOT NULL UNIQUE,
          ignoresRanges INTEGER NOT NULL DEFAULT 0 CHECK (ignoresRanges IN (0, 1)),
          mishandlesIfRange INTEGER NOT NULL DEFAULT 0 CHECK (mishandlesIfRange IN (0, 1)),
          speaksHTTP2 INTEGER NOT NULL DEFAULT 0 CHECK (speaksHTTP2 IN (0, 1)),
          coolDownUntil INTEGER,
          coolDownSince INTEGER,
          pauseUntil INTEGER,
          failures INTEGER NOT NULL DEFAULT 0,
          bytesPerSecond REAL,
          uploads TEXT
        ) STRICT
        """,
        """
        CREATE TABLE transfer (
          id INTEGER PRIMARY KEY AUTOINCREMENT,
          phase INTEGER NOT NULL DEFAULT 0 CHECK (phase BETWEEN 0 AND 5 AND phase <> 2),
          ended INTEGER NOT NULL DEFAULT 0,
          want INTEGER NOT NULL DEFAULT 0 CHECK (want BETWEEN 0 AND 3),
          readyAt INTEGER NOT NULL CHECK (readyAt >= 0),
          schedule INTEGER NOT NULL,
          eligibility INTEGER NOT NULL,
          priority INTEGER NOT NULL CHECK (priority BETWEEN 0 AND 2),
          sessionID INTEGER NOT NULL,
          originID INTEGER NOT NULL,
          destinationKey INTEGER NOT NULL,
          identityKey INTEGER NOT NULL DEFAULT 0,
          created INTEGER NOT NULL,
          deadline INTEGER NOT NULL,
          deadlineAt INTEGER,
          deadlineAfter REAL,
          earliest INTEGER,
          expectedBytes INTEGER,
          rearm INTEGER NOT NULL DEFAULT 0,
          rearmed INTEGER NOT NULL DEFAULT 0,
          url TEXT NOT NULL,
          destination TEXT NOT NULL,
          realPath TEXT,
          options TEXT,
          waiveAt INTEGER,
          waiveBy INTEGER,
          readySince INTEGER,
          waitReason TEXT,
          fetchID INTEGER,
          sharedFetch INTEGER,
          partSuffix INTEGER NOT NULL DEFAULT 0,
          fileValidator TEXT,
          fileDevice INTEGER,
          fileInode INTEGER,
          fileBirth INTEGER,
          startedAt INTEGER,
          finishedAt INTEGER,
          finalPath TEXT,
          bytesTotal INTEGER,
          bytesDone INTEGER NOT NULL DEFAULT 0,
          bytesFetched INTEGER NOT NULL DEFAULT 0,
          attempts INTEGER NOT NULL DEFAULT 0,
          restarts INTEGER NOT NULL DEFAULT 0,
          error TEXT,
          response TEXT,
          contentCoding TEXT,
          input INTEGER NOT NULL DEFAULT 0 CHECK (input BETWEEN 0 AND 2),
          asked INTEGER NOT NULL DEFAULT 0 CHECK (asked IN (0, 1)),
          replacedBy INTEGER,
          cancelledBy TEXT,
          CHECK ((deadlineAt IS NULL) <> (deadlineAfter IS NULL)),
          CHECK ((waiveAt IS NULL) = (waiveBy IS NULL)),
          CHECK (rearmed <= rearm),
          CHECK (ended = (phase >= 3)),
          CHECK ((ended = 1) = (finishedAt IS NOT NULL)),
          CHECK (phase <> 1 OR fetchID IS NOT NULL),
          CHECK (phase <> 4 OR error IS NOT NULL)
        ) STRICT
        """,
        """
        CREATE TABLE fetch (
          id INTEGER PRIMARY KEY AUTOINCREMENT,
          generation INTEGER NOT NULL,
          partPath TEXT NOT NULL,
          partDevice INTEGER,
          partInode INTEGER,
          partBirth INTEGER NOT NULL DEFAULT 0,
          partMount TEXT,
          durable TEXT NOT NULL,
          validator TEXT,
          bytesTotal INTEGER,
          bytesFetched INTEGER NOT NULL,
          attempts INTEGER NOT NULL,
          restarts INTEGER NOT NULL,
          fruitlessAttempts INTEGER NOT NULL,
          emptyAnswers INTEGER NOT NULL,
          source INTEGER NOT NULL,
          effectiveURL TEXT,
          proposedName TEXT,
          contentCoding TEXT,
          askedURL TEXT,
          response TEXT,
          publication TEXT,
          prefetched INTEGER NOT NULL,
          upload TEXT,
          leader INTEGER,
          CHECK ((partDevice IS NULL) = (partInode IS NULL))
        ) STRICT
        """,
        """
        CREATE TABLE event (
          seq INTEGER PRIMARY KEY AUTOINCREMENT,
          at INTEGER NOT NULL,
          sessionID INTEGER NOT NULL,
          transferID INTEGER,
          type TEXT NOT NULL,
          detail TEXT,
          acknowledgedAt INTEGER
        ) STRICT
        """,
        """
        CREATE TABLE attempt (
          id INTEGER PRIMARY KEY,
          transferID INTEGER NOT NULL,
          serial INTEGER NOT NULL,
          startedAt INTEGER NOT NULL,
          endedAt INTEGER NOT NULL,
          url TEXT NOT NULL,
          bytes INTEGER NOT NULL,
          httpStatus INTEGER,
          httpVersion INTEGER,
          outcome TEXT NOT NULL,
          message TEXT,
          UNIQUE (transferID, serial)
        ) STRICT
        """,
        """
        CREATE TABLE orphanedPart (
          id INTEGER PRIMARY KEY,
          path TEXT NOT NULL,
          device INTEGER NOT NULL,
          inode INTEGER NOT NULL,
          birth INTEGER NOT NULL,
          since INTEGER NOT NULL
        ) STRICT
        """,
        """
        CREATE TABLE abandonedUpload (
          id INTEGER PRIMARY KEY,
          fetchID INTEGER NOT NULL,
          transferID INTEGER NOT NULL,
          url TEXT NOT NULL,
          destination TEXT NOT NULL,
          options TEXT,
          upload TEXT NOT NULL,
          attempts INTEGER NOT NULL DEFAULT 0,
          dueAt INTEGER NOT NULL DEFAULT 0
        ) STRICT
        """,
        """
        CREATE TABLE snapshot (
          transferID INTEGER PRIMARY KEY,
          path TEXT NOT NULL UNIQUE,
          device INTEGER NOT NULL,
          inode INTEGER NOT NULL,
          birth INTEGER NOT NULL
        ) STRICT
        """,
        "CREATE TABLE intentInbox (transferID INTEGER PRIMARY KEY) STRICT",
        """
        CREATE TABLE lease (
          id INTEGER PRIMARY KEY CHECK (id = 1),
          epoch INTEGER NOT NULL,
          storeID TEXT NOT NULL,
          pid INTEGER,
          pidStart INTEGER,
          bootID TEXT,
          mode TEXT,
          since INTEGER,
          nextWake INTEGER
        ) STRICT
        """,
        """
        CREATE TABLE setting (
          key TEXT NOT NULL UNIQUE,
          value TEXT NOT NULL
        ) STRICT
        """,
        """
        CREATE TABLE tally (
          sessionID INTEGER NOT NULL,
          phase INTEGER NOT NULL,
          want INTEGER NOT NULL,
          pending INTEGER NOT NULL,
          n INTEGER NOT NULL,
          PRIMARY KEY (sessionID, phase, want, pending)
        ) STRICT, WITHOUT ROWID
        """,
    ]

    /// Partial where a query concerns few rows: a million waiting rows that are not in an index
    /// cost their insertion nothing. The large ones depend on `ended` and not on `phase`, because
    /// an update rewrites every index that mentions a column it sets.
    private static let indexes1: [String] = [
        "CREATE INDEX transferByDestination ON transfer (destinationKey) WHERE ended = 0",
        "CREATE INDEX transferByIdentity ON transfer (identityKey) WHERE ended = 0",
        "CREATE INDEX transferFailed ON transfer (destinationKey) WHERE phase = 4",
        """
        CREATE INDEX transferKept ON transfer (identityKey)
        WHERE phase = 3 AND fileValidator IS NOT NULL AND fileInode IS NOT NULL
        """,
        "CREATE INDEX transferShared ON transfer (sharedFetch) WHERE sharedFetch IS NOT NULL",
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
    private static let triggers1: [String] = [
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

    private static let rows1: [String] = [
        "INSERT INTO lease (id, epoch, storeID) VALUES (1, 0, lower(hex(randomblob(16))))"
    ]
}

/// The versions of the schema. Each is a list of statements that migrates a store of the version
/// before. A released list is never edited: a change is a new version.
enum Migration {
    /// In the file's header (PRAGMA application_id): "LH", and the fingerprint of version 1, which
    /// changes until it is released. The fingerprint distinguishes a store of an earlier build.
    static let applicationID = family << 16 | 0x7B6E
    static let family = 0x4C48

    /// A fingerprint of 16 bits (FNV-1a, folded).
    static func fingerprint(of statements: [String]) -> Int {
        var hash: UInt32 = 0x811C_9DC5
        for byte in statements.joined(separator: ";").utf8 {
            hash = (hash ^ UInt32(byte)) &* 0x0100_0193
        }
        return Int(hash >> 16 ^ hash & 0xFFFF)
    }

    /// `versions[n]` leads from version n to n + 1.
    static let versions: [[String]] = [version1]

    static var latest: Int { versions.count }
}
