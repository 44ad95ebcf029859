package import LonghaulCore
internal import LonghaulPlatform

/// The machine's time zone, for who shows moments to people.
package enum LocalZone {
    /// How far local time is ahead of UTC at a moment.
    package static func secondsFromUTC(_ time: Timestamp) -> Int {
        LocalClock.secondsFromUTC(time)
    }
}
