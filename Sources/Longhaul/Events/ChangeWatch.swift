public import LonghaulCore
internal import LonghaulStore
internal import LonghaulSystem
internal import Synchronization

/// Tells when a store has changed. Nothing is looked at while nothing is written, and nothing is
/// missed: what was committed before ``wait(timeout:)`` returns `true` can be read afterwards.
public final class ChangeWatch: Sendable {
    /// A connection of its own: SQLite tells a connection of what others did, not of what it did
    /// itself, and an engine of this process may use the queue's.
    private let store: Store
    private let watch: WriteWatch
    private let seen: Mutex<Int64>
    private let isCancelled = Atomic(false)
    private let nextLook = Atomic(0)

    init(directory: String) throws(LonghaulError) {
        let store = try Store.open(directory: directory, mode: .existing)
        do throws(SystemFailure) {
            watch = try WriteWatch(
                directory: directory, names: ["queue.sqlite-wal", "queue.sqlite"])
        } catch {
            throw error.longhaulError()
        }
        self.store = store
        seen = Mutex(try store.dataVersion())
    }

    deinit {
        try? store.close()
    }

    /// The log is written to, synced, and only then does the commit count, in shared memory that
    /// nobody is told of: after a notice the store is looked at more and more seldom for a while.
    private static let looksMilliseconds: [Double] = (0..<12).map { Double(1 << $0) }
    /// Insurance against a commit that took longer.
    private static let blindSeconds: Double = 10

    /// Blocks until something was committed since the last call (or since the watch was made), and
    /// says so; `false` when the time is over, a signal was caught, or it was cancelled. For one
    /// thread at a time.
    public func wait(timeout seconds: Double) throws(LonghaulError) -> Bool {
        let end = SystemClock.now().monotonic + min(max(0, seconds), 1e9)
        while true {
            if try hasChanged() { return true }
            let left = end - SystemClock.now().monotonic
            if left <= 0 || isCancelled.load(ordering: .relaxed) { return false }
            let look = nextLook.load(ordering: .relaxed)
            let pause =
                look < Self.looksMilliseconds.count
                ? Self.looksMilliseconds[look] / 1000 : Self.blindSeconds
            switch watch.wait(seconds: min(pause, left)) {
            case .written: nextLook.store(0, ordering: .relaxed)
            case .timeIsOver: nextLook.store(look + 1, ordering: .relaxed)
            case .interrupted: return try hasChanged()
            }
        }
    }

    /// Makes a wait that is under way, and every later one, return at once. From any thread.
    public func cancel() {
        isCancelled.store(true, ordering: .relaxed)
        watch.cancel()
    }

    private func hasChanged() throws(LonghaulError) -> Bool {
        let version = try store.dataVersion()
        return seen.withLock { seen in
            defer { seen = version }
            return seen != version
        }
    }
}
