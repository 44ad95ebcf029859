public import LonghaulCore
internal import LonghaulEngine
internal import LonghaulStore
internal import LonghaulSystem
internal import Synchronization

/// This process's turn at being the engine.
public final class EngineRun: Sendable {
    private let queue: TransferQueue
    private let options: EngineOptions
    private let loop: EngineLoop
    /// A daemon tells its service manager how it does.
    private let attendant: ServiceAttendant?
    private let waiting = Mutex<EngineLockWait?>(nil)
    private let isStopped = Atomic(false)

    public init(queue: TransferQueue, options: EngineOptions) {
        self.queue = queue
        self.options = options
        attendant =
            options.mode == .daemon ? ServiceAttendant(environment: Environment.all()) : nil
        if options.mode == .background { StandardError.keepSmall(queue.engineLog) }
        loop = EngineLoop(
            store: queue.store, directory: queue.directory, holder: queue.holder(options.mode),
            orders: EngineOrders(options), attendant: attendant,
            journal: EngineJournal.wanted(by: options.mode))
    }

    /// Takes the lease and runs until the options or ``stop()`` end it; blocks the calling thread.
    /// When another process holds the lease: returns at once with `.busy`, or with
    /// ``EngineOptions/waitsForLease`` takes over when that one ends.
    public func run() throws(LonghaulError) -> EngineSummary {
        guard let report = try work() else {
            return try summary(
                nil, stoppedBy: isStopped.load(ordering: .relaxed) ? .signal : .busy)
        }
        queue.startWantedEngine()
        let reason = EngineSummary.StoppedBy(rawValue: report.stoppedBy.rawValue) ?? .signal
        return try summary(report, stoppedBy: reason)
    }

    /// Holds the lease no longer when it returns; `nil` = did not get it.
    private func work() throws(LonghaulError) -> EngineReport? {
        guard let lock = try acquire() else { return nil }
        return try loop.run(
            holding: lock, conditions: MachineConditions(queue), hosts: HostLauncher(queue))
    }

    private func acquire() throws(LonghaulError) -> EngineLock? {
        do throws(SystemFailure) {
            if let lock = try EngineLock.tryAcquire(in: queue.directory) { return lock }
            guard options.waitsForLease else { return nil }
            let wait = try EngineLockWait(in: queue.directory)
            waiting.withLock { $0 = wait }
            attendant?.standsBy()
            if isStopped.load(ordering: .relaxed) { return nil }
            return try wait.acquire()
        } catch {
            throw error.longhaulError()
        }
    }

    private func summary(
        _ report: EngineReport?, stoppedBy: EngineSummary.StoppedBy
    ) throws(LonghaulError) -> EngineSummary {
        let counts = try queue.store.counts()
        let left = counts.reduce(0) { $1.key.hasEnded ? $0 : $0 + $1.value }
        return EngineSummary(
            completed: report?.completed ?? 0, failed: report?.failed ?? 0, left: left,
            bytes: report?.bytes ?? 0, seconds: report?.seconds ?? 0, stoppedBy: stoppedBy)
    }

    /// Other limits from now on; what runs goes on. From any thread; returns at once.
    public func adjust(_ limits: EngineLimits) {
        loop.adjust(EngineTuning(limits))
    }

    /// Reads limits anew, and keeps to the present ones where that fails. A service manager is told
    /// of either.
    package func reload(
        _ limits: () throws(LonghaulError) -> EngineLimits
    ) throws(LonghaulError) {
        attendant?.isReloading()
        do throws(LonghaulError) {
            adjust(try limits())
        } catch {
            attendant?.isNotAdjusted(error.message)
            throw error
        }
    }

    /// Checkpoints everything and makes ``run()`` return with `.signal`. From any thread; returns
    /// at once.
    public func stop() {
        isStopped.store(true, ordering: .relaxed)
        waiting.withLock { $0 }?.cancel()
        loop.leave()
    }
}

extension EngineOrders {
    init(_ options: EngineOptions) {
        self.init()
        scope.onlyDiscretionary = options.onlyDiscretionary
        maxSeconds = options.maxSeconds
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
        self.limits.perOrigin = limits.connectionsPerOrigin
        rates = limits.rates
    }
}
