internal import LonghaulCore

/// The bounds and defaults of this module.
extension Limits {
    // Requests.
    /// Destinations in one directory that are inspected one by one; from this many on the
    /// directory's names are read at once.
    static let namesInspectedSingly = 256
    /// Directories whose check is remembered; a batch that goes to more checks again.
    static let checkedDirectoriesMax = 1024
    /// Requests that are handed over together. A shorter input is recorded on the caller's thread.
    static let requestsPerBatch = 256
    /// Batches between the two threads of an enqueue, which bounds the memory.
    static let enqueueBatchesMax = 8
    /// Deeper nesting is refused: input from outside must not use up the stack.
    static let jsonDepthMax = 64

    // Reads.
    /// Events that a follower reads at once.
    static let eventsPerRead = 500
    /// Events of a session that are held in memory.
    static let sessionEventsPerRead = 128
    /// Ends of transfers that are read from the log at once.
    static let endsPerRead = 256
    /// A reading of the progress board serves all tasks that ask within this time.
    static let boardValidSeconds = 0.05
    /// Least time between two values of a task's progress.
    static let progressSeconds = 0.1
    /// Interval of reading the store without a notification, since one may have been lost.
    static let storePollSeconds: Double = 30
    /// Delay before an unreadable store is read again.
    static let inputRetrySeconds: Double = 1
    /// The same for a process that takes what its host is handed.
    static let residentRetrySeconds: Double = 1
    /// Longest wait of a listing for the machine's conditions.
    static let viewConditionsSeconds: Double = 0.5
    /// Fewest open files that `doctor` accepts: with fewer, hardly more than one transfer has its
    /// files and connections.
    static let doctorOpenFiles = 64
    /// A store written this much later than now shows a wrong clock: clocks are corrected by less
    /// every day.
    static let doctorClockSeconds: Double = 60

    // Activities.
    /// Default duration of an activity.
    static let activitySeconds: Double = 30
    /// A longer budget is refused: such work is no finite one.
    static let activitySecondsMaximum: Double = 86_400
    /// A name is shown by logind in one line.
    static let activityNameBytes = 200
    /// Lead of the activities' handlers before the machine sleeps or shuts down, at most half of
    /// the time that is left.
    static let activityMarginSeconds: Double = 1
    /// An activity ends so long after its expiration although its handler has not returned.
    static let activityHandlerSeconds: Double = 5
    /// Time to wait for the answer about the delay lock; then no lock is assumed.
    static let delayLockSeconds: Double = 2

    // The engine.
    /// A source of conditions that has not answered by then counts as missing until it does.
    static let engineConditionsSeconds: Double = 1
    /// Least time between two reports of the number of transfers to the service manager.
    static let serviceStatusSeconds: Double = 2
    /// Time for a service manager to start the engine.
    static let activationSeconds = 1.0
    /// Time that a background engine stays when idle.
    static let backgroundIdleSeconds = 10
    /// Longest wait of a session that requires its own engine for a leaving one.
    static let engineTakeOverSeconds: Double = 2
    /// An embedded engine that failed is tried again after this pause, twice as long each time,…
    static let enginePauseMinimumSeconds: Double = 1
    /// …up to this one.
    static let enginePauseMaximumSeconds: Double = 60
    /// Time for an engine to save everything when the process ends.
    static let engineExitSeconds: Double = 3
    /// Lead of the request to stop before the end of a launch.
    static let deferralNoticeSeconds: Double = 5
    /// Interval of a task's check whether it is to stop, without a notification.
    static let deferralPollSeconds: Double = 1
    /// Events that are read at once when they are handed to a host.
    static let handoverEventsPerRead = 200
    /// Seconds of real time that a host of a simulated world may compute at one moment of it.
    package static let simulatedPatienceSeconds: Double = 60
    /// Seconds of real time after which a launch of a simulated world, whose handlers have returned
    /// and whose tasks are not completed, has nothing more to do at a moment of it.
    static let simulatedGraceSeconds = 0.1
    /// Turns of an engine at one moment of a simulated world.
    package static let simulatedTurns = 100_000
    /// Pause before the events of a `BackgroundURLSession` are read again after a failure.
    package static let delegateRetrySeconds: Double = 2
    /// ``EngineOptions/leavingSeconds``.
    static let leavingSeconds: Double = 30
}
