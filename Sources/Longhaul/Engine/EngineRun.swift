public import LonghaulCore
internal import LonghaulEngine
internal import LonghaulStore
internal import LonghaulPlatform
internal import Synchronization

/// A run of the engine in this process.
public final class EngineRun: Sendable {
    private let queue: TransferQueue
    private let options: EngineOptions
    private let current: Mutex<CurrentLoop>
    /// A daemon tells its service manager how it does.
    private let notifier: SystemdNotifier?
    private let failedJobs = FailedJobs()
    private let outlet: NoticeOutlet
    private let times = EngineTimes()
    private let waiting = Mutex<EngineLockWait?>(nil)
    private let isStopped = Atomic(false)
    /// ``stop()`` was called.
    var isToStop: Bool { isStopped.load(ordering: .relaxed) }
    private let isSuspending = Atomic(false)
    private let isHandingOver = Atomic(false)

    private struct CurrentLoop {
        /// Another one after each stop by ``suspend()``.
        var loop: EngineLoop
        /// Once it was adjusted.
        var tuning: EngineTuning?
    }

    /// A run that ``run()`` begins. It takes nothing yet: neither the lease nor a thread.
    public init(queue: TransferQueue, options: EngineOptions) {
        self.queue = queue
        self.options = options
        notifier =
            options.mode == .daemon ? SystemdNotifier(environment: Environment.all()) : nil
        outlet = NoticeOutlet(for: options.mode)
        if options.mode == .background { StandardError.keepSmall(EngineStarter(queue).log) }
        current = Mutex(
            CurrentLoop(
                loop: EngineRun.loop(
                    of: queue, StopConditions(options), options, notifier, failedJobs, times)))
    }

    private static func loop(
        of queue: TransferQueue, _ stopConditions: StopConditions, _ options: EngineOptions,
        _ notifier: SystemdNotifier?, _ failedJobs: FailedJobs, _ times: EngineTimes
    ) -> EngineLoop {
        let onFailure = options.onFailure
        return EngineLoop(
            store: queue.store, directory: queue.directory, holder: queue.holder(options.mode),
            stopConditions: stopConditions, notifier: notifier,
            journal: EngineJournal.wanted(by: options.mode),
            leaving: options.onOverdue.map {
                LeavingWatch(EngineOptions.leavingSeconds, overdue: $0)
            },
            onFailure: {
                onFailure?($0)
                failedJobs.count($0)
            }, times: times)
    }

    /// Takes the lease and runs until the options or ``stop()`` end it; blocks the calling thread.
    /// When another process holds the lease: returns at once with `.busy`, or with
    /// ``EngineOptions/waitsForLease`` takes over when that one ends.
    ///
    /// - Throws: `LonghaulError` `storeUnavailable`; `io`, `permission` when the lock or a file of
    ///   the engine cannot be opened. Committed changes stay.
    public func run() throws(LonghaulError) -> EngineSummary {
        let began = SystemClock.now().monotonic
        var sum = EngineSummary(
            completed: 0, failed: 0, left: 0, bytes: 0, seconds: 0, stoppedBy: .signal)
        while true {
            let report: EngineReport?
            do throws(LonghaulError) {
                report = try work()
            } catch {
                // A newer program has migrated the store and is to take over.
                guard options.onHandOver != nil, queue.store.newerVersion() != nil else {
                    throw error
                }
                _ = BackgroundEngine.becomeSuccessor()
                throw error
            }
            if let report { sum.add(report) }
            sum.jobsFailed = failedJobs.number
            if isHandingOver.exchange(false, ordering: .relaxed), !isToStop {
                let failure = BackgroundEngine.becomeSuccessor().longhaulError()
                notifier?.isNotHandedOver(failure.message)
                goOn(after: SystemClock.now().monotonic - began, bytes: sum.bytes)
                continue
            }
            if report != nil { EngineStarter(queue).startWanted() }
            if isStopped.load(ordering: .relaxed) { return try finished(sum, .signal) }
            if isSuspending.exchange(false, ordering: .relaxed) {
                OwnProcess.suspend()
                goOn(after: SystemClock.now().monotonic - began, bytes: sum.bytes)
                continue
            }
            guard let report else { return try finished(sum, .busy) }
            let reason = EngineSummary.StoppedBy(rawValue: report.stoppedBy.rawValue)
            return try finished(sum, reason ?? .signal)
        }
    }

    /// Holds the lease no longer when it returns; `nil` = did not get it.
    private func work() throws(LonghaulError) -> EngineReport? {
        guard let lock = try acquire() else { return nil }
        let loop = current.withLock { $0.loop }
        Snapshots(queue.store, in: queue.directory).sweep()
        try? StreamedTransfers(queue).sweepReaders()
        // The next look at the queue may end the engine: it has to see that scans are due.
        try? queue.store.folders.askForScans()
        let threads = workThreads
        let pushes = PushThread(queue.directory, silenceSeconds: options.pushSilenceSeconds)
        defer {
            for thread in threads { thread.stop() }
            pushes.stop()
            var notices = NoticeSteps(queue, outlet)
            notices.last()
            outlet.finish()
        }
        return try loop.run(
            holding: lock, conditions: ConditionsSource(queue), hosts: HostLauncher(queue)
        ) { [queue] networkChanges in
            for thread in threads { thread.startIfNeeded(queue) }
            pushes.turn(queue, networkChanges: networkChanges)
        }
    }

    /// The threads for bundles, folders and notices.
    private var workThreads: [WorkThread] {
        [
            WorkThread("longhaul-bundles", queue.directory) {
                store throws(LonghaulError) in
                try !store.bundleWork.isEmpty()
            } begin: {
                var seeds = SystemRandom()
                return BundleSteps($0, seed: seeds.next())
            },
            WorkThread("longhaul-folders", queue.directory) {
                store throws(LonghaulError) in
                try !store.folders.isEmpty()
            } begin: {
                FolderSteps($0)
            },
            WorkThread("longhaul-notices", queue.directory) {
                store throws(LonghaulError) in
                try store.notices.isWanted()
            } begin: { [outlet] in
                NoticeSteps($0, outlet)
            },
        ]
    }

    /// Continues with the remaining time and bytes.
    private func goOn(after seconds: Double, bytes: Int64) {
        var options = options
        options.maxSeconds = options.maxSeconds.map { max(0, $0 - seconds) }
        options.maxBytes = options.maxBytes.map { max(0, $0 - bytes) }
        var stopConditions = StopConditions(options)
        current.withLock { current in
            if let tuning = current.tuning { stopConditions.tuning = tuning }
            current.loop = EngineRun.loop(
                of: queue, stopConditions, options, notifier, failedJobs, times)
        }
        // Requests that the loop before has received hold for this one.
        if isLeaving { leave() }
    }

    /// True while the run waits for another process to leave.
    var isStandingBy: Bool { waiting.withLock { $0 != nil } }

    private var isLeaving: Bool {
        isToStop || isSuspending.load(ordering: .relaxed) || isHandingOver.load(ordering: .relaxed)
    }

    private func acquire() throws(LonghaulError) -> EngineLock? {
        do throws(SystemFailure) {
            if let lock = try EngineLock.tryAcquire(in: queue.directory) { return lock }
            guard options.waitsForLease else { return nil }
            let wait = try EngineLockWait(in: queue.directory)
            waiting.withLock { $0 = wait }
            defer { waiting.withLock { $0 = nil } }
            notifier?.standsBy()
            return isLeaving ? nil : try wait.acquire()
        } catch {
            throw error.longhaulError()
        }
    }

    private func finished(
        _ sum: EngineSummary, _ reason: EngineSummary.StoppedBy
    ) throws(LonghaulError) -> EngineSummary {
        var sum = sum
        sum.left = try queue.store.transfers.counts().reduce(0) {
            $1.key.hasEnded ? $0 : $0 + $1.value
        }
        sum.stoppedBy = reason
        return sum
    }

    /// Durations of this run's turns and commits.
    package var durations: (turns: TimeHistogram, commits: TimeHistogram) {
        (times.turns, times.commits)
    }

    /// Sets new limits; running transfers continue. From any thread; returns at once.
    public func adjust(_ limits: EngineLimits) {
        let new = EngineTuning(limits)
        current.withLock { current in
            current.tuning = new
            current.loop.adjust(new)
        }
    }

    /// Rereads the limits; if that fails, the present ones stay. A service manager is notified of
    /// either.
    package func reload(
        _ limits: () throws(LonghaulError) -> EngineLimits
    ) throws(LonghaulError) {
        notifier?.isReloading()
        do throws(LonghaulError) {
            adjust(try limits())
        } catch {
            notifier?.isNotAdjusted(error.message)
            throw error
        }
    }

    /// Checkpoints everything and makes ``run()`` return with `.signal`. From any thread; returns
    /// at once.
    public func stop() {
        isStopped.store(true, ordering: .relaxed)
        leave()
    }

    /// Checkpoints everything, gives up the lease, and only then stops the process as Ctrl-Z does:
    /// a stopped process that holds the lease, or a lock of the store, blocks all others. When the
    /// process is continued, so is ``run()``. From any thread; returns at once.
    func suspend() {
        isSuspending.store(true, ordering: .relaxed)
        leave()
    }

    /// Checkpoints everything, gives up the lease, and executes the installed program in this
    /// process. If that fails, ``run()`` continues. From any thread; returns at once.
    func handOver() {
        guard options.onHandOver?() == true else { return }
        notifier?.isHandingOver()
        isHandingOver.store(true, ordering: .relaxed)
        leave()
    }

    private func leave() {
        waiting.withLock { $0 }?.cancel()
        current.withLock { $0.loop }.leave()
    }
}

extension EngineSummary {
    fileprivate mutating func add(_ other: EngineReport) {
        completed += other.totals.completed
        failed += other.totals.failed
        hostsFailed += other.totals.hostsFailed
        bytes = bytes.addingClamped(other.bytes)
        seconds += other.seconds
    }
}

extension StopConditions {
    init(_ options: EngineOptions) {
        self.init()
        scope.onlyDiscretionary = options.onlyDiscretionary
        maxSeconds = options.maxSeconds
        unresumable = options.unresumable
        maxBytes = options.maxBytes
        untilDrained = options.untilDrained
        exitWhenIdle = options.exitWhenIdle
        until = options.until
        tuning = EngineTuning(options.limits)
    }
}

extension EngineTuning {
    init(_ limits: EngineLimits) {
        self.init()
        self.limits.running = limits.running
        if let count = limits.perOrigin {
            self.limits.perOrigin = count
            self.limits.perHTTP2Origin = count
        }
        rates = limits.rates
        retention = limits.retention
    }
}

/// Counts failed runs of jobs.
private final class FailedJobs: Sendable {
    private let runs = Atomic(0)

    var number: Int { runs.load(ordering: .relaxed) }

    /// Called on the engine's thread; returns at once.
    func count(_ failure: EngineFailure) {
        switch failure {
        case .transfer, .host, .task: break
        case .job: runs.add(1, ordering: .relaxed)
        }
    }
}

extension EngineRun {
    /// Runs on the calling thread; SIGINT, SIGTERM and SIGHUP checkpoint everything and make it
    /// return with `.signal`, and the second of them ends the process at once. SIGTSTP (Ctrl-Z)
    /// checkpoints everything and gives up the lease before it stops the process. The process has
    /// one such run at a time.
    ///
    /// No task is awaited in here: Swift's shared threads wake up once a second for as long as they
    /// live, and an engine with nothing to do is to sleep.
    ///
    /// - Parameters:
    ///   - onSignal: called first, with the signal's number, on a separate thread.
    ///   - onHangUp: with it SIGHUP does not end the run but calls this, on a separate thread.
    /// - Throws: `LonghaulError` `storeUnavailable`; `io` when no thread or descriptor is left.
    public func runUntilSignalled(
        onSignal: @escaping @Sendable (Int32) -> Void = { _ in },
        onHangUp: (@Sendable () -> Void)? = nil
    ) throws(LonghaulError) -> EngineSummary {
        let trap: SignalTrap
        do {
            let handingOver = options.onHandOver == nil ? [] : [SignalTrap.handingOver]
            let signals = SignalTrap.leaving + [SignalTrap.suspending] + handingOver
            trap = try SignalTrap(signals) { [self] signal in
                if signal == SignalTrap.suspending { return suspend() }
                if signal == SignalTrap.handingOver { return handOver() }
                if signal == SignalTrap.hangUp, let onHangUp { return onHangUp() }
                // A second signal ends the process at once.
                if isToStop { OwnProcess.end(by: signal) }
                onSignal(signal)
                stop()
            }
        } catch {
            throw error.longhaulError()
        }
        defer { trap.stop() }
        return try run()
    }
}
