internal import LonghaulCore
internal import LonghaulEngine
internal import LonghaulStore
internal import LonghaulPlatform

/// Time for a service manager to start the engine.
private let activationSeconds = 1.0
/// Time that a background engine stays when idle.
private let backgroundIdleSeconds = 10

/// Starts the engine of a queue in another process, or settles the queue in this one.
struct EngineStarter {
    private let queue: TransferQueue

    init(_ queue: TransferQueue) {
        self.queue = queue
    }

    /// - Parameter path: Where other processes find the executable.
    func start(
        _ executable: String, found path: String
    ) throws(LonghaulError) {
        // First: the process that holds the lease reads the request when it leaves.
        try queue.store.settings.requestEngine(path)
        if queue.isEngineRunning { return }
        if ActivationFile.touch(in: queue.directory), waitForEngine() { return }
        do throws(SystemFailure) {
            var environment = Environment.all()
            environment["LONGHAUL_HOME"] = queue.directory
            // The engine works in another directory.
            if let file = try? ConfigurationFile.named { environment["LONGHAUL_CONFIG"] = file }
            // Started by a host, it is no part of that launch.
            environment["LONGHAUL_LAUNCH_ID"] = nil
            let pid = try BackgroundEngine.spawn(
                executable: executable,
                arguments: [
                    "daemon", "--exit-when-idle", "\(backgroundIdleSeconds)s",
                    "--background",
                ], environment: environment, log: log)
            BackgroundEngine.reap(pid)
        } catch {
            throw error.longhaulError()
        }
    }

    /// The file that engines in the background write to.
    var log: String { PathParts.join(queue.directory, "engine.log") }

    /// To be called after the lease was released: commands that wanted an engine meanwhile found
    /// one, and rely on it. What cannot be started waits for the next one that leaves.
    func startWanted() {
        guard let executable = try? queue.store.settings.withdrawEngine() else { return }
        let isWanted =
            try? queue.store.transfers.isAnyWanted()
            || !queue.store.tasks.isEmpty()
            || queue.hosts().contains { $0.nextLaunch != nil }
        if isWanted ?? true { try? start(executable, found: executable) }
    }

    private func waitForEngine() -> Bool {
        let end = SystemClock.now().monotonic + activationSeconds
        while SystemClock.now().monotonic < end {
            if queue.isEngineRunning { return true }
            ThreadSleep.seconds(0.01)
        }
        return queue.isEngineRunning
    }

    /// Performs one housekeeping turn, if the lease is free. Returns whether it was.
    func settle() throws(LonghaulError) -> Bool {
        guard let lock = try takeLock() else { return false }
        let loop = EngineLoop(
            store: queue.store, directory: queue.directory, holder: queue.holder(.embedded),
            stopConditions: StopConditions())
        try loop.settle(holding: lock)
        return true
    }

    private func takeLock() throws(LonghaulError) -> EngineLock? {
        do throws(SystemFailure) {
            return try EngineLock.tryAcquire(in: queue.directory)
        } catch {
            throw error.longhaulError()
        }
    }
}
