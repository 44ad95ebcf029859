package import LonghaulPlatform
internal import LonghaulCore
internal import Synchronization

/// An embedded engine that failed is tried again after this pause, twice as long each time,…
private let enginePauseMinimumSeconds: Double = 1
/// …up to this one.
private let enginePauseMaximumSeconds: Double = 60

/// A thread that runs the engine in this process: for the sessions of a process as long as they
/// want one, or for one run of a command.
package final class EngineThread: Sendable {
    private let nextRun: @Sendable () throws(LonghaulError) -> EngineRun
    /// True if another run follows one that has ended or failed.
    private let isPersistent: Bool
    private let onEnd: @Sendable () -> Void
    private let state = Mutex(State())
    /// Rung to end a pause.
    private let bell = Mailbox<Void>()
    /// Rung when the thread has done its work.
    private let gone = Mailbox<Void>()

    private struct State {
        var run: EngineRun?
        var isStopping = false
        var hasEnded = false
        var waiters: [CheckedContinuation<Void, Never>] = []
        var failure: LonghaulError?
    }

    private init(
        isPersistent: Bool, onEnd: @escaping @Sendable () -> Void,
        nextRun: @escaping @Sendable () throws(LonghaulError) -> EngineRun
    ) {
        self.isPersistent = isPersistent
        self.onEnd = onEnd
        self.nextRun = nextRun
    }

    /// Waits until no other process is the engine of the store, takes over in that moment, and
    /// stays until ``stop()``.
    ///
    /// - Parameters:
    ///   - directory: as ``TransferQueue/init(directory:)`` takes it; opened on the thread.
    ///   - limits: `nil` = the limits of the user's configuration file, which hold for every
    ///     engine.
    ///   - retries: an engine that fails is tried again. Otherwise its ``failure`` ends the thread.
    package convenience init(
        _ directory: String?, limits: EngineLimits? = nil, retries: Bool = true
    ) {
        self.init(isPersistent: retries, onEnd: {}) { () throws(LonghaulError) in
            var options = EngineOptions(mode: .embedded)
            options.waitsForLease = true
            let queue = try TransferQueue(directory: directory)
            // `doctor` reports an invalid file; a program continues without it.
            if let limits = limits ?? (try? ConfigurationFile.read())?.limits {
                options.limits = limits
            }
            return EngineRun(queue: queue, options: options)
        }
    }

    /// Performs one run.
    ///
    /// - Parameter onEnd: called on the thread when the run has ended.
    package convenience init(_ run: EngineRun, onEnd: @escaping @Sendable () -> Void) {
        self.init(isPersistent: false, onEnd: onEnd) { () throws(LonghaulError) in run }
    }

    /// Starts the thread. If no thread can be had, the run is over at once, with that as its
    /// ``failure``.
    ///
    /// - Returns: whether there is a thread.
    @discardableResult
    package func start(begin: DetachedThread.Start = DetachedThread.begin) -> Bool {
        let hasBegun = begin("longhaul-engine") { [self] in
            work()
            end()
        }
        if hasBegun { return true }
        state.withLock { $0.failure = .noThread() }
        end()
        return false
    }

    private func end() {
        let waiters = state.withLock { state in
            state.hasEnded = true
            defer { state.waiters.removeAll() }
            return state.waiters
        }
        gone.put([()])
        for waiter in waiters { waiter.resume() }
        onEnd()
    }

    /// The last error of a run, or that there is no thread.
    package var failure: LonghaulError? { state.withLock { $0.failure } }

    /// Another process, or a failure, keeps it from being the engine.
    package var isBlocked: Bool {
        state.withLock { state in
            state.hasEnded || state.failure != nil || state.run?.isStandingBy == true
        }
    }

    package var hasEnded: Bool { state.withLock { $0.hasEnded } }

    /// Lets the engine save everything and leave; returns at once. From any thread.
    package func stop() {
        let run = state.withLock { state in
            state.isStopping = true
            return state.run
        }
        run?.stop()
        bell.put([()])
    }

    /// ``stop()``, and until another process can be the engine.
    func leave() async {
        stop()
        await untilEnded()
    }

    /// Returns when the thread has done its work and another process can be the engine.
    package func untilEnded() async {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                if !state.hasEnded { state.waiters.append(continuation) }
                return state.hasEnded
            }
            if isOver { continuation.resume() }
        }
    }

    /// The same, on a thread that may block, and for so long at most.
    package func leave(within seconds: Double) {
        stop()
        if !hasEnded { _ = gone.take(within: seconds) }
    }

    // MARK: - The thread

    private func work() {
        var pause = enginePauseMinimumSeconds
        while true {
            let outcome = Result { () throws(LonghaulError) in try runOnce() }
            let isStopping = state.withLock { state in
                state.run = nil
                if case .failure(let error) = outcome { state.failure = error }
                return state.isStopping
            }
            if isStopping || !isPersistent { return }
            switch outcome {
            case .success: pause = enginePauseMinimumSeconds
            case .failure: pause = min(pause * 2, enginePauseMaximumSeconds)
            }
            _ = bell.take(within: pause)
            if state.withLock({ $0.isStopping }) { return }
        }
    }

    private func runOnce() throws(LonghaulError) {
        let run = try nextRun()
        let mayRun = state.withLock { state in
            if !state.isStopping { state.run = run }
            return !state.isStopping
        }
        if mayRun { _ = try run.run() }
    }
}
