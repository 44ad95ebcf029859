import Longhaul
import LonghaulPlatform

/// Moments as people read them: in local time, and how far away.
struct TimeText: Sendable {
    var now: Timestamp
    /// Offset of local time from UTC at that moment.
    var secondsFromUTC: @Sendable (Timestamp) -> Int

    static func current() -> TimeText {
        TimeText(now: SystemClock.now().wall, secondsFromUTC: LocalClock.secondsFromUTC)
    }

    /// `2026-03-01 15:04:05`
    func full(_ time: Timestamp) -> String {
        let local = civil(time)
        return "\(local.year)-\(Units.twoDigits(local.month))-\(Units.twoDigits(local.day)) "
            + clock(local) + ":" + Units.twoDigits(local.second)
    }

    /// `15:04` within a day, else `2026-03-01 15:04`.
    func short(_ time: Timestamp) -> String {
        let local = civil(time)
        if abs(time - now) < 20 * 3600 { return clock(local) }
        return "\(local.year)-\(Units.twoDigits(local.month))-\(Units.twoDigits(local.day)) "
            + clock(local)
    }

    /// `in 2m10s`, `3h05m ago`, `now`
    func distance(_ time: Timestamp) -> String {
        let seconds = time - now
        if abs(seconds) < 0.5 { return "now" }
        return seconds > 0 ? "in " + Units.duration(seconds) : Units.duration(-seconds) + " ago"
    }

    private func civil(_ time: Timestamp) -> CivilTime {
        CivilTime(time + Double(secondsFromUTC(time)))
    }

    private func clock(_ time: CivilTime) -> String {
        Units.twoDigits(time.hour) + ":" + Units.twoDigits(time.minute)
    }
}

/// A rate limit of all transfers together, in words.
enum LimitText {
    static func line(_ limit: RateOverride, _ time: TimeText) -> String {
        let rate = limit.bytesPerSecond.map { Units.rate(Double($0)) } ?? "off"
        let end = limit.until.map { " until \(time.short($0)) (\(time.distance($0)))" } ?? ""
        return "\(rate)\(end), all transfers together; set by `longhaul limit`"
    }

    static func configured(_ rate: Int64?) -> String {
        guard let rate else { return "none" }
        return Units.rate(Double(rate)) + ", all transfers together; from the configuration file"
    }
}
