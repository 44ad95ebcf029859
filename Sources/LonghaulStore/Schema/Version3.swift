/// The third schema: bundles, watched folders, pushes, notices, and signed downloads.
enum Version3 {
    static let statements: [String] =
        (tables + indexes + [s3Access]).map(Migration.withoutComments)

    private static let tables: [String] = [
        """
        -- Events of single transfers are recorded as acknowledged, and the end of the session is
        -- not recorded: its programs are notified of the bundle.
        ALTER TABLE session ADD COLUMN quiet INTEGER NOT NULL DEFAULT 0
        """,
        """
        -- The user is notified of the end of the session, and when it needs an answer.
        ALTER TABLE session ADD COLUMN notify INTEGER NOT NULL DEFAULT 0
        """,
        """
        -- Transfers with the same number have one notice when all have ended: the id of the first
        -- one that was recorded with them. NULL = there is no notice.
        ALTER TABLE transfer ADD COLUMN notice INTEGER
        """,
        """
        -- SHA-256 of the secret that wakes the host from elsewhere; NULL = none does.
        ALTER TABLE host ADD COLUMN token TEXT
        """,
        """
        -- When the host may have all its launches for plain wake-ups again; NULL = it may.
        ALTER TABLE host ADD COLUMN wakeUpsFullAt INTEGER
        """,
        """
        -- JSON of what the program of a continued task has reported in this run (ProgressReport).
        ALTER TABLE task ADD COLUMN progress TEXT
        """,
        """
        -- How often it has reported progress. Its resident process, too, writes both.
        ALTER TABLE task ADD COLUMN reports INTEGER NOT NULL DEFAULT 0
        """,
        """
        -- Name in the notice of its end, until that is delivered; else NULL.
        ALTER TABLE taskRun ADD COLUMN notice TEXT
        """,
        """
        -- Bytes of memory that a launch of a host may have; NULL = without a limit. A job has its
        -- limit in its settings.
        ALTER TABLE host ADD COLUMN maxMemory INTEGER
        """,
        """
        -- The user is notified of tasks and activities of a host that have used up their time. A
        -- job has that in its settings.
        ALTER TABLE host ADD COLUMN notify INTEGER NOT NULL DEFAULT 0
        """,
        """
        -- Background activities that have used up their time, until their notices are delivered.
        CREATE TABLE expiredActivity (
          -- Number by which its delivery is recorded.
          id INTEGER PRIMARY KEY AUTOINCREMENT,
          -- host.name of the host that the process is.
          host TEXT NOT NULL,
          -- Name of the activity.
          name TEXT NOT NULL
        ) STRICT
        """,
        """
        CREATE TABLE subscription (
          -- Another number each time that it is made.
          id INTEGER PRIMARY KEY AUTOINCREMENT,
          -- host.name of the host that its events wake.
          host TEXT NOT NULL,
          -- URL of the stream.
          url TEXT NOT NULL,
          -- File with header fields; NULL = none.
          headersFrom TEXT,
          -- 1 = its wake-ups are urgent.
          urgent INTEGER NOT NULL,
          -- The place after the last event; NULL = the stream has told none. The engine's, as the
          -- rest.
          lastID TEXT,
          -- When the connection was made; NULL = there is none.
          connectedAt INTEGER,
          -- Attempts in a row that failed.
          failures INTEGER NOT NULL DEFAULT 0,
          -- No attempt before this moment.
          retryAt INTEGER,
          -- JSON of the last failure; NULL = the last attempt succeeded.
          error TEXT,
          UNIQUE (host, url)
        ) STRICT
        """,
        """
        CREATE TABLE bundle (
          -- Number by which other tables refer to the bundle.
          id INTEGER PRIMARY KEY AUTOINCREMENT,
          -- Its name. Its session is bundle:NAME.
          name TEXT NOT NULL UNIQUE,
          -- JSON of BundleSource.
          source TEXT NOT NULL,
          -- Absolute path of the directory.
          directory TEXT NOT NULL,
          -- plain, versions, hf-cache, oci.
          layout TEXT NOT NULL,
          -- JSON of BundleSettings, the source's token included.
          settings TEXT NOT NULL,
          -- When it was added.
          created INTEGER NOT NULL,
          -- 0 idle, 1 the manifest is asked for, 2 files are fetched.
          phase INTEGER NOT NULL DEFAULT 0,
          -- Whether the files are fetched after a check. Clients set it, the engine clears it.
          wanted INTEGER NOT NULL DEFAULT 0,
          -- Clients write it.
          paused INTEGER NOT NULL DEFAULT 0,
          -- bundleVersion.id of the version that is ready; NULL = none.
          ready INTEGER,
          -- bundleVersion.id of the version that is, or would be, fetched; NULL = none.
          target INTEGER,
          -- Name of the newest version of the source; NULL = it was never asked.
          latest TEXT,
          -- When that one was first seen.
          latestSeen INTEGER,
          -- When the source last gave its manifest.
          checkedAt INTEGER,
          -- When it is asked again; NULL = when somebody asks for it.
          nextCheck INTEGER,
          -- Bytes that came over the network.
          bytesFetched INTEGER NOT NULL DEFAULT 0,
          -- JSON of the last failure; NULL = the last attempt succeeded.
          error TEXT
        ) STRICT
        """,
        """
        CREATE TABLE bundleVersion (
          -- Number by which other tables refer to the version.
          id INTEGER PRIMARY KEY AUTOINCREMENT,
          -- bundle.id.
          bundle INTEGER NOT NULL,
          -- The pin.
          name TEXT NOT NULL,
          -- Files of the manifest.
          files INTEGER NOT NULL,
          -- Files among them that are durable under their names.
          complete INTEGER NOT NULL DEFAULT 0,
          -- Files among them that have failed.
          failed INTEGER NOT NULL DEFAULT 0,
          -- Bytes of the manifest; a file of unknown size counts when it is complete.
          bytes INTEGER NOT NULL,
          -- Bytes of complete files.
          bytesComplete INTEGER NOT NULL DEFAULT 0,
          -- Entries of the manifest that are no files.
          passedOver INTEGER NOT NULL DEFAULT 0,
          -- Whether all files have digests.
          proved INTEGER NOT NULL,
          -- The key that has signed the list.
          signedBy TEXT,
          -- JSON of the globs that have selected its files.
          selection TEXT NOT NULL,
          -- When it became ready; NULL = it is not.
          readyAt INTEGER,
          -- What the layout needs besides the files.
          facts TEXT
        ) STRICT
        """,
        """
        CREATE TABLE bundleFile (
          -- bundleVersion.id.
          version INTEGER NOT NULL,
          -- Place in the manifest.
          number INTEGER NOT NULL,
          -- Path in the bundle.
          path TEXT NOT NULL,
          -- URL of the file.
          url TEXT NOT NULL,
          -- Bytes; NULL = unknown.
          size INTEGER,
          -- ALGORITHM:HEX; NULL = the source tells none.
          digest TEXT,
          -- JSON of the rest of ManifestFile; NULL = it has its defaults.
          more TEXT,
          -- BundleFile.State.
          state INTEGER NOT NULL DEFAULT 0,
          -- transfer.id, while one fetches it.
          transfer INTEGER,
          -- Size and times of the complete file.
          stamp TEXT,
          -- Fetches that ended with a wrong digest.
          mismatches INTEGER NOT NULL DEFAULT 0,
          -- Whether a file in its place is replaced.
          replaces INTEGER NOT NULL DEFAULT 0,
          -- JSON of its failure.
          error TEXT,
          PRIMARY KEY (version, number)
        ) STRICT, WITHOUT ROWID
        """,
        """
        CREATE TABLE bundleHold (
          -- bundleVersion.id of a version that a program uses.
          version INTEGER NOT NULL,
          -- The process: a hold of a process that is gone does not count.
          pid INTEGER NOT NULL,
          -- Start time of the process.
          pidStart INTEGER NOT NULL
        ) STRICT
        """,
        """
        CREATE TABLE folder (
          -- Number by which the engine knows the folder.
          id INTEGER PRIMARY KEY AUTOINCREMENT,
          -- Its name. Its session is folder:NAME.
          name TEXT NOT NULL UNIQUE,
          -- JSON of FolderSettings, credentials included.
          settings TEXT NOT NULL,
          -- Clients write it.
          paused INTEGER NOT NULL DEFAULT 0,
          -- How many scans clients and engines have asked for.
          scansAsked INTEGER NOT NULL DEFAULT 1,
          -- Which of them are done. The engine writes it.
          scansDone INTEGER NOT NULL DEFAULT 0,
          -- Transfers of the session up to this one were recorded for other settings.
          since INTEGER NOT NULL,
          -- JSON of FolderFindings. The engine writes it.
          findings TEXT NOT NULL
        ) STRICT
        """,
    ]

    /// Downloads are signed for S3, too: what uploads knew of it stands beside them.
    private static let s3Access = """
        UPDATE transfer SET options = json_set(
          json_remove(
            options, '$.upload.askedURL', '$.upload.region', '$.upload.profile',
            '$.upload.keysChosenAt'),
          '$.s3', json_object(
            'askedURL', json_extract(options, '$.upload.askedURL'),
            'region', ifnull(json_extract(options, '$.upload.region'), 'us-east-1'),
            'profile', json_extract(options, '$.upload.profile'),
            'keysChosenAt', json_extract(options, '$.upload.keysChosenAt')))
        WHERE json_extract(options, '$.upload.uploadProtocol') = 's3'
        """

    private static let indexes: [String] = [
        "CREATE INDEX sessionQuiet ON session (id) WHERE quiet = 1",
        "CREATE INDEX sessionNotify ON session (id) WHERE notify = 1",
        "CREATE INDEX transferNotice ON transfer (notice) WHERE notice IS NOT NULL",
        "CREATE INDEX taskRunNotice ON taskRun (id) WHERE notice IS NOT NULL",
        "CREATE INDEX bundleVersionOf ON bundleVersion (bundle)",
        "CREATE INDEX bundleFileWaiting ON bundleFile (version, number) WHERE state = 0",
        "CREATE INDEX bundleFileRecorded ON bundleFile (version, transfer) WHERE state = 1",
        "CREATE INDEX bundleFilePath ON bundleFile (version, path)",
        """
        CREATE INDEX bundleFileDigest ON bundleFile (digest)
        WHERE digest IS NOT NULL AND state IN (1, 2)
        """,
    ]
}
