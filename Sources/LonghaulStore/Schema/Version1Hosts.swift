/// Tables of hosts and background tasks in the first schema.
enum Version1Hosts {
    /// The programs that are started for events, and the log of their launches; the processes of
    /// hosts that run by themselves, and their reports of launches that were handed to them.
    static let tables: [String] = [
        """
        CREATE TABLE host (
          -- Order of insertion.
          id INTEGER PRIMARY KEY AUTOINCREMENT,
          -- The identifier that commands and programs give.
          name TEXT NOT NULL UNIQUE,
          -- JSON of program and arguments. A row that cannot be read counts as a missing program.
          argv TEXT NOT NULL,
          -- JSON of the permitted task identifiers.
          permitted TEXT NOT NULL,
          -- Seconds of a launch for events and refreshes; NULL = default.
          eventBudget REAL,
          -- Seconds of a launch for processing; NULL = default.
          taskBudget REAL,
          -- JSON of how the command of a job is run (JobSettings); NULL = a host.
          job TEXT,
          -- When it was registered.
          created INTEGER NOT NULL,
          -- Raised by clients to forget failures without writing the engine's columns.
          reset INTEGER NOT NULL DEFAULT 0,
          -- Failed launches in a row; they count while failuresReset = reset. The engine's, as the
          -- rest.
          failures INTEGER NOT NULL DEFAULT 0,
          -- No launch before this moment.
          retryAt INTEGER,
          -- The value of reset for which failures count.
          failuresReset INTEGER NOT NULL DEFAULT 0,
          -- Urgent wake-ups in a row that were not handled.
          urgentFailures INTEGER NOT NULL DEFAULT 0,
          -- Urgent wake-ups are background ones until this moment.
          urgencyLostUntil INTEGER,
          -- Quarter hours with a use, of 22 days (UsageHistogram).
          usage TEXT
        ) STRICT
        """,
        """
        CREATE TABLE launch (
          -- Number of the launch, LONGHAUL_LAUNCH_ID. The last 50 of each host are kept.
          id INTEGER PRIMARY KEY AUTOINCREMENT,
          -- host.name.
          host TEXT NOT NULL,
          -- The session whose events it carries; NULL = none.
          sessionID INTEGER,
          -- session-events, input-needed, task, wake.
          reason TEXT NOT NULL,
          -- First event that was handed over.
          firstSeq INTEGER,
          -- Last event that was handed over.
          lastSeq INTEGER,
          -- How many events were handed over.
          handed INTEGER NOT NULL DEFAULT 0,
          -- When it was recorded, right before its program began.
          startedAt INTEGER NOT NULL,
          -- When it is asked to end.
          deadline INTEGER NOT NULL,
          -- resident.id of the process that takes it; NULL = the engine made its process.
          resident INTEGER,
          -- Its process; NULL = no process could be made.
          pid INTEGER,
          -- Start time of the process.
          pidStart INTEGER,
          -- Boot in which it was started.
          bootID TEXT,
          -- NULL = not known to have ended.
          endedAt INTEGER,
          -- exited, killed, expired, notStarted, unknown.
          ending TEXT,
          -- Exit status.
          status INTEGER,
          -- The end of its output.
          output TEXT,
          -- Why it was asked to end: time, requirement, processor, simulated.
          expiration TEXT,
          -- Processor time of its process group.
          processorSeconds REAL,
          CHECK ((endedAt IS NULL) = (ending IS NULL))
        ) STRICT
        """,
        """
        CREATE TABLE resident (
          -- Order of registration.
          id INTEGER PRIMARY KEY AUTOINCREMENT,
          -- host.name, of a process that takes what its host is handed. Clients write the row.
          host TEXT NOT NULL,
          -- The process.
          pid INTEGER NOT NULL,
          -- Start time of the process.
          pidStart INTEGER NOT NULL,
          -- Boot in which it was started.
          bootID TEXT NOT NULL
        ) STRICT
        """,
        """
        CREATE TABLE launchReport (
          -- Order of the reports. Clients insert them, the engine deletes what it has settled.
          id INTEGER PRIMARY KEY,
          -- launch.id, of a launch that a resident has taken.
          launch INTEGER NOT NULL,
          -- Identifier of a task; NULL = the launch has ended.
          task TEXT,
          -- success, failure, deferred, noData.
          result TEXT,
          -- Status with which the launch ended.
          status INTEGER
        ) STRICT
        """,
    ]

    /// Reasons for launches besides events: requests that wait, requests that a launch carries
    /// (`launch`), and wake-ups; the log of their runs.
    static let taskTables: [String] = [
        """
        CREATE TABLE task (
          -- Order of insertion.
          id INTEGER PRIMARY KEY AUTOINCREMENT,
          -- host.name.
          host TEXT NOT NULL,
          -- The task's identifier; of a wake-up, its own, empty = none.
          identifier TEXT NOT NULL,
          -- 0 refresh, 1 processing, 2 wake-up.
          kind INTEGER NOT NULL CHECK (kind BETWEEN 0 AND 2),
          -- JSON of the request: earliest moment, requirements, repetition, triggers.
          definition TEXT NOT NULL,
          -- JSON that was submitted with it.
          payload TEXT,
          -- A wake-up that passes the back-off of its host.
          urgent INTEGER NOT NULL DEFAULT 0,
          -- A wake-up that was not handed over by then, or a job without a run, is dropped.
          expiresAt INTEGER,
          -- What a standing request waits for ([TaskTrigger].storedBits); 0 = it is none.
          triggers INTEGER NOT NULL DEFAULT 0,
          -- When it was submitted.
          submittedAt INTEGER NOT NULL,
          -- Clients write 1 to ask for a launch, or for the expiration of the one that carries it; 2
          -- to cancel that run.
          simulated INTEGER NOT NULL DEFAULT 0,
          -- 1 = a client has paused the job: no run begins but one that is asked for.
          paused INTEGER NOT NULL DEFAULT 0,
          -- EligibilityKey: what must and should hold.
          eligibility INTEGER NOT NULL,
          -- When the engine considers it: later than due while its host cannot be launched.
          readyAt INTEGER NOT NULL,
          -- When it is due by its own definition, back-off included.
          dueAt INTEGER NOT NULL,
          -- From then on it goes along with another launch of its host.
          mayBeginAt INTEGER NOT NULL,
          -- Its preferences count until then.
          waivesAt INTEGER,
          -- End of the present window of a repeating request.
          windowAt INTEGER,
          -- The last run that counts for the interval.
          lastStart INTEGER,
          -- Failed runs in a row.
          failures INTEGER NOT NULL DEFAULT 0,
          -- Runs in a row that were put off.
          deferrals INTEGER NOT NULL DEFAULT 0,
          -- Runs of a repeating refresh in a row that brought nothing.
          emptyRuns INTEGER NOT NULL DEFAULT 0,
          -- When the moments above were written: a clock that is set back is noticed by it.
          writtenAt INTEGER NOT NULL,
          -- What has happened and was not handed over yet: names with commas between, in order.
          trigger TEXT,
          -- When the last of them happened.
          triggeredAt INTEGER,
          -- launch.id that carries it; NULL = it waits.
          launch INTEGER,
          -- When that launch began.
          startedAt INTEGER,
          -- The triggers that were handed over, as in trigger.
          firedBy TEXT,
          -- When the last of them happened.
          firedAt INTEGER,
          -- The transfers that a job still waits for: ids with commas between; NULL = for none.
          awaits TEXT
        ) STRICT
        """,
        """
        CREATE TABLE taskRun (
          -- Order of insertion. The last ten runs of a task are kept.
          id INTEGER PRIMARY KEY AUTOINCREMENT,
          -- host.name.
          host TEXT NOT NULL,
          -- The task's identifier.
          identifier TEXT NOT NULL,
          -- refresh, processing.
          kind TEXT NOT NULL,
          -- launch.id; 0 = there was none: the deadline had passed, or a transfer was missed.
          launch INTEGER NOT NULL,
          -- Why the run of a job began (RunReason); NULL = it is no job's.
          reason TEXT,
          -- The triggers that were handed over, names with commas between, or JSON of TriggerEvent.
          trigger TEXT,
          -- When the launch began.
          startedAt INTEGER NOT NULL,
          -- NULL = runs.
          endedAt INTEGER,
          -- success, failure, deferred, noData; NULL = none was told.
          result TEXT,
          -- Why the launch was asked to end.
          expiration TEXT,
          -- The transfer that did not complete, after which the job was to run; NULL = none.
          missedTransfer INTEGER
        ) STRICT
        """,
        """
        CREATE TABLE wakeUpEnd (
          -- Order of insertion. The last ten of a host are kept.
          id INTEGER PRIMARY KEY AUTOINCREMENT,
          -- host.name.
          host TEXT NOT NULL,
          -- The wake-up's identifier; empty = it has none.
          identifier TEXT NOT NULL,
          -- 1 = it was urgent.
          urgent INTEGER NOT NULL,
          -- When it was asked for.
          submittedAt INTEGER NOT NULL,
          -- When it was dropped, or its launch ended.
          at INTEGER NOT NULL,
          -- launch.id that did not handle it; NULL = it was dropped.
          launch INTEGER,
          -- WaitReason.Reason: what kept it from being handed over; NULL = nothing.
          obstacle TEXT
        ) STRICT
        """,
    ]

    /// Unique: a single pending request of an identifier. A decision reads the heads of
    /// eligibilities.
    static let taskIndexes: [String] = [
        """
        CREATE UNIQUE INDEX taskPending ON task (host, identifier, kind = 2)
        WHERE launch IS NULL
        """,
        "CREATE INDEX taskByIdentifier ON task (identifier)",
        """
        CREATE INDEX taskReady ON task (eligibility, readyAt) WHERE launch IS NULL AND paused = 0
        """,
        """
        CREATE INDEX taskWaives ON task (waivesAt) WHERE launch IS NULL AND waivesAt IS NOT NULL
        """,
        """
        CREATE INDEX taskExpires ON task (expiresAt) WHERE launch IS NULL AND expiresAt IS NOT NULL
        """,
        "CREATE INDEX taskPutOff ON task (host) WHERE launch IS NULL AND readyAt <> dueAt",
        "CREATE INDEX taskStanding ON task (triggers) WHERE triggers <> 0",
        "CREATE INDEX taskAwaits ON task (awaits) WHERE awaits IS NOT NULL",
        "CREATE INDEX taskDeferred ON task (deferrals) WHERE launch IS NULL AND deferrals > 0",
        "CREATE INDEX taskSimulated ON task (simulated) WHERE simulated > 0",
        "CREATE INDEX taskByLaunch ON task (launch) WHERE launch IS NOT NULL",
        """
        CREATE INDEX taskWindow ON task (mayBeginAt) WHERE launch IS NULL AND windowAt IS NOT NULL
        """,
        "CREATE INDEX wakeUpEndByHost ON wakeUpEnd (host)",
        "CREATE INDEX taskRunByTask ON taskRun (host, identifier)",
        "CREATE INDEX taskRunByLaunch ON taskRun (launch)",
    ]

    /// Hosts are started for events that are not acknowledged; acknowledged events may be deleted.
    static let indexes: [String] = [
        "CREATE INDEX eventWaiting ON event (sessionID) WHERE acknowledgedAt IS NULL",
        "CREATE INDEX eventDone ON event (acknowledgedAt) WHERE acknowledgedAt IS NOT NULL",
        "CREATE INDEX sessionByHost ON session (host) WHERE host IS NOT NULL",
        "CREATE INDEX transferInput ON transfer (sessionID) WHERE input > 0",
        "CREATE INDEX launchOpen ON launch (host) WHERE endedAt IS NULL",
        "CREATE INDEX launchByHost ON launch (host)",
        "CREATE INDEX residentByHost ON resident (host)",
    ]
}
