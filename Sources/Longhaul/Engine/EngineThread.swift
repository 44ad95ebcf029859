internal import LonghaulCore
internal import LonghaulPlatform
internal import Synchronization

/// This process's readiness to be the engine of a store: on a thread of its own it waits until no
/// other process is, takes over in that moment, and stays until ``stop()``. An engine that fails is
/// tried again.
final class EngineThread: Sendable {
    private let directory: String
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

    private static let firstPauseSeconds: Double = 1
    private static let lastPauseSeconds: Double = 60

    init(_ directory: String) {
        self.directory = directory
    }

    /// Where no thread can be had it is over at once, with that as its ``failure``.
    func start(begin: DetachedThread.Start = DetachedThread.begin) {
        let hasBegun = begin("longhaul-engine") { [self] in
            work()
            end()
        }
        if hasBegun { return }
        state.withLock { $0.failure = .noThread() }
        end()
    }

    private func end() {
        let waiters = state.withLock { state in
            state.hasEnded = true
            defer { state.waiters.removeAll() }
            return state.waiters
        }
        gone.put([()])
        for waiter in waiters { waiter.resume() }
    }

    /// Why the last try ended, if it failed.
    var failure: LonghaulError? { state.withLock { $0.failure } }

    var hasEnded: Bool { state.withLock { $0.hasEnded } }

    /// Lets the engine save everything and leave; returns at once.
    func stop() {
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
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                if !state.hasEnded { state.waiters.append(continuation) }
                return state.hasEnded
            }
            if isOver { continuation.resume() }
        }
    }

    /// The same, on a thread that may block, and for so long at most.
    func leave(within seconds: Double) {
        stop()
        if !hasEnded { _ = gone.take(within: seconds) }
    }

    // MARK: - The thread

    private func work() {
        var pause = EngineThread.firstPauseSeconds
        while true {
            let outcome = Result { () throws(LonghaulError) in try runOnce() }
            let isStopping = state.withLock { state in
                state.run = nil
                if case .failure(let error) = outcome { state.failure = error }
                return state.isStopping
            }
            if isStopping { return }
            switch outcome {
            case .success: pause = EngineThread.firstPauseSeconds
            case .failure: pause = min(pause * 2, EngineThread.lastPauseSeconds)
            }
            _ = bell.take(within: pause)
            if state.withLock({ $0.isStopping }) { return }
        }
    }

    private func runOnce() throws(LonghaulError) {
        let queue = try TransferQueue(directory: directory)
        var options = EngineOptions(mode: .embedded)
        options.waitsForLease = true
        // What a user allows holds for whoever is the engine. A file that cannot be understood is
        // for `doctor` to say; a program goes on without it.
        if let limits = (try? ConfigurationFile.read())?.limits { options.limits = limits }
        let run = EngineRun(queue: queue, options: options)
        let mayRun = state.withLock { state in
            if !state.isStopping { state.run = run }
            return !state.isStopping
        }
        if mayRun { _ = try run.run() }
    }
}
