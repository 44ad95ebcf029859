/// A time of day in local time, on some days of the week: `02:30` on `Mon-Fri`.
///
/// A day whose clock leaves the time out, in spring, has it at the first later moment; one that
/// shows it twice, in autumn, has it the first time.
package struct DailyMoment: Hashable, Sendable {
    /// Minutes after midnight, 0…1439.
    package var minute: Int
    package var days: Weekdays

    package init(minute: Int, days: Weekdays = .all) {
        self.minute = minute
        self.days = days
    }

    /// `HH:MM`; `nil` for anything else.
    package init?(parsing text: some StringProtocol, days: Weekdays = .all) {
        var reader = DigitReader(rest: Substring(text).utf8[...])
        guard let hour = reader.number(2), reader.consume(":"), let minute = reader.number(2),
            reader.rest.isEmpty, hour < 24, minute < 60
        else { return nil }
        self.init(minute: hour * 60 + minute, days: days)
    }

    /// The first of its moments that is later than `now`.
    package func next(after now: Timestamp, _ time: LocalTime) -> Timestamp {
        let today = time.day(of: now)
        for day in (today - 1)...(today + 8) where days.contains(day: day) {
            let moment = time.first(day: day, minute: minute)
            if moment > now { return moment }
        }
        preconditionFailure("a week has each day")
    }

    /// The last of its moments that is not later than `now`.
    package func last(upTo now: Timestamp, _ time: LocalTime) -> Timestamp {
        let today = time.day(of: now)
        for day in ((today - 8)...(today + 1)).reversed() where days.contains(day: day) {
            let moment = time.first(day: day, minute: minute)
            if moment <= now { return moment }
        }
        preconditionFailure("a week has each day")
    }
}

extension DailyMoment: CustomStringConvertible {
    /// `02:30`, `02:30 Mon-Fri`.
    package var description: String {
        TimeWindow.text(minute) + (days == .all ? "" : " \(days)")
    }
}
