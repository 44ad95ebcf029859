import LonghaulCore
import Testing

/// Times that users and servers give are added as they come: nothing may trap.
@Suite struct TimestampTests {
    @Test(
        arguments: [
            (1.5, 1), (-1.5, -1), (0x1p63, .max), (9.3e18, .max), (1e300, .max), (.infinity, .max),
            (-0x1p63, .min), (-.infinity, .min), (.nan, 0),
        ] as [(Double, Int64)])
    func bounded(value: Double, whole: Int64) {
        #expect(Int64(bounding: value) == whole)
    }

    /// 292 years and more, on the clock of nanoseconds; the year 9999; a duration as it is typed.
    @Test(arguments: [9.3e9, 2.6e11, 107_000 * 86_400, 1e300, .infinity])
    func farAway(seconds: Double) {
        let now = Instant(nanoseconds: 1_000_000_000)
        #expect(now + seconds == Instant(nanoseconds: .max))
        #expect((now + seconds) - now > 9e9)
        #expect(now + -seconds < now)
        let wall = Timestamp(milliseconds: 1_700_000_000_000)
        #expect(wall + seconds > wall)
        #expect(wall - (wall + -seconds) > 9e9)
    }
}
