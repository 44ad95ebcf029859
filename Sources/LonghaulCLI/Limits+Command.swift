import Longhaul

/// The bounds and defaults of the command line.
extension Limits {
    // Output.
    /// Changed transfers that are read and shown together.
    static let changesPerRead = 500
    /// Transfers that have a line each in a note.
    static let notedTransfers = 20

    /// Examples in help texts are no longer than this.
    static let helpColumns = 80

    // Waiting.
    /// Transfers that are read together. A read ends after this many unfinished ones.
    static let watchedPerRead = 64
    /// Poll interval where no notification arrives.
    static let blindPollSeconds: Double = 0.1
    /// Interval of the check of `events --follow` for signals that arrived between two waits.
    static let followPollSeconds: Double = 1
}
