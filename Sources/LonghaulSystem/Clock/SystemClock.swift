internal import CLonghaul
package import LonghaulCore

/// The two clocks of the machine. Only the engine's turn and the commands read them; everything
/// else is told the time.
package enum SystemClock {
    /// The monotonic half goes on while the machine sleeps (CLOCK_BOOTTIME): a stall or a box of
    /// time ends after a suspend as it would have without.
    package static func now() -> Moment {
        Moment(
            wall: Timestamp(milliseconds: lh_clock_realtime_milliseconds()),
            monotonic: Instant(nanoseconds: lh_clock_boottime()))
    }
}
