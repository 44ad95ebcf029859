package import LonghaulModel

/// The bounds of the platform.
extension Limits {
    // Files and directories.
    /// The most directories that are kept open.
    package static let openDirectories = 32
    /// Bytes copied at a time: other work on this disk runs between two pieces.
    static let copyPieceBytes: Int64 = 64 << 20
    static let copyBufferBytes = 1 << 20

    // Threads.
    /// The most threads, with those added while others are occupied.
    package static let fileThreadsMaximum = 8
    /// The most waiting jobs; a submission blocks while there are more.
    package static let pendingFileJobs = 4_096

    // Conditions.
    /// Default wait of logind for delay locks (InhibitDelayMaxSec in logind.conf(5)).
    static let delaySeconds: Double = 5
}
