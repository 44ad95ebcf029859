internal import Glibc

/// State under a lock, with waiting for it to change: what `Mutex` has no word for.
final class Monitor<State>: @unchecked Sendable {
    // `state` is only touched by who holds the lock.
    private var state: State
    private let lock: UnsafeMutablePointer<pthread_mutex_t>
    private let changed: UnsafeMutablePointer<pthread_cond_t>

    init(_ state: sending State) {
        self.state = state
        lock = .allocate(capacity: 1)
        changed = .allocate(capacity: 1)
        pthread_mutex_init(lock, nil)
        pthread_cond_init(changed, nil)
    }

    deinit {
        pthread_cond_destroy(changed)
        pthread_mutex_destroy(lock)
        changed.deallocate()
        lock.deallocate()
    }

    /// Whoever waits looks at the state again afterwards.
    func change<Result>(_ body: (inout State) -> Result) -> Result {
        pthread_mutex_lock(lock)
        defer {
            pthread_cond_broadcast(changed)
            pthread_mutex_unlock(lock)
        }
        return body(&state)
    }

    /// Waits as long as `body` answers `nil`, without a bound: what it waits for must be sure to
    /// come.
    func wait<Result>(_ body: (inout State) -> Result?) -> Result {
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        while true {
            if let result = body(&state) { return result }
            pthread_cond_wait(changed, lock)
        }
    }

    /// ``wait(_:)`` for a body that changes what others wait for.
    func waitAndChange<Result>(_ body: (inout State) -> Result?) -> Result {
        wait { state in
            guard let result = body(&state) else { return nil }
            pthread_cond_broadcast(changed)
            return result
        }
    }
}
