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
    private let waiting = Mutex<EngineLockWait?>(nil)
    private let isStopped = Atomic(false)

    public init(queue: TransferQueue, options: EngineOptions) {
        self.queue = queue
        self.options = options
        loop = EngineLoop(
            store: queue.store, directory: queue.directory, holder: queue.holder(options.mode),
            orders: EngineOrders(options))
    }

    /// Takes the lease and runs until the options or ``stop()`` end it; blocks the calling thread.
    /// When another process holds the lease: returns at once with `.busy`, or with
    /// ``EngineOptions/waitsForLease`` takes over when that one ends.
    public func run() throws(LonghaulError) -> EngineSummary {
        guard let lock = try acquire() else {
            return try summary(
                nil, stoppedBy: isStopped.load(ordering: .relaxed) ? .signal : .busy)
        }
        let report = try loop.run(
            holding: lock, conditions: MachineConditions(queue), hosts: HostLauncher(queue))
        let reason = EngineSummary.StoppedBy(rawValue: report.stoppedBy.rawValue) ?? .signal
        return try summary(report, stoppedBy: reason)
    }

    private func acquire() throws(LonghaulError) -> EngineLock? {
        do throws(SystemFailure) {
            if let lock = try EngineLock.tryAcquire(in: queue.directory) { return lock }
            guard options.waitsForLease else { return nil }
            let wait = try EngineLockWait(in: queue.directory)
            waiting.withLock { $0 = wait }
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
    }
}
