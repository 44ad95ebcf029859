internal import Glibc
package import LonghaulCore

/// The machine's time zone: `TZ`, else /etc/localtime.
package enum LocalClock {
    /// How far local time is ahead of UTC at a moment.
    package static func secondsFromUTC(_ time: Timestamp) -> Int {
        // localtime_r(3) alone need not notice that the zone was changed.
        tzset()
        var seconds = time_t(time.milliseconds.quotientAndRemainder(dividingBy: 1000).quotient)
        var parts = tm()
        return localtime_r(&seconds, &parts) == nil ? 0 : parts.tm_gmtoff
    }
}
