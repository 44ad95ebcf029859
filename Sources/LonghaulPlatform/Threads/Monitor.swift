internal import Glibc

/// State under a lock, with condition variables, which `Mutex` does not offer.
///
/// Each kind of wait has its own condition, and a change signals only the conditions that it
/// concerns: a thread woken in vain costs two context switches.
final class Monitor<State>: @unchecked Sendable {
    // `lock` guards `state`.
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

    /// Waits as long as `body` returns `nil`, without a limit: the awaited change must be certain,
    /// and must signal the condition.
    func wait<Result>(on condition: Int, _ body: (inout State, Bell) -> Result?) -> Result {
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        while true {
            if let result = body(&state, bell) { return result }
            pthread_cond_wait(bell.conditions + condition, lock)
        }
    }

    /// Returns when the condition is signalled and `unless` is true, or when the time is over.
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
