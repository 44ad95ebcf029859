internal import CLonghaul
internal import Glibc

/// A queue of messages from any thread for the one thread that waits for them.
package final class Mailbox<Message: Sendable>: @unchecked Sendable {
    // `lock` guards `messages` and `wanted`.
    private var messages: [Message] = []
    /// The number of messages that wakes the waiting thread.
    private var wanted = 1
    private let lock: UnsafeMutablePointer<pthread_mutex_t>
    private let arrived: UnsafeMutablePointer<pthread_cond_t>

    package init() {
        lock = .allocate(capacity: 1)
        arrived = .allocate(capacity: 1)
        pthread_mutex_init(lock, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        // Setting the wall clock must neither end nor extend a wait.
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(arrived, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(arrived)
        pthread_mutex_destroy(lock)
        arrived.deallocate()
        lock.deallocate()
    }

    package func put(_ new: [Message]) {
        pthread_mutex_lock(lock)
        messages += new
        if messages.count >= wanted { pthread_cond_signal(arrived) }
        pthread_mutex_unlock(lock)
    }

    /// All messages that have arrived. Waits for the first at most `seconds`; `nil` = without a
    /// limit.
    ///
    /// - Parameter gathering: After the first message, waits for more: one wake-up for many.
    package func take(within seconds: Double?, gathering: Gathering? = nil) -> [Message] {
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        if let seconds {
            wait(for: 1, until: Self.moment(in: seconds))
        } else {
            while messages.isEmpty { pthread_cond_wait(arrived, lock) }
        }
        if let gathering, !messages.isEmpty {
            wait(for: gathering.count, until: Self.moment(in: gathering.seconds))
        }
        let taken = messages
        messages = []
        return taken
    }

    /// Called with the lock held.
    private func wait(for count: Int, until end: timespec) {
        var end = end
        wanted = count
        while messages.count < count, pthread_cond_timedwait(arrived, lock, &end) == 0 {}
        wanted = 1
    }

    private static func moment(in seconds: Double) -> timespec {
        var moment = timespec()
        clock_gettime(CLOCK_MONOTONIC, &moment)
        // Bounded, so that a distant moment does not overflow; a longer wait ends early, without
        // messages.
        let nanoseconds = Int(min(max(seconds, 0), 86_400) * 1e9) + moment.tv_nsec
        moment.tv_sec += nanoseconds / 1_000_000_000
        moment.tv_nsec = nanoseconds % 1_000_000_000
        return moment
    }
}

/// The bounds of a gathering of messages: their number, and the time since the first.
package struct Gathering: Hashable, Sendable {
    package var count: Int
    package var seconds: Double

    package init(count: Int, seconds: Double) {
        self.count = count
        self.seconds = seconds
    }
}

/// Wakes one thread from another, where the thread must also wake up for a signal: poll(2) ends
/// when one is caught, and its timeout does not depend on the wall clock. Elsewhere a ``Mailbox``
/// serves.
package final class Doorbell: Sendable {
    private let event: Descriptor

    package init() throws(SystemFailure) {
        event = Descriptor(owning: try check(lh_eventfd(), "eventfd", ""))
    }

    package func ring() {
        lh_eventfd_raise(event.number)
    }

    /// Returns when it was rung, a signal was caught, or the time is over; check again in each
    /// case.
    package func wait(timeout seconds: Double) {
        var entry = pollfd(fd: event.number, events: Int16(POLLIN), revents: 0)
        guard poll(&entry, 1, Int32(min(seconds, 1e6) * 1000)) > 0 else { return }
        _ = lh_eventfd_take(event.number)
    }
}
