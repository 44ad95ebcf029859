internal import LonghaulCore
internal import LonghaulPlatform

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
    ///   - onSignal: told the number first, on a thread of its own.
    ///   - onHangUp: with it SIGHUP does not end the run but calls this, on a thread of its own.
    /// - Throws: `LonghaulError` `storeUnavailable`; `io` when no thread or descriptor is left.
    public func runUntilSignalled(
        onSignal: @escaping @Sendable (Int32) -> Void = { _ in },
        onHangUp: (@Sendable () -> Void)? = nil
    ) throws(LonghaulError) -> EngineSummary {
        let trap: SignalTrap
        do {
            trap = try SignalTrap(SignalTrap.leaving + [SignalTrap.suspending]) { [self] signal in
                if signal == SignalTrap.suspending { return suspend() }
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
