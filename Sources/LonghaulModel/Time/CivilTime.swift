/// Date and time of day in UTC, by arithmetic alone (proleptic Gregorian calendar, no leap seconds:
/// POSIX time).
package struct CivilTime: Hashable, Sendable {
    package var year: Int
    /// 1…12
    package var month: Int
    /// 1…31
    package var day: Int
    package var hour = 0
    package var minute = 0
    package var second = 0
    package var millisecond = 0

    package init(
        year: Int, month: Int, day: Int, hour: Int = 0, minute: Int = 0, second: Int = 0,
        millisecond: Int = 0
    ) {
        self.year = year
        self.month = month
        self.day = day
        self.hour = hour
        self.minute = minute
        self.second = second
        self.millisecond = millisecond
    }

    package init(_ time: Timestamp) {
        let (days, inDay) = time.milliseconds.flooredDivision(by: 86_400_000)
        self.init(daysSinceEpoch: days)
        hour = Int(inDay / 3_600_000)
        minute = Int(inDay / 60_000 % 60)
        second = Int(inDay / 1000 % 60)
        millisecond = Int(inDay % 1000)
    }

    /// The years are shifted to begin in March, so that the leap day is the last of its year and
    /// the months' lengths follow (153 m + 2) / 5.
    private init(daysSinceEpoch: Int64) {
        let (era, dayOfEra) = (daysSinceEpoch + 719_468).flooredDivision(by: 146_097)
        let yearOfEra =
            (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shifted = (5 * dayOfYear + 2) / 153
        day = Int(dayOfYear - (153 * shifted + 2) / 5) + 1
        month = Int(shifted < 10 ? shifted + 3 : shifted - 9)
        year = Int(yearOfEra + era * 400) + (month <= 2 ? 1 : 0)
        assert((1...12).contains(month) && (1...31).contains(day), "a day of the calendar")
    }

    package var daysSinceEpoch: Int64 {
        let shiftedYear = Int64(month <= 2 ? year - 1 : year)
        let (era, yearOfEra) = shiftedYear.flooredDivision(by: 400)
        let shiftedMonth = Int64(month > 2 ? month - 3 : month + 9)
        let dayOfYear = (153 * shiftedMonth + 2) / 5 + Int64(day) - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    package var timestamp: Timestamp {
        let seconds = Int64(hour * 3600 + minute * 60 + second)
        return Timestamp(
            milliseconds: daysSinceEpoch * 86_400_000 + seconds * 1000 + Int64(millisecond))
    }

    /// 0 = Sunday.
    package var weekday: Int { Int((daysSinceEpoch + 4).flooredDivision(by: 7).remainder) }

    /// True if there is such a date and such a time of day. Second 60 counts: clocks that know leap
    /// seconds send it.
    package var isValid: Bool {
        guard (1...12).contains(month), (0...23).contains(hour), (0...59).contains(minute),
            (0...60).contains(second), (0...999).contains(millisecond), (0...9999).contains(year)
        else { return false }
        return (1...CivilTime.days(inMonth: month, of: year)).contains(day)
    }

    package static func days(inMonth month: Int, of year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}

extension Int64 {
    /// Rounded towards minus infinity, so that times before 1970 work.
    func flooredDivision(by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}

extension Int {
    /// Writes the number with leading zeros.
    func padded(_ width: Int) -> String {
        let digits = String(self)
        return String(repeating: "0", count: Swift.max(0, width - digits.utf8.count)) + digits
    }
}
