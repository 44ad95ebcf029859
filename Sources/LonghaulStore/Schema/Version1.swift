/// The first schema.
enum Version1 {
    /// Each column is explained above it; docs/internals/store.md tells which process writes which
    /// column, and the purpose of the indexes. Moments are milliseconds since 1970; true is 1.
    static let statements: [String] =
        (tables + logTables + Version1Hosts.tables + Version1Hosts.taskTables + indexes
        + Version1Hosts.indexes + Version1Hosts.taskIndexes + triggers + rows)
        .map(Migration.withoutComments)

    /// No check of `transfer` is an IN of more than two values: SQLite would build a table for it
    /// in every update, which costs as much as the rest of the update.
    private static let tables: [String] = [
        """
        CREATE TABLE session (
          -- Number by which other tables refer to the session.
          id INTEGER PRIMARY KEY AUTOINCREMENT,
          -- The identifier that commands and programs give.
          name TEXT NOT NULL UNIQUE,
          -- When the session came into being: with its first transfer, or when it was set.
          created INTEGER NOT NULL,
          -- Name of the host that is told of the session's events. A name, so that events outlive
          -- the host.
          host TEXT,
          -- Default of the session's transfers. Clients write it.
          discretionary INTEGER NOT NULL DEFAULT 0 CHECK (discretionary IN (0, 1)),
          -- Whether events launch the host. Clients write it.
          launchEvents INTEGER NOT NULL DEFAULT 1 CHECK (launchEvents IN (0, 1)),
          -- Whether the host is asked before a delayed transfer begins. Clients write it.
          askBeforeStart INTEGER NOT NULL DEFAULT 0 CHECK (askBeforeStart IN (0, 1)),
          -- Seconds from the first waiting event to a launch; NULL = default. Clients write it.
          launchDelay REAL,
          -- Number of the last launch for the session: sessions of a host take turns. The engine's.
          lastLaunch INTEGER NOT NULL DEFAULT 0
        ) STRICT
        """,
        """
        CREATE TABLE origin (
          -- Number by which transfers refer to the origin.
          id INTEGER PRIMARY KEY AUTOINCREMENT,
          -- scheme://host:port, in canonical form.
          name TEXT NOT NULL UNIQUE,
          -- The origin answers 200 to ranges: one connection for each file.
          ignoresRanges INTEGER NOT NULL DEFAULT 0 CHECK (ignoresRanges IN (0, 1)),
          -- If-Range is not sent to the origin; a plain range with an overlap is.
          mishandlesIfRange INTEGER NOT NULL DEFAULT 0 CHECK (mishandlesIfRange IN (0, 1)),
          -- The last good answer came over HTTP/2.
          speaksHTTP2 INTEGER NOT NULL DEFAULT 0 CHECK (speaksHTTP2 IN (0, 1)),
          -- No request before this moment, for any transfer of the origin.
          coolDownUntil INTEGER,
          -- When that was decided. A clock that is set back must not make it longer.
          coolDownSince INTEGER,
          -- The part of the cool-down that the server has asked for. No good answer ends it.
          pauseUntil INTEGER,
          -- Failures in a row; the length of a cool-down follows from them.
          failures INTEGER NOT NULL DEFAULT 0,
          -- What went wrong the last time, for people; NULL = nothing since the last success.
          lastFailure TEXT,
          -- Measured throughput of one transfer, smoothed; NULL = not known.
          bytesPerSecond REAL,
          -- The dialect that the origin speaks for uploads; NULL = not known.
          uploads TEXT
        ) STRICT
        """,
        """
        CREATE TABLE calendar (
          -- Number by which eligibility keys refer to the windows: 22 of their bits.
          id INTEGER PRIMARY KEY CHECK (id BETWEEN 1 AND 4194303),
          -- Windows of the week, as Mon-Fri 22:00-06:00;Sat,Sun, and +N where they open N seconds
          -- later (--spread). Recorded once and never changed.
          windows TEXT NOT NULL UNIQUE
        ) STRICT
        """,
        """
        CREATE TABLE transfer (
          -- The number that people type. Given in order and never again.
          id INTEGER PRIMARY KEY AUTOINCREMENT,
          -- Phase: 0 queued, 1 running, 3 completed, 4 failed, 5 cancelled. Status.
          phase INTEGER NOT NULL DEFAULT 0 CHECK (phase BETWEEN 0 AND 5 AND phase <> 2),
          -- phase >= 3. A column of its own: an index that mentions phase is rewritten at each
          -- claim.
          ended INTEGER NOT NULL DEFAULT 0,
          -- Want: 0 run, 1 pause, 2 cancel, 3 cancel and keep the bytes. A want.
          want INTEGER NOT NULL DEFAULT 0 CHECK (want BETWEEN 0 AND 3),
          -- 0 = waits for its turn and conditions alone. Else when time makes it ready. See
          -- "exceptions".
          readyAt INTEGER NOT NULL CHECK (readyAt >= 0),
          -- EligibilityKey as asked: discretionary, calendar.id of the windows, requirements,
          -- preferences. A want.
          schedule INTEGER NOT NULL,
          -- The key by which it queues: schedule with default preferences, without waived ones.
          eligibility INTEGER NOT NULL,
          -- 0 high, 1 normal, 2 low. A want.
          priority INTEGER NOT NULL CHECK (priority BETWEEN 0 AND 2),
          -- session.id.
          sessionID INTEGER NOT NULL,
          -- origin.id of the URL.
          originID INTEGER NOT NULL,
          -- Number by which a live transfer is found that has reserved the same: the path of a
          -- download's file, or the identity of an upload. The text decides. See "keys".
          reservationKey INTEGER NOT NULL,
          -- Number by which transfers with an equal request are found. See "keys".
          identityKey INTEGER NOT NULL DEFAULT 0,
          -- When it was recorded.
          created INTEGER NOT NULL,
          -- The deadline as a moment: follows from the next two columns. See "exceptions".
          deadline INTEGER NOT NULL,
          -- The deadline as asked, a moment. Exactly one of the two is set. A want.
          deadlineAt INTEGER,
          -- The deadline as asked, in seconds from the begin.
          deadlineAfter REAL,
          -- Earliest begin as asked; NULL = at once. A want.
          earliest INTEGER,
          -- Bytes that the client expects. A want.
          expectedBytes INTEGER,
          -- How often an ended transfer was asked for again (resume, retry, the same request). A
          -- want.
          rearm INTEGER NOT NULL DEFAULT 0,
          -- How many of these the engine has carried out. Status.
          rearmed INTEGER NOT NULL DEFAULT 0,
          -- The URL of the request. A want.
          url TEXT NOT NULL,
          -- Absolute path of a download's file, as the client gave it; NULL for an upload.
          destination TEXT,
          -- destination without links on the way; NULL = the same text.
          realPath TEXT,
          -- Absolute path of the file that an upload sends; NULL for a download.
          source TEXT,
          -- Text by which an equal upload of the session is found; NULL for a download.
          uploadIdentity TEXT,
          -- Version of the file, where uploads of other versions to the same URL are a conflict.
          uploadVersion TEXT,
          -- JSON of TransferOptions; NULL = all defaults. A key that is missing has its default.
          options TEXT,
          -- When preferences are looked at next; NULL = there are none that count.
          waiveAt INTEGER,
          -- When preferences end at the latest.
          waiveBy INTEGER,
          -- When time last made it ready; NULL = when it was recorded.
          readySince INTEGER,
          -- JSON of the reasons to wait that the engine knows ([WaitReason]). Status.
          waitReason TEXT,
          -- fetch.id, from the first claim until the bytes are published or given up. Status.
          fetchID INTEGER,
          -- The fetch that serves, or served, it together with others. Outlives fetchID.
          sharedFetch INTEGER,
          -- How many fetches it has left to others: the next part file is named ID-N.
          partSuffix INTEGER NOT NULL DEFAULT 0,
          -- Validator of a completed file, for --reuse.
          fileValidator TEXT,
          -- Device of that file.
          fileDevice INTEGER,
          -- Inode of that file.
          fileInode INTEGER,
          -- When that file was created; 0 = the file system does not tell.
          fileBirth INTEGER,
          -- First claim. Status.
          startedAt INTEGER,
          -- Moment of the end. Status.
          finishedAt INTEGER,
          -- Path that a download's file was given; NULL = destination. Status.
          finalPath TEXT,
          -- Copied from the fetch at the end, as the next four are.
          bytesTotal INTEGER,
          -- Bytes of the file that were there at the end.
          bytesDone INTEGER NOT NULL DEFAULT 0,
          -- Body bytes that were ever received or sent.
          bytesFetched INTEGER NOT NULL DEFAULT 0,
          -- Requests that went out.
          attempts INTEGER NOT NULL DEFAULT 0,
          -- How often held bytes were given up.
          restarts INTEGER NOT NULL DEFAULT 0,
          -- JSON of a LonghaulError: why it failed; of a live one, why its last attempt gained
          -- nothing.
          error TEXT,
          -- JSON of the server's answer (TransferResponse), where options ask to keep it.
          response TEXT,
          -- Content coding that the server applied although identity was asked for.
          contentCoding TEXT,
          -- 1 = waits for another URL or credentials, 2 = for a word of its host before it begins.
          input INTEGER NOT NULL DEFAULT 0 CHECK (input BETWEEN 0 AND 2),
          -- Whether the host was asked for that.
          asked INTEGER NOT NULL DEFAULT 0 CHECK (asked IN (0, 1)),
          -- The transfer for which --on-duplicate replace cancelled it. retry --all leaves it out.
          replacedBy INTEGER,
          -- What asked for the cancel: command, library, replaced, session.
          cancelledBy TEXT,
          CHECK ((destination IS NULL) <> (source IS NULL)),
          CHECK ((source IS NULL) = (uploadIdentity IS NULL)),
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
        CREATE TABLE dependency (
          -- transfer.id of the one that waits (--after). Clients and the engine write the rows.
          transfer INTEGER NOT NULL,
          -- transfer.id of the one that has to end first. The row goes when that one completes.
          awaits INTEGER NOT NULL,
          PRIMARY KEY (transfer, awaits)
        ) STRICT, WITHOUT ROWID
        """,
        """
        CREATE TABLE fetch (
          -- Never used again: the progress board outlives the process and names fetches by it.
          id INTEGER PRIMARY KEY AUTOINCREMENT,
          -- Raised whenever the bytes held become void.
          generation INTEGER NOT NULL,
          -- Absolute path of the part file; empty for an upload.
          partPath TEXT NOT NULL,
          -- Device of the part file; NULL = not created yet.
          partDevice INTEGER,
          -- Inode of the part file.
          partInode INTEGER,
          -- When the part file was created; 0 = not told. The device does not count where it is
          -- told.
          partBirth INTEGER NOT NULL DEFAULT 0,
          -- Where the disk of the part file was mounted; NULL = the disk of /.
          partMount TEXT,
          -- Ranges known durable: 0-1048576,2097152-3145728, ends exclusive. Committed after the
          -- sync.
          durable TEXT NOT NULL,
          -- JSON of the validator that pins the remote version, in the same row as the ranges.
          validator TEXT,
          -- Length of the file; NULL = not known.
          bytesTotal INTEGER,
          -- Body bytes ever received or sent; never goes down.
          bytesFetched INTEGER NOT NULL,
          -- Requests that went out.
          attempts INTEGER NOT NULL,
          -- How often held bytes were given up.
          restarts INTEGER NOT NULL,
          -- A file of several servers had a wrong digest, and was begun anew once.
          digestRefuted INTEGER NOT NULL,
          -- Attempts in a row without a gain: the back-off follows from them.
          fruitlessAttempts INTEGER NOT NULL,
          -- Answers in a row without a byte although a range was asked for.
          emptyAnswers INTEGER NOT NULL,
          -- Index into url and mirrors.
          source INTEGER NOT NULL,
          -- The URL that answered last, after redirects.
          effectiveURL TEXT,
          -- Name proposed by the server, sanitised.
          proposedName TEXT,
          -- Content coding that the server applied.
          contentCoding TEXT,
          -- The request's URL when the validator was pinned; of an upload, the URL it goes to.
          askedURL TEXT,
          -- JSON of the server's answer, where it is kept.
          response TEXT,
          -- Path that the whole file is about to be renamed to, committed before the rename.
          publication TEXT,
          -- Made ready for a connection before it could start.
          prefetched INTEGER NOT NULL,
          -- JSON of UploadState, for an upload.
          upload TEXT,
          -- The transfer that leads a shared fetch; NULL = never shared. Written apart from the
          -- rest.
          leader INTEGER,
          CHECK ((partDevice IS NULL) = (partInode IS NULL))
        ) STRICT
        """,
        """
        CREATE TABLE reader (
          -- Order of registration.
          id INTEGER PRIMARY KEY AUTOINCREMENT,
          -- transfer.id, of a transfer whose bytes a process reads as they come. Clients write the
          -- row.
          transfer INTEGER NOT NULL,
          -- The first byte that it reads.
          start INTEGER NOT NULL,
          -- The process.
          pid INTEGER NOT NULL,
          -- Start time of the process.
          pidStart INTEGER NOT NULL,
          -- Boot in which it was started.
          bootID TEXT NOT NULL,
          CHECK (start >= 0)
        ) STRICT
        """,
    ]
}
