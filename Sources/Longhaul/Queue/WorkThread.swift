internal import LonghaulCore
internal import LonghaulStore
internal import LonghaulPlatform
internal import Synchronization

/// The shortest pause between two looks: many files end in it, and one transaction records them.
private let workBreathSeconds: Double = 0.03
/// The pause after the store could not be written.
private let workRetrySeconds: Double = 5

/// Work of the engine's process beside transfers: for bundles, watched folders or notices. Every
/// step begins and ends with rows.
protocol EngineWork {
    /// Readable when there is something to do, besides a commit.
    var descriptor: Int32? { get }
    /// A last step follows the end of the engine, for transfers that have ended meanwhile.
    var hasLastStep: Bool { get }

    /// Does what can be done now.
    ///
    /// - Returns: When to look again even if nothing happens; `nil` = only then.
    /// - Throws: `LonghaulError` `storeUnavailable`; another call tries again.
    mutating func run() throws(LonghaulError) -> Timestamp?
}

/// A thread for one kind of such work while this process is the engine. It is started when there is
/// some: most queues have none.
final class WorkThread: Sendable {
    private let name: String
    private let directory: String
    private let isNeeded: @Sendable (Store) throws(LonghaulError) -> Bool
    private let begin: @Sendable (TransferQueue) -> any EngineWork
    private let state = Mutex(State())
    private let gone = Mailbox<Void>()

    private struct State {
        var watch: ChangeWatch?
        var isStarted = false
        var isStopped = false
    }

    init(
        _ name: String, _ directory: String,
        isNeeded: @escaping @Sendable (Store) throws(LonghaulError) -> Bool,
        begin: @escaping @Sendable (TransferQueue) -> any EngineWork
    ) {
        self.name = name
        self.directory = directory
        self.isNeeded = isNeeded
        self.begin = begin
    }

    /// Starts the thread if it is not started and there is work. From any thread; returns at once.
    func startIfNeeded(_ queue: TransferQueue) {
        let isToStart = state.withLock { !$0.isStarted && !$0.isStopped }
        guard isToStart, (try? isNeeded(queue.store)) == true else { return }
        state.withLock { $0.isStarted = true }
        if !DetachedThread.begin(name: name, work) {
            state.withLock { $0.isStarted = false }
        }
    }

    /// Ends the thread, and waits until it does nothing any more.
    func stop() {
        let (isStarted, watch) = state.withLock { state in
            state.isStopped = true
            return (state.isStarted, state.watch)
        }
        watch?.cancel()
        if isStarted { _ = gone.take(within: EngineOptions.leavingSeconds) }
    }

    private var isStopped: Bool { state.withLock { $0.isStopped } }

    @Sendable private func work() {
        defer { gone.put([()]) }
        guard let (queue, watch) = opened() else { return }
        state.withLock { $0.watch = watch }
        var work = begin(queue)
        while !isStopped {
            var pause = workRetrySeconds
            do throws(LonghaulError) {
                let next = try work.run()
                pause = next.map { max(0.1, $0 - queue.now) } ?? .infinity
            } catch {
                // The store is full or locked: the next look tries again.
            }
            ThreadSleep.seconds(workBreathSeconds)
            if isStopped { break }
            _ = try? watch.wait(timeout: pause, other: work.descriptor)
        }
        if work.hasLastStep { _ = try? work.run() }
    }

    /// `nil` = it was stopped before the store could be read.
    private func opened() -> (TransferQueue, ChangeWatch)? {
        Self.opened(unless: { isStopped }) {
            guard let queue = try? TransferQueue(directory: directory),
                let watch = try? ChangeWatch(directory: directory)
            else { return nil }
            return (queue, watch)
        }
    }

    /// Opens what a thread of the engine's process works with, again until it succeeds; `nil` = the
    /// thread was stopped before.
    static func opened<Value>(
        unless isStopped: () -> Bool, _ open: () -> Value?
    ) -> Value? {
        while !isStopped() {
            if let value = open() { return value }
            ThreadSleep.seconds(0.1)
        }
        return nil
    }
}
