import Longhaul

/// The bounds and defaults of the command line.
extension Limits {
    // Output.
    /// Output is written when this much is buffered.
    static let consoleFlushBytes = 64 << 10
    /// Changed transfers that are read and shown together.
    static let changesPerRead = 500
    /// Rows laid out together; later pages keep the column widths.
    static let listRowsPerPage = 500
    /// Transfers that have a line each in a note.
    static let notedTransfers = 20
    /// Paused transfers that have a line each when `get` is interrupted.
    static let pausedShown = 20
    /// Ids in a suggested command line; of more, their session is named.
    static let idsPerCommand = 20
    /// Rows of transfers on a terminal.
    static let progressRows = 16
    /// Between two drawings on a terminal.
    static let progressLiveSeconds = 0.2
    /// Between two lines elsewhere.
    static let progressPlainSeconds: Double = 10
    /// Largest number of transfers that each leave a line; with more, only failed ones do.
    static let progressNamed = 20

    /// Bytes and lines that `show` prints of the body of an upload's answer.
    static let answerBytesShown = 2_000
    static let answerLinesShown = 10

    /// Ids offered to a shell's completion.
    static let completedIDs = 200
    /// Examples in help texts are no longer than this.
    static let helpColumns = 80

    // Streams.
    /// Bytes that are passed on at a time.
    static let streamBytes = 1 << 20
    /// Between two looks for more bytes while a transfer moves: the first, and the most; the time
    /// doubles while none come. A commit ends the wait, too.
    static let streamPauseSeconds = (first: 0.001, most: 0.05)
    /// Between two looks at a transfer that does not move, and at the engine.
    static let streamWaitSeconds: Double = 1

    // Waiting.
    /// A command on a terminal gives up after this many attempts that reach no server.
    static let unreachableAttempts = 3
    /// Up to this many transfers are all read each time, so that waiting ones can show the reason.
    static let waitingShown = 32
    /// The time for another engine to stop the transfers that were paused here.
    static let settleSeconds: Double = 10
    /// Transfers that are read together. A read ends after this many unfinished ones.
    static let watchedPerRead = 64
    /// Poll interval where no notification arrives.
    static let blindPollSeconds: Double = 0.1
    /// Longest wait for a cancel: an engine takes milliseconds, a hanging engine is not waited for.
    static let cancelWait = Duration.seconds(5)
    /// Longest delay of noticing a change whose notification is lost.
    static let waitPollSeconds: Double = 1
    /// Interval of the check of `events --follow` for signals that arrived between two waits.
    static let followPollSeconds: Double = 1
    /// `job log -f` looks so often for more of a log.
    static let jobLogPollSeconds = 0.1
    /// Names of hosts or jobs on one line.
    static let namesShown = 5
}
