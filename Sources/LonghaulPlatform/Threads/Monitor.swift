internal import Glibc

/// State under a lock, with waiting for it to change: what `Mutex` has no word for.
///
/// Each kind of wait has a condition of its own, and who changes the state rings for those whom it
/// concerns: a thread that is woken for nothing costs two changes of context.
final class Monitor<State>: @unchecked Sendable {
    // `state` is only touched by who holds the lock.
    private var state: State
    private let lock: UnsafeMutablePointer<pthread_mutex_t>
    private let bell: Bell
    private let conditionCount: Int

    struct Bell {
        fileprivate let conditions: UnsafeMutablePointer<pthread_cond_t>

        func wakeOne(on condition: Int) { pthread_cond_signal(conditions + condition) }
        func wakeAll(on condition: Int) { pthread_cond_broadcast(conditions + condition) }
    }

    init(_ state: sending State, conditions count: Int) {
        self.state = state
        conditionCount = count
        lock = .allocate(capacity: 1)
        bell = Bell(conditions: .allocate(capacity: count))
        pthread_mutex_init(lock, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        for condition in 0..<count { pthread_cond_init(bell.conditions + condition, &attributes) }
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        for condition in 0..<conditionCount { pthread_cond_destroy(bell.conditions + condition) }
        pthread_mutex_destroy(lock)
        bell.conditions.deallocate()
        lock.deallocate()
    }

    func change<Result>(_ body: (inout State, Bell) -> Result) -> Result {
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        return body(&state, bell)
    }

    /// Waits as long as `body` answers `nil`, without a bound: what it waits for must be sure to
    /// come, and ring for it.
    func wait<Result>(on condition: Int, _ body: (inout State, Bell) -> Result?) -> Result {
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        while true {
            if let result = body(&state, bell) { return result }
            pthread_cond_wait(bell.conditions + condition, lock)
        }
    }

    /// Returns when it is rung for, or the time is over.
    func pause(on condition: Int, milliseconds: Int, unless: (State) -> Bool) {
        var end = timespec()
        clock_gettime(CLOCK_MONOTONIC, &end)
        let nanoseconds = end.tv_nsec + milliseconds % 1000 * 1_000_000
        end.tv_sec += milliseconds / 1000 + nanoseconds / 1_000_000_000
        end.tv_nsec = nanoseconds % 1_000_000_000
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        while !unless(state), pthread_cond_timedwait(bell.conditions + condition, lock, &end) == 0 {
        }
    }
}
