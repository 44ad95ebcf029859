public import LonghaulCore
internal import LonghaulPlatform
internal import Synchronization

/// Events that a follower reads at once.
private let eventsPerRead = 500

/// The event log from a cursor on, in order and without gaps, while it is read.
public final class EventFollower: Sendable {
    private let queue: TransferQueue
    private let changes: ChangeWatch
    private let session: String?
    private let waitingOnly: Bool
    private let cursor: Mutex<Int64>

    init(
        _ queue: TransferQueue, changes: ChangeWatch, after sequence: Int64, session: String?,
        waitingOnly: Bool
    ) {
        self.queue = queue
        self.changes = changes
        self.session = session
        self.waitingOnly = waitingOnly
        cursor = Mutex(sequence)
    }

    /// The next events, at least one and at most a page; empty when none came in time, a signal was
    /// caught, or it was cancelled. For one thread at a time.
    ///
    /// - Throws: `LonghaulError` `storeUnavailable`.
    public func next(timeout seconds: Double) throws(LonghaulError) -> [EventRecord] {
        try next(timeout: seconds) { () throws(LonghaulError) in false }
    }

    /// - Parameter isOver: Ends the wait without an event; asked at first, and whenever something
    ///   has been committed.
    package func next(
        timeout seconds: Double, orWhen isOver: () throws(LonghaulError) -> Bool
    ) throws(LonghaulError) -> [EventRecord] {
        let end = SystemClock.now().monotonic + seconds
        while true {
            if try isOver() { return [] }
            let found = try page()
            if !found.isEmpty { return found }
            // The change may be anything but an event of this session.
            let left = end - SystemClock.now().monotonic
            guard left > 0, try changes.wait(timeout: left) else { return [] }
        }
    }

    /// Makes ``next(timeout:)`` return. From any thread.
    public func cancel() {
        changes.cancel()
    }

    private func page() throws(LonghaulError) -> [EventRecord] {
        let after = cursor.withLock { $0 }
        let found = try queue.events(
            after: after, session: session, waitingOnly: waitingOnly, limit: eventsPerRead)
        if let last = found.last { cursor.withLock { $0 = last.sequence } }
        return found
    }
}
