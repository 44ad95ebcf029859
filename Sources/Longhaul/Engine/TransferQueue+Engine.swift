public import LonghaulCore
internal import LonghaulEngine
internal import LonghaulStore
internal import LonghaulPlatform

extension TransferQueue {
    /// True if some process is the engine now.
    public var isEngineRunning: Bool {
        (try? EngineLock.isHeld(in: directory)) ?? false
    }

    /// Has the installed service start the engine; without a service, or if the engine does not
    /// start, starts `longhaul daemon --exit-when-idle` of this executable, detached. While an
    /// engine runs, that is done when it leaves with something left to do.
    ///
    /// - Throws: `LonghaulError` `storeUnavailable`; `io` or `permission` when the program cannot
    ///   be started.
    public func startBackgroundEngine() throws(LonghaulError) {
        let own = BackgroundEngine.ownExecutable()
        try EngineStarter(self).start(own, found: BackgroundEngine.installedExecutable() ?? own)
    }

    /// If no engine runs: takes the lease for one housekeeping turn that starts no transfer, so
    /// that `list` shows the changes just requested.
    ///
    /// - Throws: `LonghaulError` `storeUnavailable`; `io` when the lock cannot be opened.
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
        guard let boot = machine.bootID else { return }
        let now = machine.now()
        try store.settings.follow(ClockMark(boot: boot, at: now), now: now.wall)
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
