extension Version1 {
    /// The event log, attempts, pending deletions, the lease, settings and counts.
    static let logTables: [String] = [
        """
        CREATE TABLE event (
          -- Numbers all events of the store, without reuse.
          seq INTEGER PRIMARY KEY AUTOINCREMENT,
          -- When the event happened.
          at INTEGER NOT NULL,
          -- session.id.
          sessionID INTEGER NOT NULL,
          -- transfer.id; NULL = the event is about the session.
          transferID INTEGER,
          -- As in the output of the command events.
          type TEXT NOT NULL,
          -- JSON that depends on the type.
          detail TEXT,
          -- NULL = waits to be acknowledged. Clients write it.
          acknowledgedAt INTEGER,
          -- Path of the file, of a transfer that was removed; NULL = its own row has it.
          path TEXT
        ) STRICT
        """,
        """
        CREATE TABLE attempt (
          -- Order of insertion.
          id INTEGER PRIMARY KEY,
          -- transfer.id.
          transferID INTEGER NOT NULL,
          -- Counts the attempts of the transfer; the last 20 are kept.
          serial INTEGER NOT NULL,
          -- When the request went out.
          startedAt INTEGER NOT NULL,
          -- When the request ended.
          endedAt INTEGER NOT NULL,
          -- The URL that was asked.
          url TEXT NOT NULL,
          -- Body bytes of the attempt.
          bytes INTEGER NOT NULL,
          -- Status of the answer; NULL = none came.
          httpStatus INTEGER,
          -- 10, 11, 20.
          httpVersion INTEGER,
          -- completed, stopped, unchanged, unusable, or an error code.
          outcome TEXT NOT NULL,
          -- Sentence of the error.
          message TEXT,
          -- Address and port of the server or the proxy; NULL = no connection.
          peer TEXT,
          -- Microseconds to the resolved name; NULL, as the next two, over a connection that was open.
          nameLookup INTEGER,
          -- Microseconds from there to the connection.
          connect INTEGER,
          -- Microseconds from there to TLS; NULL = without TLS.
          tlsHandshake INTEGER,
          -- Microseconds from the request to the first byte of the answer; NULL = none came.
          firstByte INTEGER,
          UNIQUE (transferID, serial)
        ) STRICT
        """,
        """
        CREATE TABLE orphanedPart (
          -- Order of insertion.
          id INTEGER PRIMARY KEY,
          -- Path of a part file that no fetch needs any more.
          path TEXT NOT NULL,
          -- Device: without device, inode and birth nothing is deleted.
          device INTEGER NOT NULL,
          -- Inode.
          inode INTEGER NOT NULL,
          -- Creation time; 0 = not told.
          birth INTEGER NOT NULL,
          -- When it was recorded. Given up after 30 days.
          since INTEGER NOT NULL
        ) STRICT
        """,
        """
        CREATE TABLE abandonedUpload (
          -- Order of insertion.
          id INTEGER PRIMARY KEY,
          -- The fetch that has left something at a server.
          fetchID INTEGER NOT NULL,
          -- Its transfer.
          transferID INTEGER NOT NULL,
          -- URL of the request.
          url TEXT NOT NULL,
          -- Path of the source.
          source TEXT NOT NULL,
          -- JSON of the request's options, credentials included.
          options TEXT,
          -- JSON of UploadState: what is to be deleted.
          upload TEXT NOT NULL,
          -- Requests to delete it that have begun.
          attempts INTEGER NOT NULL DEFAULT 0,
          -- When the next one is due.
          dueAt INTEGER NOT NULL DEFAULT 0
        ) STRICT
        """,
        """
        CREATE TABLE snapshot (
          -- The upload that sends the snapshot in place of the file.
          transferID INTEGER PRIMARY KEY,
          -- Path of the snapshot.
          path TEXT NOT NULL UNIQUE,
          -- Device: without device, inode and birth it is not deleted at once.
          device INTEGER NOT NULL,
          -- Inode.
          inode INTEGER NOT NULL,
          -- Creation time; 0 = not told.
          birth INTEGER NOT NULL
        ) STRICT
        """,
        """
        CREATE TABLE sentFile (
          -- Order of the ends. The oldest go first, after a year or from a million rows on.
          seq INTEGER PRIMARY KEY AUTOINCREMENT,
          -- Number of the file's path and the URL that it was sent to (SentFile.key).
          key INTEGER NOT NULL UNIQUE,
          -- Size and times of the file that was sent (SourceVersion.text).
          version TEXT NOT NULL,
          -- When the upload completed.
          at INTEGER NOT NULL
        ) STRICT
        """,
        """
        CREATE TABLE intentInbox (
          -- A transfer whose wants a client has changed, or that waits for one that has ended;
          -- until an engine has looked at it.
          transferID INTEGER PRIMARY KEY
        ) STRICT
        """,
        """
        CREATE TABLE lease (
          -- The only row.
          id INTEGER PRIMARY KEY CHECK (id = 1),
          -- Raised at each take-over and compared in each transaction of an engine.
          epoch INTEGER NOT NULL,
          -- Random: tells a store from another one at the same path.
          storeID TEXT NOT NULL,
          -- Process of the engine; NULL = it left in order.
          pid INTEGER,
          -- Start time of that process.
          pidStart INTEGER,
          -- Boot in which the process was started.
          bootID TEXT,
          -- daemon, run, get, embedded, background.
          mode TEXT,
          -- When that process became the engine.
          since INTEGER,
          -- When the engine means to look again.
          nextWake INTEGER
        ) STRICT
        """,
        """
        CREATE TABLE setting (
          -- told.NAME, condition.NAME, wantedEngine, engineView, clock, world. See docs/internals/store.md.
          key TEXT NOT NULL UNIQUE,
          -- JSON or text.
          value TEXT NOT NULL
        ) STRICT
        """,
        """
        CREATE TABLE tally (
          -- session.id.
          sessionID INTEGER NOT NULL,
          -- phase of ended transfers; 0 for all live ones.
          phase INTEGER NOT NULL,
          -- transfer.want.
          want INTEGER NOT NULL,
          -- Whether a re-arm is pending.
          pending INTEGER NOT NULL,
          -- How many transfers there are of this kind.
          n INTEGER NOT NULL,
          PRIMARY KEY (sessionID, phase, want, pending)
        ) STRICT, WITHOUT ROWID
        """,
    ]
}
