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
          failuresReset INTEGER NOT NULL DEFAULT 0
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
          CHECK ((endedAt IS NULL) = (ending IS NULL))
        ) STRICT
        """,
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
