internal import Glibc

/// Messages from any thread for the one thread that waits for them.
package final class Mailbox<Message: Sendable>: @unchecked Sendable {
    // `messages` and `wanted` are only touched by who holds the lock.
    private var messages: [Message] = []
    /// From this many on, who waits is woken.
    private var wanted = 1
    private let lock: UnsafeMutablePointer<pthread_mutex_t>
    private let arrived: UnsafeMutablePointer<pthread_cond_t>

    package init() {
        lock = .allocate(capacity: 1)
        arrived = .allocate(capacity: 1)
        pthread_mutex_init(lock, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        // A wall clock that is set must not end or stretch a wait.
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

    /// All that has arrived, waiting for the first at most so many seconds; `nil` = as long as it
    /// takes.
    ///
    /// - Parameter gathering: After the first, more are awaited: one waking for many.
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

    /// With the lock held.
    private func wait(for count: Int, until end: timespec) {
        var end = end
        wanted = count
        while messages.count < count, pthread_cond_timedwait(arrived, lock, &end) == 0 {}
        wanted = 1
    }

    private static func moment(in seconds: Double) -> timespec {
        var moment = timespec()
        clock_gettime(CLOCK_MONOTONIC, &moment)
        // Bounded, so that a distant moment does not overflow; whoever waits longer looks again.
        let nanoseconds = Int(min(max(seconds, 0), 86_400) * 1e9) + moment.tv_nsec
        moment.tv_sec += nanoseconds / 1_000_000_000
        moment.tv_nsec = nanoseconds % 1_000_000_000
        return moment
    }
}

/// When a gathering of messages is over: so many are there, or so much time has passed since the
/// first was.
package struct Gathering: Hashable, Sendable {
    package var count: Int
    package var seconds: Double

    package init(count: Int, seconds: Double) {
        self.count = count
        self.seconds = seconds
    }
}
