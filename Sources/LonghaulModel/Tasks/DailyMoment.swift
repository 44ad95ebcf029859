/// Times of day in local time, on some days of the week: `02:30,14:30` on `Mon-Fri`.
///
/// A day whose clock leaves a time out, in spring, has it at the first later moment; one that
/// shows it twice, in autumn, has it the first time.
package struct DailyMoment: Hashable, Sendable {
    /// Minutes after midnight, 0…1439, in order; at least one.
    package let minutes: [Int]
    package var days: Weekdays
    /// The zone in which they are meant, see ``TimeWindows/timeZone``.
    package var timeZone: String?

    /// One for each quarter of an hour.
    private static let timesMaximum = 96

    package init(minutes: [Int], days: Weekdays = .all) {
        assert(!minutes.isEmpty, "a day has a time at least")
        self.minutes = Set(minutes).sorted()
        self.days = days
    }

    package init(minute: Int, days: Weekdays = .all) {
        self.init(minutes: [minute], days: days)
    }

    /// `HH:MM`, or several with commas between; `nil` for anything else.
    package init?(parsing text: some StringProtocol, days: Weekdays = .all) {
        var minutes: [Int] = []
        for item in text.split(separator: ",", omittingEmptySubsequences: false) {
            var reader = DigitReader(rest: Substring(item).utf8[...])
            guard let hour = reader.number(2), reader.consume(":"), let minute = reader.number(2),
                reader.rest.isEmpty, hour < 24, minute < 60, minutes.count < Self.timesMaximum
            else { return nil }
            minutes.append(hour * 60 + minute)
        }
        self.init(minutes: minutes, days: days)
    }

    /// The first of its moments that is later than `now`.
    package func next(after now: Timestamp, _ time: LocalTime) -> Timestamp {
        let time = time.inZone(timeZone)
        let days = LocalTime.week(around: time.day(of: now)).filter(days.contains(day:))
        let next = minutes.compactMap { minute in
            days.lazy.map { time.first(day: $0, minute: minute) }.first { $0 > now }
        }
        // Without one the rules of the zone contradict themselves.
        return next.min() ?? now + 86_400
    }

    /// `02:30,14:30`
    package var times: String { minutes.map(TimeWindow.text).joined(separator: ",") }
}

extension DailyMoment: CustomStringConvertible {
    /// `02:30`, `02:30,14:30 Mon-Fri`.
    package var description: String { times + (days == .all ? "" : " \(days)") }
}
