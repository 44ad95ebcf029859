extension Migration {
    /// The programs that are started for events, and the log of their launches.
    static let hostTables1: [String] = [
        """
        CREATE TABLE host (
          id INTEGER PRIMARY KEY AUTOINCREMENT,
          name TEXT NOT NULL UNIQUE,
          argv TEXT NOT NULL,
          permitted TEXT NOT NULL,
          eventBudget REAL,
          taskBudget REAL,
          created INTEGER NOT NULL,
          reset INTEGER NOT NULL DEFAULT 0,
          failures INTEGER NOT NULL DEFAULT 0,
          retryAt INTEGER,
          failuresReset INTEGER NOT NULL DEFAULT 0,
          urgentFailures INTEGER NOT NULL DEFAULT 0,
          urgencyLostUntil INTEGER,
          usage TEXT
        ) STRICT
        """,
        """
        CREATE TABLE launch (
          id INTEGER PRIMARY KEY AUTOINCREMENT,
          host TEXT NOT NULL,
          sessionID INTEGER,
          reason TEXT NOT NULL,
          firstSeq INTEGER,
          lastSeq INTEGER,
          handed INTEGER NOT NULL DEFAULT 0,
          startedAt INTEGER NOT NULL,
          deadline INTEGER NOT NULL,
          pid INTEGER,
          pidStart INTEGER,
          bootID TEXT,
          endedAt INTEGER,
          ending TEXT,
          status INTEGER,
          output TEXT,
          expiration TEXT,
          processorSeconds REAL,
          CHECK ((endedAt IS NULL) = (ending IS NULL))
        ) STRICT
        """,
    ]

    /// What hosts are launched for besides events: requests that wait, those that a launch carries
    /// (`launch`), and wake-ups; the log of their runs.
    static let taskTables1: [String] = [
        """
        CREATE TABLE task (
          id INTEGER PRIMARY KEY AUTOINCREMENT,
          host TEXT NOT NULL,
          identifier TEXT NOT NULL,
          kind INTEGER NOT NULL CHECK (kind BETWEEN 0 AND 2),
          definition TEXT NOT NULL,
          payload TEXT,
          urgent INTEGER NOT NULL DEFAULT 0,
          expiresAt INTEGER,
          triggers INTEGER NOT NULL DEFAULT 0,
          submittedAt INTEGER NOT NULL,
          simulated INTEGER NOT NULL DEFAULT 0,
          eligibility INTEGER NOT NULL,
          readyAt INTEGER NOT NULL,
          dueAt INTEGER NOT NULL,
          mayBeginAt INTEGER NOT NULL,
          waivesAt INTEGER,
          windowAt INTEGER,
          lastStart INTEGER,
          failures INTEGER NOT NULL DEFAULT 0,
          deferrals INTEGER NOT NULL DEFAULT 0,
          writtenAt INTEGER NOT NULL,
          trigger TEXT,
          triggeredAt INTEGER,
          launch INTEGER,
          startedAt INTEGER,
          firedBy TEXT,
          firedAt INTEGER
        ) STRICT
        """,
        """
        CREATE TABLE taskRun (
          id INTEGER PRIMARY KEY AUTOINCREMENT,
          host TEXT NOT NULL,
          identifier TEXT NOT NULL,
          kind TEXT NOT NULL,
          launch INTEGER NOT NULL,
          trigger TEXT,
          startedAt INTEGER NOT NULL,
          endedAt INTEGER,
          result TEXT,
          expiration TEXT
        ) STRICT
        """,
    ]

    /// One pending request of an identifier; a decision reads the heads of eligibilities.
    static let taskIndexes1: [String] = [
        """
        CREATE UNIQUE INDEX taskPending ON task (host, identifier, kind = 2)
        WHERE launch IS NULL
        """,
        "CREATE INDEX taskByIdentifier ON task (identifier)",
        "CREATE INDEX taskReady ON task (eligibility, readyAt) WHERE launch IS NULL",
        """
        CREATE INDEX taskWaives ON task (waivesAt) WHERE launch IS NULL AND waivesAt IS NOT NULL
        """,
        """
        CREATE INDEX taskExpires ON task (expiresAt) WHERE launch IS NULL AND expiresAt IS NOT NULL
        """,
        "CREATE INDEX taskPutOff ON task (host) WHERE launch IS NULL AND readyAt <> dueAt",
        "CREATE INDEX taskStanding ON task (triggers) WHERE triggers <> 0",
        "CREATE INDEX taskDeferred ON task (deferrals) WHERE launch IS NULL AND deferrals > 0",
        "CREATE INDEX taskSimulated ON task (simulated) WHERE simulated > 0",
        "CREATE INDEX taskByLaunch ON task (launch) WHERE launch IS NOT NULL",
        "CREATE INDEX taskRunByTask ON taskRun (host, identifier)",
        "CREATE INDEX taskRunByLaunch ON taskRun (launch)",
    ]

    /// Hosts are started for events that are not acknowledged; acknowledged events may be deleted.
    static let hostIndexes1: [String] = [
        "CREATE INDEX eventWaiting ON event (sessionID) WHERE acknowledgedAt IS NULL",
        "CREATE INDEX eventDone ON event (acknowledgedAt) WHERE acknowledgedAt IS NOT NULL",
        "CREATE INDEX sessionByHost ON session (host) WHERE host IS NOT NULL",
        "CREATE INDEX transferInput ON transfer (sessionID) WHERE input > 0",
        "CREATE INDEX launchOpen ON launch (host) WHERE endedAt IS NULL",
        "CREATE INDEX launchByHost ON launch (host)",
    ]
}
