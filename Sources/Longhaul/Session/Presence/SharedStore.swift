internal import LonghaulCore
internal import LonghaulPlatform
internal import Synchronization

/// Time for an engine to save everything when the process ends.
private let engineExitSeconds: Double = 3

/// The share of this process in one store, for all its sessions there: an executor, and while one
/// of them wants it, readiness to be the engine.
package final class SharedStore: Sendable {
    let executor: StoreExecutor
    private let state = Mutex(State())

    private struct State {
        var users = 1
        var engineUsers = 0
        var engine: EngineThread?
        /// Foreground transfers that a task of this process awaits.
        var awaited: Set<TransferID> = []
    }

    private static let open = Mutex<[ExactText: SharedStore]>([:])

    private init(_ executor: StoreExecutor) {
        self.executor = executor
    }

    /// The presence of this process at the store, created if missing. Blocks.
    static func enter(_ directory: String?) throws(LonghaulError) -> SharedStore {
        let directory = try StateDirectory.ofQueue(directory)
        if let there = retained(directory, else: nil) { return there }
        let made = SharedStore(try StoreExecutor.open(directory))
        guard let there = retained(directory, else: made) else { return made }
        made.executor.abandon()
        return there
    }

    private static func retained(
        _ directory: String, else made: SharedStore?
    ) -> SharedStore? {
        open.withLock { open in
            if let there = open[ExactText(directory)] {
                there.state.withLock { $0.users += 1 }
                return there
            }
            open[ExactText(directory)] = made
            return nil
        }
    }

    /// A session ends. The last one takes everything with it; when this returns, threads and
    /// descriptors are gone and the engine's place is free.
    func leave() async {
        if release() { await executor.close() }
    }

    /// ``leave()`` for callers that cannot wait.
    func abandon() {
        if release() { executor.abandon() }
    }

    /// Returns whether it has no user any more.
    private func release() -> Bool {
        SharedStore.open.withLock { open in
            let users = state.withLock { state in
                state.users -= 1
                return state.users
            }
            let directory = ExactText(executor.directory)
            if users == 0, open[directory] === self { open[directory] = nil }
            return users == 0
        }
    }

    /// Returns when the waiters of this process at that store were notified of all present commits.
    package static func settle(in directory: String) async {
        guard let there = open.withLock({ $0[ExactText(directory)] }) else { return }
        // The waiters are notified after the jobs of a round.
        for _ in 0..<2 {
            try? await there.executor.perform { _ throws(LonghaulError) in }
        }
    }

    // MARK: - The engine

    /// Makes this process the engine whenever no other is, from now on.
    func takeEngine() {
        ExitWork.set(0) { SharedStore.leaveAtExit() }
        let thread = state.withLock { state -> EngineThread? in
            state.engineUsers += 1
            // An engine that has ended while it has users had no thread.
            if let engine = state.engine, !engine.hasEnded { return nil }
            state.engine = EngineThread(executor.directory)
            return state.engine
        }
        thread?.start()
    }

    /// Takes one user of the engine away; after the last, another process can be the engine when
    /// this returns.
    func dropEngine() async {
        await releaseEngine()?.leave()
    }

    /// ``dropEngine()`` for callers that cannot wait.
    func giveUpEngine() {
        releaseEngine()?.stop()
    }

    private func releaseEngine() -> EngineThread? {
        state.withLock { state -> EngineThread? in
            state.engineUsers -= 1
            guard state.engineUsers == 0 else { return nil }
            defer { state.engine = nil }
            return state.engine
        }
    }

    /// A session makes this process the engine whenever no other is.
    var isEngineWanted: Bool { state.withLock { $0.engineUsers > 0 } }

    /// Why this process could not be the engine when it last tried.
    var engineFailure: LonghaulError? { state.withLock { $0.engine }?.failure }

    /// See ``EngineThread/isBlocked``.
    var isEngineBlocked: Bool { state.withLock { $0.engine }?.isBlocked ?? true }

    private static func leaveAtExit() {
        let threads = open.withLock { open in
            open.values.compactMap { sharedStore in sharedStore.state.withLock { $0.engine } }
        }
        for thread in threads { thread.stop() }
        for thread in threads { thread.leave(within: engineExitSeconds) }
    }

    // MARK: - Foreground transfers

    func hold(_ id: TransferID) { state.withLock { _ = $0.awaited.insert(id) } }

    func release(_ id: TransferID) { state.withLock { _ = $0.awaited.remove(id) } }

    func isAwaited(_ id: TransferID) -> Bool { state.withLock { $0.awaited.contains(id) } }
}

/// Calls that may block for long, on a separate thread: Swift's shared threads are few.
enum Blocking {
    static func run<Value: Sendable>(
        _ body: @escaping @Sendable () throws(LonghaulError) -> Value
    ) async throws(LonghaulError) -> Value {
        let result: Result<Value, LonghaulError> = await withCheckedContinuation { continuation in
            DetachedThread.start(name: "longhaul-call") {
                continuation.resume(returning: Result(catching: body))
            }
        }
        return try result.get()
    }
}
