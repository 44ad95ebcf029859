package import LonghaulCore

/// The bounds and defaults of the store.
extension Limits {
    // Waiting for other processes.
    /// How long a call waits for another process's transaction.
    static let busySeconds: Double = 10
    /// The first pauses are short: most transactions end within milliseconds.
    static let busyShortPauses = 10
    static let busyShortPauseMicroseconds: UInt32 = 1_000
    /// Less than the gap that a long writer leaves for others: see `WriterYield`.
    static let busyPauseMicroseconds: UInt32 = 4_000
    /// How long an opener waits while another process makes or migrates the store.
    static let openLockSeconds: Double = 30
    static let openLockPauseMicroseconds: UInt32 = 5_000

    // Transactions of bounded size. The engine waits no longer than for one of them.
    /// Transfers whose wants one transaction changes.
    static let changesPerTransaction = 10_000
    /// Ended transfers that one transaction removes.
    static let cleanedPerTransaction = 5_000
    /// New transfers that go in with one statement.
    static let rowsPerInsertion = 100

    // Memory.
    /// Prepared statements of one connection, more than the module has texts. Beyond it all are
    /// forgotten.
    static let preparedStatements = 512
    /// Names of sessions, origins and numbered files that one insertion keeps; others are read
    /// again.
    static let rememberedNames = 4096
    /// Texts of options that are kept as values.
    static let storedOptionsKept = 64

    // Lists.
    /// How long an ended transfer counts as recent.
    package static let recentlyEndedSeconds: Double = 86_400
    /// Transfers that a list shows by default.
    package static let listedTransfers = 50
    /// Transfers that one snapshot of an iteration over all of them holds.
    static let transfersPerSnapshot = 500
    /// Scans that are merged into a list; with more of them all rows are read.
    static let mergedScans = 64
    /// Attempts that are kept of each transfer.
    static let attemptsKept = 20
    /// Numbers that `rename` tries for one name.
    static let numberedNames = 1_000_000

    // Copies and repair.
    static let copiesKept = 2
    static let copyIntervalSeconds: Double = 24 * 3600
    /// Pages of 4 KiB that are copied before the engine is asked again whether to continue: 1 MiB.
    static let copyStepPages: Int32 = 256
    /// Rows that are looked through for credentials at a time.
    static let copyRowsAtOnce = 1000
    /// Bytes that the disk must have left beside the copy.
    static let copySpareBytes: Int64 = 64 << 20
    /// Faults that SQLite is asked to name.
    static let faultsNamed = 10
    /// A store with fewer free pages is not rewritten.
    static let shrinkLeastFreePages: Int64 = 1_000
    /// Numbers that a restored store skips. Those given after the copy must not be given again, and
    /// only the damaged file knows how many there are.
    static let restoredNumbersSkipped: Int64 = 10_000_000

    // The file that only holds room.
    /// The index of the log takes 32 KiB; the rest is a log of some twenty changes.
    static let reserveFileBytes: Int64 = 262_144
    /// The index and a few changes.
    static let reserveLeastFreeBytes: Int64 = 65_536
    /// A disk with less than this free gets no such file.
    static let reserveComfortBytes: Int64 = 8 * reserveFileBytes
}
