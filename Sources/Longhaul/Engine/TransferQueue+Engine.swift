public import LonghaulCore
internal import LonghaulEngine
internal import LonghaulStore
internal import LonghaulPlatform

extension TransferQueue {
    /// Whether some process is the engine now.
    public var isEngineRunning: Bool {
        (try? EngineLock.isHeld(in: directory)) ?? false
    }

    /// Has the service that was installed start the engine; where there is none, or it does not
    /// come, starts `longhaul daemon --exit-when-idle` of this executable, detached. While an
    /// engine runs, that is done when it leaves with something left to do.
    public func startBackgroundEngine() throws(LonghaulError) {
        let own = BackgroundEngine.ownExecutable()
        try EngineStarter(self).start(own, found: BackgroundEngine.installedExecutable() ?? own)
    }

<<<<<<< HEAD
    /// - Parameter path: Where other processes find the executable.
    func startBackgroundEngine(
        _ executable: String, found path: String
    ) throws(LonghaulError) {
        // First: whoever holds the lease now reads it when that is over.
        try store.settings.wishForEngine(path)
        if isEngineRunning { return }
        if ActivationFile.touch(in: directory), waitForEngine() { return }
        do throws(SystemFailure) {
            var environment = Environment.all()
            environment["LONGHAUL_HOME"] = directory
            // It works in another directory.
            if let file = try? ConfigurationFile.named { environment["LONGHAUL_CONFIG"] = file }
            // Started by a host, it is no part of that launch.
            environment["LONGHAUL_LAUNCH_ID"] = nil
            let pid = try BackgroundEngine.spawn(
                executable: executable,
                arguments: [
                    "daemon", "--exit-when-idle", "\(TransferQueue.backgroundIdleSeconds)s",
                    "--background",
                ], environment: environment, log: engineLog)
            BackgroundEngine.reap(pid)
        } catch {
            throw error.longhaulError()
        }
    }

    /// Where engines in the background write to.
    var engineLog: String { PathParts.join(directory, "engine.log") }

    /// For whoever has just let go of the lease: those who wanted an engine meanwhile found one,
    /// and rely on it. What cannot be started waits for the next one that leaves.
    func startWantedEngine() {
        guard let executable = try? store.settings.removeEngineWish() else { return }
        let isWanted =
            try? store.transfers.isAnyWanted() || hosts().contains { $0.nextLaunch != nil }
        if isWanted ?? true { try? startBackgroundEngine(executable, found: executable) }
    }

    /// How long a service manager has to start what it was set up to.
    private static let activationSeconds = 1.0

    private func waitForEngine() -> Bool {
        let end = SystemClock.now().monotonic + TransferQueue.activationSeconds
        while SystemClock.now().monotonic < end {
            if isEngineRunning { return true }
            ThreadSleep.seconds(0.01)
        }
        return isEngineRunning
    }

    /// How long a background engine stays with nothing left to do or to wait for.
    static let backgroundIdleSeconds = 10

=======
>>>>>>> 2a1a80b8466e92358fbdc5aadd2182323ab02af9
    /// If no engine runs: takes the lease for one housekeeping turn that starts no transfer, so
    /// that what was just wanted is what `list` shows.
    public func settle() throws(LonghaulError) {
        let starter = EngineStarter(self)
        if try starter.settle() { starter.startWanted() }
    }

    /// The number of the process that is the engine and that something has stopped: it holds the
    /// lease, and nothing moves until it is continued.
    func stoppedEngine() throws(LonghaulError) -> Int32? {
        guard let holder = try store.lease.info().holder, holder.isStopped else { return nil }
        return holder.pid
    }

    /// Before times are recorded by a clock that may have been set since others were.
    func followClock() throws(LonghaulError) {
        guard let boot = BootID.current else { return }
        let now = SystemClock.now()
        try store.settings.follow(ClockMark(boot: boot.text, at: now), now: now.wall)
    }

    func holder(_ mode: EngineMode) -> EngineHolder {
        let process = ProcessIdentity.current
        return EngineHolder(
            pid: process.pid, pidStart: Int64(clamping: process.startTicks),
            bootID: BootID.current?.text ?? "", mode: mode.rawValue)
    }
}

extension EngineHolder {
    var isStopped: Bool {
        ProcessIdentity(pid: pid, startTicks: UInt64(clamping: pidStart)).isStopped
    }
}
