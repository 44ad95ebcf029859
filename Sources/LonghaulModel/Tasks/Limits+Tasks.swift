/// Background tasks, and learning when hosts are used.
///
/// The numbers of learning were chosen by a simulated month of several patterns of use. Numbers
/// beside them do nearly as well, so nothing is gained by turning them for one pattern.
extension Limits {
    // Requests.
    package static let taskIdentifierBytes = 128
    package static let taskPayloadBytes = 64 << 10
    package static let taskIntervalMaximumSeconds: Double = 365 * 86_400
    /// Requests that may wait for one host, of each kind. Standing ones are counted apart.
    package static let pendingRefreshes = 1
    package static let pendingProcessings = 10
    package static let pendingStanding = 10
    package static let pendingContinued = 10
    /// A continued task that reports no progress for so long is expired.
    package static let progressSeconds: Double = 60
    /// Progress of a continued task is recorded no more often than this.
    package static let progressRecordSeconds: Double = 1
    /// The least limit of the memory of a launch: below it hardly any program begins.
    package static let memoryMinimumBytes: Int64 = 1 << 20
    /// Preferences of a job keep a run waiting for so long at most.
    package static let jobPreferenceSeconds: Double = 86_400
    /// A clock that was further ahead than this was wrong: no time of day is that far away.
    package static let dailyMaximumSeconds: Double = 15 * 86_400
    /// The longest delay of a task that was put off.
    package static let deferralMaximumSeconds: Double = 15 * 60
    /// A job that was stopped begins again when its requirements have not changed for this time.
    package static let taskSettleSeconds: Double = 5
    /// Hosts that run for tasks at the same time, besides runs that a client has asked for.
    package static let taskLaunchesAtOnce = 16
    /// The world changes in steps: a trigger waits this long for more after the first…
    package static let triggerSettleSeconds: Double = 5
    /// …and a request is triggered no more often than this.
    package static let triggerPauseSeconds: Double = 60
    /// Answers of a host that did not help count for so long: each makes the next attempt later.
    package static let answersCountedSeconds: Double = 3600
    /// A background wake-up waits so long for others that it is merged with.
    package static let wakeUpMergeSeconds: Double = 5
    /// A wake-up that is to be handed over now or never waits so long for an engine and a process.
    package static let wakeUpNowSeconds: Double = 10
    /// Launches for plain wake-ups alone that a host may have at once…
    package static let wakeUpsAtOnce = 4
    /// …and afterwards one in this time.
    package static let wakeUpIntervalSeconds: Double = 1200
    /// A stream that sends nothing for this long counts as broken. Servers send a sign of life more
    /// often; the kernel notices a dead connection by itself.
    package static let pushSilenceSeconds: Double = 300
    /// A stream that was refused is asked for again after this time.
    package static let pushRefusedSeconds: Double = 3600
    /// Urgent wake-ups in a row that were not handled, after which a host loses urgency…
    package static let urgentFailures = 3
    /// …for this long.
    package static let urgencyLostSeconds: Double = 86_400
    /// A launch expires that uses more than this share of a processor…
    package static let processorShare = 0.8
    /// …over this time.
    package static let processorSeconds: Double = 60
    /// How often the processor time of a launch is read.
    package static let processorSampleSeconds: Double = 10
    /// Runs that are remembered of each task.
    package static let taskRunsKept = 10
    /// Ends of wake-ups that were not handled are remembered for each host.
    package static let wakeUpEndsKept = 10
    /// Each refresh in a row that brought nothing adds an interval to the next one, up to this
    /// number…
    package static let emptyRunsCounted = 3
    /// …and as long as no more than this comes between two of them.
    package static let emptyIntervalSeconds: Double = 86_400

    // Kept uses.
    /// Uses so close together count once.
    package static let usageBurstSeconds: Double = 3600
    /// Days before today whose uses are kept: whole weeks.
    package static let usageDays = 21
    /// Uses of one day that are kept; no more bursts begin in a day, unless the clock is set.
    package static let usesPerDay = 24

    // Expected uses: the weight of a past day for a day to come.
    /// A weekday counts for itself a week later, and by this factor less each week after that.
    package static let usageWeekDecay = 0.8
    /// A day counts for the next one, and by this factor less each day after that.
    package static let usageDayDecay = 0.3
    /// Quarter hours between uses that count as at the same time. People come some 20 minutes
    /// earlier or later than usual.
    package static let usageMatchQuarters = 2
    /// How much more the likelier of the two counts, weekdays or the days before: a power.
    package static let usageSimilarityPower = 4
    /// Expected uses of a day that may fail to come until its other ones are believed to be half as
    /// likely.
    package static let usagePrior = 0.3

    // Effects of learning on refreshes.
    /// Before so long an observation refreshes run as asked.
    package static let usageLearningSeconds: Double = 7 * 86_400
    /// A host without a use for so long has one refresh a day; its next use begins a new
    /// observation.
    package static let usageForgottenSeconds: Double = 14 * 86_400
    /// The longest time from one refresh to the next that learning makes.
    package static let refreshHeldSeconds: Double = 86_400
    /// A use is likely where this number is expected…
    package static let likelyUse = 0.3
    /// …in this number of quarter hours from now on.
    package static let likelyUseQuarters = 3
}
