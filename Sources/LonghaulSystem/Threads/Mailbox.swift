internal import Glibc

/// Messages from any thread for the one thread that waits for them.
package final class Mailbox<Message: Sendable>: @unchecked Sendable {
    // `messages` is only touched by who holds the lock.
    private var messages: [Message] = []
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
        pthread_cond_signal(arrived)
        pthread_mutex_unlock(lock)
    }

    /// All that has arrived, waiting for the first at most so many seconds; `nil` = as long as it
    /// takes.
    package func take(within seconds: Double?) -> [Message] {
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        if let seconds {
            var until = timespec()
            clock_gettime(CLOCK_MONOTONIC, &until)
            // Bounded, so that a distant moment does not overflow; whoever waits longer looks
            // again.
            let nanoseconds = Int(min(max(seconds, 0), 86_400) * 1e9) + until.tv_nsec
            until.tv_sec += nanoseconds / 1_000_000_000
            until.tv_nsec = nanoseconds % 1_000_000_000
            while messages.isEmpty, pthread_cond_timedwait(arrived, lock, &until) == 0 {}
        } else {
            while messages.isEmpty { pthread_cond_wait(arrived, lock) }
        }
        let taken = messages
        messages.removeAll(keepingCapacity: true)
        return taken
    }
}
