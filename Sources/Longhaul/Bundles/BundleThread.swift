internal import LonghaulCore
internal import LonghaulStore
internal import LonghaulPlatform
internal import Synchronization

/// The shortest pause between two looks: many files end in it, and one transaction records them.
private let bundleBreathSeconds: Double = 0.03
/// The pause after the store could not be written.
private let bundleRetrySeconds: Double = 5

/// The thread that works on the bundles while this process is the engine. It is started with the
/// first bundle: most queues have none.
final class BundleThread: Sendable {
    private let directory: String
    private let state = Mutex(State())
    private let gone = Mailbox<Void>()

    private struct State {
        var watch: ChangeWatch?
        var isStarted = false
        var isStopped = false
    }

    init(_ directory: String) {
        self.directory = directory
    }

    /// Starts the thread if it is not started and there is a bundle. From any thread; returns at
    /// once.
    func startIfNeeded(_ queue: TransferQueue) {
        let isToStart = state.withLock { !$0.isStarted && !$0.isStopped }
        guard isToStart, (try? queue.store.bundleWork.isEmpty()) == false else { return }
        state.withLock { $0.isStarted = true }
        if !DetachedThread.begin(name: "longhaul-bundles", work) {
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
        var seeds = SystemRandom()
        var steps = BundleSteps(queue, seed: seeds.next())
        while !isStopped {
            var pause = bundleRetrySeconds
            do throws(LonghaulError) {
                let next = try steps.run()
                pause = next.map { max(0.1, $0 - queue.now) } ?? .infinity
            } catch {
                // The store is full or locked: the next look tries again.
            }
            ThreadSleep.seconds(bundleBreathSeconds)
            if isStopped { return }
            _ = try? watch.wait(timeout: pause)
        }
    }

    /// `nil` = it was stopped before the store could be read.
    private func opened() -> (TransferQueue, ChangeWatch)? {
        while !isStopped {
            if let queue = try? TransferQueue(directory: directory),
                let watch = try? ChangeWatch(directory: directory)
            {
                return (queue, watch)
            }
            ThreadSleep.seconds(0.1)
        }
        return nil
    }
}
