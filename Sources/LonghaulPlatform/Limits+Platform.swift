package import LonghaulCore

/// The bounds of the platform.
extension Limits {
    // Files and directories.
    /// The longest path on Linux, in bytes: PATH_MAX without the terminating zero.
    package static let pathBytes = 4095
    /// Directories with more names are not kept in memory.
    package static let directoryNames = 100_000
    /// The most directories that are kept open.
    package static let openDirectories = 32
    /// The most numbers to try if a name is taken.
    package static let takenNameNumbers = 9_999
    /// Number of files of one file system from which one syncfs replaces one fdatasync per file.
    package static let wholeFilesystemFiles = 4
    /// Larger files are no configuration and no units of this program.
    static let textFileBytes = 1 << 20
    /// Bytes of a file that are read and hashed at once.
    static let digestPieceBytes = 1 << 20
    /// Bytes copied at a time: other work on this disk runs between two pieces.
    static let copyPieceBytes: Int64 = 64 << 20
    static let copyBufferBytes = 1 << 20
    /// Room that standard input leaves on the disk of the state directory, for the store.
    package static let spoolSpareBytes: Int64 = 32 << 20
    /// The bytes of the store's identifier that are part of a part file's name.
    static let storeTagBytes = 8
    /// After this many tries, files that keep appearing under the name are reported as an error.
    static let createTries = 3

    // Threads.
    /// Syncs wait for the disk more than for a processor; more threads only add contention in its
    /// journal.
    package static let fileThreads = 2
    /// The most threads, with those added while others are occupied.
    package static let fileThreadsMaximum = 8
    /// The most waiting jobs; a submission blocks while there are more.
    package static let pendingFileJobs = 4_096
    /// After so long without the start of a job, all threads count as occupied.
    static let fileThreadsBusyMilliseconds = 100
    /// Threads have shallow stacks; the workers' closures hash and copy with buffers on the heap.
    static let threadStackBytes = 512 * 1024

    // Lock and wake-ups.
    /// Number of tries to open the lock file if it is deleted meanwhile.
    static let lockDeletedTries = 8
    /// Poll interval if no inotify instance is left.
    static let lockPollMilliseconds: Int64 = 100
    /// Upper bound of a wait, for a lost notification, such as when the file is deleted while the
    /// lock is held.
    static let lockWaitMilliseconds: Int64 = 1_000
    /// A socket's path may have 107 bytes and a null (unix(7)).
    static let socketPathBytes = 107
    /// Poll interval for commits without inotify.
    static let commitPollSeconds = 0.1
    /// Checks after a write come at growing intervals, from this one…
    static let settlingFirstSeconds = 0.001
    /// …to this one.
    static let settlingLastSeconds: Double = 5

    // Processes.
    /// Input for a host that is gathered before it is written.
    static let hostBufferBytes = 256 << 10
    /// A longer line is not an answer of the protocol.
    static let hostLineBytes = 256 << 10
    /// A host that writes more than this is read slowly.
    static let hostFreeBytes: Int64 = 1 << 20
    /// The pause between two reads of such a host.
    static let hostBreathNanoseconds: Int64 = 5_000_000
    /// The kernel's limit for the arguments and variables of a program together; a mark may be the
    /// last variable.
    static let environmentBytes = 6 << 20
    /// Lines for standard error that are not written yet.
    static let unreadLineBytes = 64 << 10
    /// The bytes of one write (PIPE_BUF).
    static let pipeWriteBytes = 4096
    /// A log of standard error is renamed at this size.
    static let outputLogBytes = 8 << 20
    /// Logs of runs that are kept of each job.
    package static let jobLogsKept = 10
    /// The bytes of a log that are read at once.
    static let jobLogPieceBytes = 256 << 10
    /// The line about the end of a run is within this number of last bytes of its log.
    static let jobLogEndBytes = 256

    // Conditions.
    static let terminalRecords = 10_000
    /// Between two readings of the network.
    static let networkPauseSeconds = 0.1
    static let networkLinks = 1_024
    static let networkAddresses = 1_024
    static let networkRoutes = 64
    /// Default wait of logind for delay locks (InhibitDelayMaxSec in logind.conf(5)).
    static let delaySeconds: Double = 5
    /// Time for the desktop to show a notification.
    static let notificationSeconds: Double = 5
    /// Characters of a notification's text.
    static let notificationCharacters = 300
    /// Messages of the bus that are read in one turn.
    static let busMessages = 1_000
}
