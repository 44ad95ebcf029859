public import LonghaulCore
internal import LonghaulStore
internal import LonghaulPlatform
internal import Synchronization

/// Reports when a store has changed. Nothing is read while nothing is written, and nothing is
/// missed: changes committed before ``wait(timeout:)`` returns `true` can be read afterwards.
public final class ChangeWatch: Sendable {
    /// A separate connection: SQLite reports to a connection the changes of others only, and an
    /// engine of this process may use the queue's.
    private let store: Store
    private let watch: CommitWatch
    private let seen: Mutex<Int64>
    private let isCancelled = Atomic(false)

    init(directory: String) throws(LonghaulError) {
        let store = try Store.open(directory: directory, mode: .existing)
        do throws(SystemFailure) {
            watch = try CommitWatch(of: "queue.sqlite", in: directory)
        } catch {
            throw error.longhaulError()
        }
        self.store = store
        seen = Mutex(try store.dataVersion())
    }

    deinit {
        try? store.close()
    }

    /// Blocks until something was committed since the last call (or since the watch was made), and
    /// says so; `false` when the time is over, a signal was caught, or it was cancelled. For one
    /// thread at a time.
    ///
    /// - Throws: `LonghaulError` `storeUnavailable` when the store cannot be read.
    public func wait(timeout seconds: Double) throws(LonghaulError) -> Bool {
        try wait(timeout: seconds, other: nil)
    }

    /// - Parameter other: A descriptor that ends the wait when it is readable.
    func wait(timeout seconds: Double, other: Int32?) throws(LonghaulError) -> Bool {
        let end = SystemClock.now().monotonic + seconds
        var settling = WriteSettling()
        while true {
            if isCancelled.load(ordering: .relaxed) { return false }
            if try hasChanged() { return true }
            let left = end - SystemClock.now().monotonic
            if left <= 0 { return false }
            let woken = watch.wait(
                atMost: min(left, settling.pause ?? left), other: other)
            // Commits that come meanwhile are for the next call.
            if woken.isInterrupted || woken.isOther { return false }
            if woken.isWritten { settling.written() } else { settling.looked() }
        }
    }

    /// Makes a wait that is under way, and every later one, return at once. From any thread.
    public func cancel() {
        isCancelled.store(true, ordering: .relaxed)
        watch.call()
    }

    private func hasChanged() throws(LonghaulError) -> Bool {
        let version = try store.dataVersion()
        return seen.withLock { seen in
            defer { seen = version }
            return seen != version
        }
    }
}
