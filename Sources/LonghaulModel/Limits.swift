/// The bounds and defaults that several files share; units are in the names or the types. A bound
/// of one file stands at the head of that file.
package enum Limits {
    /// Up to this length a file is sent in the request that announces it.
    package static let uploadAtOnceBytes: Int64 = 1 << 20
    /// How often the deletion of an abandoned upload is tried.
    package static let uploadAbortAttempts = 6
    /// Requests in a row that an upload may be refused with another offset (409).
    package static let uploadConflicts = 3
    /// The sizes of requests into which uploads by tus and the draft may be cut. The least also
    /// holds after refusals for the length.
    package static let uploadPieceBytes: ClosedRange<Int64> = 64 << 10...5 << 30
    /// Bytes read of the body of a refusal; an error quotes them.
    package static let answerReadBytes = 4 << 10
    /// Characters of such a body that an error quotes.
    static let answerWordsShown = 200

    // Scheduling (design: total, per origin, starvation).
    /// Transfers that move bytes at the same time.
    package static let runningTransfers = 16
    /// Transfers, or requests to one origin, that may be configured to run at the same time: the
    /// capacity of the transport.
    package static let configuredAtOnce = 1...64
    /// HTTP/1.1, FTP and SFTP connections to one origin, segments included.
    package static let connectionsPerOrigin = 6
    /// Requests on the one HTTP/2 connection to an origin.
    package static let streamsPerOrigin = 64
    /// Part files that are open at the same time; fewer if that is more than half of the process's
    /// limit.
    package static let openPartFiles = 1024
    /// How long a transfer keeps its place where one of another session waits for nothing else.
    package static let turnSeconds: Double = 3 * 60
    /// Half-life of the time that a session has held places.
    package static let placeTimeSeconds: Double = 15 * 60
    /// After waiting this long for its turn alone, a transfer counts one priority higher.
    package static let starvationSeconds: Double = 30 * 60
    /// After the network has changed, nothing starts for this long.
    package static let networkSettleSeconds: Double = 5

    // Durability.
    /// A checkpoint is due after this many bytes…
    package static let checkpointBytes: Int64 = 8 << 20
    /// …or after this much time with new bytes, whichever comes first.
    package static let checkpointSeconds: Double = 2

    /// How often a silent fetch on the wire is checked.
    package static let tickSeconds: Double = 0.5
    /// A source that has been slow for this long is left.
    package static let slowSourceSeconds: Double = 30

    // Resume.
    /// How far before the missing bytes a plain Range starts, to compare the answer with the bytes
    /// held.
    package static let overlapBytes: Int64 = 64 << 10
    /// If-Range is tried up to this many bytes held, although the server mishandled it before: a
    /// wrong answer costs little, and a right one allows several connections again.
    package static let ifRangeTrialBytes: Int64 = 256 << 10
    /// A new body up to this long is accepted at once; the pin of a longer one is committed first.
    package static let holdThresholdBytes: Int64 = 1 << 20
    /// The version of a short body is recorded if it is not complete after this time.
    package static let pinSeconds: Double = 0.2
    /// Answers in a row that bring no byte, until one start from zero is tried.
    package static let emptyAnswersBeforeZero = 2
    /// Restarts after which length and overlap decide, whichever version the server names.
    package static let restartsByName = 2
    /// Consecutive answers shorter than the bytes held and without a version after which the next
    /// one is believed.
    package static let doubtsBelieved = 3

    // Sharing.
    /// Transfers that one fetch serves; further ones wait, or start another fetch.
    package static let sharersPerFetch = 1000

    // Wire.
    package static let redirects = 20
    package static let headerBytes = 256 << 10
    package static let urlBytes = 64 << 10
    /// Bytes of all header fields of a request; no server accepts that many.
    package static let requestHeaderBytes = 256 << 10

    // Segments.
    package static let segmentsPerFetch = 16
    package static let automaticSegments = 4
    /// The first split needs a file of twice this.
    package static let minSplitBytes: Int64 = 8 << 20
    /// A request this close to another connection's range is not stopped before it.
    package static let takeOverSeconds: Double = 0.5
    /// No piece is made smaller than this by splitting.
    package static let minPieceBytes: Int64 = 1 << 20
    /// Connections are added only while more than this much time remains.
    package static let minSplitSeconds: Double = 2
    /// A silent connection is given up if this much has come since the last one, and at most this
    /// often.
    package static let silenceProgressBytes: Int64 = 64 << 10
    package static let silencesMax = 8
    /// How often a fetch is checked while its number of connections is not settled.
    package static let splitTickSeconds: Double = 0.25

    // Retry.
    package static let backOffMinimumSeconds: Double = 1
    package static let backOffMaximumSeconds: Double = 600
    package static let retryAfterMaximumSeconds: Double = 86_400
    /// How many ends of a cool-down are checked for whether something waits for them.
    package static let coolingDoubtsMax = 8
    /// Pause between two checks of secret files that were refused. Longer than the back-offs that
    /// `run` waits for.
    package static let secretsCheckSeconds: Double = 90
    /// Tries after a 401 where the secrets stand in files, which may just be renewed.
    package static let renewalRetries = 2
    /// Tries to give a file its name while another program has that name in use.
    package static let busyRetries = 8

    /// How often a transfer that found the disk full looks again.
    package static let storageCheckSeconds: Double = 30
    /// Set aside for the store's log beyond its end, so that a full disk can be recorded.
    package static let wALReserveBytes: Int64 = 4 << 20

    // The machine.
    /// A user that has not typed for this long is away; desktops take the same five minutes.
    static let userAwaySeconds: Double = 300
    /// A smaller jump is a clock that is steered, not set.
    package static let clockJumpMilliseconds: Int64 = 60_000

    // Hosts.
    package static let launchDelayMinimumSeconds: Double = 60
    package static let launchDelayMaximumSeconds: Double = 3600
    /// Seconds between the request to end and the kill.
    package static let launchGraceSeconds: Double = 5
    /// The budget of a launch without one: a hundred years.
    package static let endlessLaunchSeconds: Double = 100 * 365 * 86_400
    /// The supervisor of a job kills after the grace; the engine does so this much later.
    package static let jobSupervisorSeconds: Double = 5
    /// Events that one launch is handed at most; the next one gets the rest.
    package static let eventsPerLaunch = 100_000
    /// Launches that are remembered of each host.
    package static let launchesKept = 50
    /// The end of kept bytes is announced this long before.
    package static let partNoticeSeconds: Double = 3 * 86_400
    /// A part file that could not be deleted is remembered this long.
    package static let leftPartsKeptSeconds: Double = 30 * 86_400

    // Names.
    /// NAME_MAX of every Linux file system in use.
    package static let fileNameBytes = 255
    /// Bytes that `.NAME.ID.longhaul-part` adds to a name with the longest id; ` (n)` and
    /// `.longhaul-bad` add fewer.
    package static let fileNameDecorationBytes = 35
}
