import LonghaulCore
import Testing

/// Days of the week as they are typed, and on the calendar.
@Suite struct WeekdaysTests {
    @Test(arguments: [
        ("Mon-Fri", "Mon-Fri"), ("sat,sun", "Sat,Sun"), ("Mon,Wed-Fri", "Mon,Wed-Fri"),
        ("Sat-Mon", "Mon,Sat,Sun"), ("Sun", "Sun"), ("Mon-Sun", "Mon-Sun"), ("Tue,Mon", "Mon,Tue"),
    ])
    func areReadAndWritten(_ text: String, _ shown: String) throws {
        let days = try #require(Weekdays(parsing: text))
        #expect(days.description == shown)
        #expect(Weekdays(parsing: shown) == days)
        #expect(Weekdays(storedBits: days.bits) == days)
    }

    @Test(arguments: ["", "Monday", "Mon-", "-Fri", "Mon--Fri", "Mon,", "Mon-Wed-Fri", "1-5"])
    func otherTextIsRefused(_ text: String) {
        #expect(Weekdays(parsing: text) == nil)
    }

    /// 1970-01-01 was a Thursday, and 2026-11-26 is one.
    @Test func areThoseOfTheCalendar() throws {
        let thursday = try #require(Weekdays(parsing: "Thu"))
        #expect(thursday.contains(day: 0) && !thursday.contains(day: 1))
        #expect(thursday.contains(day: -7) && !thursday.contains(day: -1))
        let day = CivilTime(year: 2026, month: 11, day: 26).daysSinceEpoch
        #expect(thursday.contains(day: day) && Weekdays.all.contains(day: day + 3))
    }
}
