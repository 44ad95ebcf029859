internal import Glibc
internal import LonghaulCore

/// The clocks of the loop. Time in suspend does not count: a server must not be found stalled
/// because the machine slept.
enum TransportClock {
    static func monotonic() -> Int64 { nanoseconds(CLOCK_MONOTONIC) }

    /// How long the machine has slept since it was started, at a moment of ``monotonic()``.
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
