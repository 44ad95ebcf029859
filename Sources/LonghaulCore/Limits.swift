/// Every bound and default that the project has, by name; units are in the names or the types.
package enum Limits {
    /// Up to this length a file is sent in the request that announces it.
    package static let uploadAtOnceBytes: Int64 = 1 << 20
    /// How long a server may take to delete its data of a cancelled upload.
    package static let uploadAbortSeconds: Double = 10
    /// How often that is tried, and how long after the first attempt the second begins.
    package static let uploadAbortAttempts = 6
    package static let uploadAbortRetrySeconds: Double = 10
    package static let uploadAbortsAtOnce = 4
    /// Requests in a row that an upload may be refused with another offset (409).
    package static let uploadConflicts = 3
    /// Refusals to append to a file over FTP after which the whole file is sent.
    package static let refusedAppends = 2
    /// How long before its first answer an upload in parts may have begun.
    package static let uploadBeginSeconds: Double = 60
    /// The sizes of parts that S3 takes (Amazon S3 User Guide, "Multipart upload limits").
    package static let uploadPartBytes: ClosedRange<Int64> = 5 << 20...5 << 30
    /// The sizes of requests into which uploads by tus and the draft may be cut. The least also
    /// holds after refusals for the length.
    package static let uploadPieceBytes: ClosedRange<Int64> = 64 << 10...5 << 30
    /// Parts of an S3 upload that are listed at a time: their text fits into the kept part of an
    /// answer.
    package static let uploadPartsListed = 100
    /// Bytes of the body of an upload's answer that are kept.
    package static let responseBodyBytes = 64 << 10
    /// Bytes read of the body of an answer that refuses a request; an error quotes them.
    package static let answerReadBytes = 4 << 10
    /// Characters of that body that an error quotes.
    static let answerWordsShown = 200
    /// Characters of a refused value that are shown; a line may be a megabyte long.
    static let quotedCharacters = 200

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
    /// Machines that share a list.
    package static let shards = 1_000_000
    /// Waiting transfers that the engine holds in memory; the rest stay in the store.
    package static let lookAhead = 256
    /// Part files that are open at the same time; fewer if that is more than half of the process's
    /// limit.
    package static let openPartFiles = 1024
    /// Open files kept for the store, the board, the lock, directories and the engine's wake-ups.
    /// Half of the process's other open files are for part files, a quarter for connections.
    package static let openFilesOfItsOwn = 24
    /// How long a transfer keeps its place where one of another session waits for nothing else.
    package static let turnSeconds: Double = 3 * 60
    /// Half-life of the time that a session has held places.
    package static let placeTimeSeconds: Double = 15 * 60
    /// After waiting this long for its turn alone, a transfer counts one priority higher.
    package static let starvationSeconds: Double = 30 * 60
    /// Places that discretionary transfers leave free, so that a transfer that is asked for now
    /// need not wait for them.
    package static let reservedTransfers = 2
    /// After the network has changed, nothing starts for so long.
    package static let networkSettleSeconds: Double = 5

    // Durability.
    /// A checkpoint is due after this many bytes…
    package static let checkpointBytes: Int64 = 8 << 20
    /// …or after this much time with new bytes, whichever comes first.
    package static let checkpointSeconds: Double = 2

    /// How often a silent fetch on the wire is checked.
    package static let tickSeconds: Double = 0.5
    /// A source that has been slow for so long is left.
    package static let slowSourceSeconds: Double = 30
    /// After a pause of this length between two samples the measurement of a source restarts.
    package static let rateGapSeconds: Double = 10
    /// A source is left for another one that was faster by this factor.
    package static let fasterSourceFactor: Double = 4

    // Resume.
    /// How far before the missing bytes a plain Range starts, to compare the answer with the bytes
    /// held.
    package static let overlapBytes: Int64 = 64 << 10
    /// If-Range is tried up to this many bytes held, although the server mishandled it before: a
    /// wrong answer costs little, and a right one allows several connections again.
    package static let ifRangeTrialBytes: Int64 = 256 << 10
    /// A new body up to this long is accepted at once; the pin of a longer one is committed first.
    package static let holdThresholdBytes: Int64 = 1 << 20
    /// Unless they are whole by then, it is recorded what bytes are of that were not held back.
    package static let pinSeconds: Double = 0.2
    /// Answers in a row that bring no byte, until one start from zero is tried.
    package static let emptyAnswersBeforeZero = 2
    /// Restarts after which length and overlap decide, whichever version the server names.
    package static let restartsByName = 2
    /// Consecutive answers shorter than the bytes held and without a version after which the next
    /// one is believed.
    package static let doubtsBelieved = 3
    /// A longer ETag or Last-Modified pins nothing: it would only bloat the store.
    package static let validatorBytes = 1024

    // Sharing.
    /// Transfers that one fetch serves; further ones wait, or start another fetch.
    package static let sharersPerFetch = 1000
    /// Completed transfers with an equal request whose files are considered for reuse.
    package static let finishedLookedAt = 4
    /// Copies that are made and synced together.
    package static let copiesPerBatch = 8

    // Wire.
    package static let redirects = 20
    package static let headerBytes = 256 << 10
    package static let urlBytes = 64 << 10
    /// The name of a time zone, or its rule.
    package static let zoneBytes = 255
    /// Bytes of all header fields of a request; no server accepts that many.
    package static let requestHeaderBytes = 256 << 10

    /// Bytes of header fields that are kept of an answer.
    static let keptHeaderBytes = 16 << 10
    /// A shorter password stands in many sentences by chance; replacing it would reveal it.
    static let redactedPasswordBytes = 4

    // Segments.
    package static let segmentsPerFetch = 16
    package static let automaticSegments = 4
    /// The first split needs a file of twice this.
    package static let minSplitBytes: Int64 = 8 << 20
    /// A request this close to another connection's range is not stopped before it.
    package static let takeOverSeconds: Double = 0.5
    /// No piece is made smaller than this by splitting.
    package static let minPieceBytes: Int64 = 1 << 20
    /// Connections are added only while more than this much time remains,…
    package static let minSplitSeconds: Double = 2
    /// …while the last ones that were added raised the throughput by this part,…
    package static let worthwhileGain = 0.15
    /// …and below this many bytes per second: 2 Gbit/s and more come from a nearby server.
    package static let fastEnough: Double = 256 * 1024 * 1024
    /// While others of its file have no work left, a connection is given up after this much
    /// silence,…
    package static let silenceSeconds: Double = 4
    /// …and after this multiple of the longest pause that any of them made,…
    package static let silencePauses: Double = 2
    /// …if this much has come since the last one that was given up there, and at most this often.
    package static let silenceProgressBytes: Int64 = 64 << 10
    package static let silencesMax = 8
    /// Pause after a refused connection before one more than have worked is tried. The pause
    /// doubles each time that the connection is refused again.
    package static let anotherConnectionSeconds: Double = 10
    package static let anotherConnectionMaximumSeconds: Double = 600
    /// How long a number of connections is watched. Over long distances slow start takes longer and
    /// looks like a gain: several connections help there.
    package static let splitWatchSeconds: Double = 0.5
    /// How often a fetch is checked while its number of connections is not settled.
    package static let splitTickSeconds: Double = 0.25

    // Retry.
    package static let backOffMinimumSeconds: Double = 1
    package static let backOffMaximumSeconds: Double = 600
    /// A gain is this many more bytes, or a percent of the file.
    package static let gainBytes: Int64 = 1 << 20
    package static let retryAfterMaximumSeconds: Double = 86_400
    /// While a server's rate limit leaves fewer requests than this, they are spread over the time.
    package static let rateLimitSpreadBelow = 10
    /// Failures in a row that cool an origin down for all its transfers.
    package static let originFailures = 3
    /// Cooling origins that are held in memory; further ones are read each time.
    static let coolingOriginsMax = 1 << 16
    /// How many ends of a cool-down are checked for whether something waits for them.
    package static let coolingDoubtsMax = 8
    /// The weight of a new measurement of an origin's throughput against the remembered rate.
    static let originRateWeight = 0.3
    /// A deadline this near is found wherever its transfer stands in the queue; at most this many
    /// are.
    package static let nearDeadlineSeconds: Double = 3600
    package static let nearDeadlinesMax = 64
    /// After a pause that a server asked for, others go first: one that was refused may be refused
    /// again.
    package static let afterPauseSeconds = 1.0...3.0
    /// Refusals of the same credentials by an origin, after which no other transfer asks with them.
    static let refusalsOfCredentials = 3
    /// Pause between two checks of secret files that were refused. Longer than the back-offs that
    /// `run` waits for.
    package static let secretsCheckSeconds: Double = 90
    /// Tries after a 401 where the secrets stand in files, which may just be renewed.
    package static let renewalRetries = 2
    /// Tries to give a file its name while another program has that name in use.
    package static let busyRetries = 8

    /// How often a transfer that found the disk full looks again.
    package static let storageCheckSeconds: Double = 30
    /// Set aside for the store's log beyond its end, so that a full disk can be recorded…
    package static let wALReserveBytes: Int64 = 4 << 20
    /// …and of a small disk no more than such a part.
    package static let wALReserveShare: Int64 = 64

    // The machine.
    /// A user that has not typed for so long is away; desktops take the same five minutes.
    static let userAwaySeconds: Double = 300
    /// A smaller jump is a clock that is steered, not set.
    package static let clockJumpMilliseconds: Int64 = 60_000
    /// The bytes of a line that cron runs (MAX_COMMAND of Vixie's cron).
    static let cronCommandBytes = 998

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
    /// Bytes kept of the output of a host: the last ones.
    package static let launchOutputBytes = 16 << 10
    /// Launches that are remembered of each host.
    package static let launchesKept = 50
    /// Transfers that have ended are kept this long.
    package static let endedRetentionSeconds: Double = 90 * 86_400
    /// Bytes of failed transfers are kept this long.
    package static let partRetentionSeconds: Double = 30 * 86_400
    /// The end of kept bytes is announced this long before.
    package static let partNoticeSeconds: Double = 3 * 86_400
    /// Acknowledged events are kept this long.
    package static let eventRetentionSeconds: Double = 7 * 86_400
    /// How long the store knows that a file was sent, and of how many files.
    package static let sentFileSeconds: Double = 366 * 86_400
    package static let sentFilesMax = 1_000_000
    /// A part file that could not be deleted is remembered this long.
    package static let leftPartsKeptSeconds: Double = 30 * 86_400

    /// Smallest file that is searched for missing bytes in the middle.
    package static let holeLookBytes: Int64 = 64 << 10
    /// A hole begins with the first block that is all zeros; those before it are no longer than
    /// this, or than the file system says that a block is.
    package static let holeMarginBytes: Int64 = 128 << 10

    // Names.
    /// NAME_MAX of every Linux file system in use.
    package static let fileNameBytes = 255
    /// A name of this length fits everywhere: eCryptfs, and Synology with it, has 143 bytes.
    package static let portableNameBytes = 120
    /// Bytes that `.NAME.ID.longhaul-part` adds to a name with the longest id; ` (n)` and
    /// `.longhaul-bad` add fewer.
    package static let fileNameDecorationBytes = 35
    package static let fileExtensionBytes = 32
}
