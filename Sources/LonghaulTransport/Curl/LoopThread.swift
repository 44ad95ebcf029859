internal import CLonghaul
internal import Glibc
internal import LonghaulModel

/// A thread that blocks all signals, so that it handles none meant for the program. This also turns
/// SIGPIPE (TLS writes, which `CURLOPT_NOSIGNAL` leaves unguarded) and SIGXFSZ into plain errors.
/// It has its own locale: libcurl's libidn2 reads names by the thread's locale, and the program's
/// may be C.
struct LoopThread: @unchecked Sendable {
    private let thread: pthread_t

    /// - Parameter isBackground: At low processor and disk priority, as are the threads that look
    ///   up names for it.
    init(
        name: String, isBackground: Bool = false, _ body: @escaping @Sendable () -> Void
    ) throws(LonghaulError) {
        let box = Box(name: name, isBackground: isBackground, body)
        let context = Unmanaged.passRetained(box).toOpaque()
        var blocked = sigset_t()
        var previous = sigset_t()
        sigfillset(&blocked)
        pthread_sigmask(SIG_SETMASK, &blocked, &previous)
        var thread = pthread_t()
        let failure = pthread_create(
            &thread, nil,
            { context in
                guard let context else { return nil }
                let box = Unmanaged<Box>.fromOpaque(context).takeRetainedValue()
                lh_name_thread(box.name)
                if box.isBackground {
                    lh_processor_priority_low()
                    lh_disk_priority(1)
                }
                let locale = lh_locale_use_utf8()
                box.body()
                lh_locale_leave(locale)
                return nil
            }, context)
        pthread_sigmask(SIG_SETMASK, &previous, nil)
        guard failure == 0 else {
            Unmanaged<Box>.fromOpaque(context).release()
            throw LonghaulError(.internal, "no thread for transfers (errno \(failure))")
        }
        self.thread = thread
    }

    var isCurrent: Bool { pthread_equal(thread, pthread_self()) != 0 }

    func join() {
        pthread_join(thread, nil)
    }

    /// Waits for the thread's end. If the thread has only sessions to close, where libcurl waits
    /// without a limit, it is left after half a second.
    func join(orLeaveOnceDone isDone: () -> Bool) {
        while !lh_join_within(thread, 500) {
            if isDone() {
                pthread_detach(thread)
                return
            }
        }
    }

    private final class Box: Sendable {
        let name: String
        let isBackground: Bool
        let body: @Sendable () -> Void

        init(name: String, isBackground: Bool, _ body: @escaping @Sendable () -> Void) {
            self.name = name
            self.isBackground = isBackground
            self.body = body
        }
    }
}

/// The clocks of the loop. Time in suspend does not count: a server must not be found stalled
/// because the machine slept.
enum TransportClock {
    static func monotonic() -> Int64 { nanoseconds(CLOCK_MONOTONIC) }

    /// Time that the machine has slept since its boot, at a moment of ``monotonic()``.
    static func asleep(at now: Int64) -> Int64 { nanoseconds(CLOCK_BOOTTIME) - now }

    private static func nanoseconds(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    static func wall() -> Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(
            milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }
}
