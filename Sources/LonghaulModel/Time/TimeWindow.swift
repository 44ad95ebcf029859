/// A part of each day, in local time: `01:00-06:00`, or over midnight `22:00-06:00`.
///
/// It opens at the first moment of a day when the clock shows its start or a later time, and closes
/// at the first moment with its end or a later time. So an hour repeated in autumn opens it once,
/// and one skipped in spring shortens it; if nothing would be left of it, it opens after the gap
/// for its usual length.
public struct TimeWindow: Hashable, Sendable {
    /// Minutes after midnight, 0…1439.
    public let start: Int
    /// Minutes after midnight, 0…1439; at most `start` = of the next day.
    public let end: Int

    /// `nil` when there are no such times, or both are the same.
    public init?(start: Int, end: Int) {
        guard (0..<1440).contains(start), (0..<1440).contains(end), start != end else { return nil }
        self.start = start
        self.end = end
    }

    /// `HH:MM-HH:MM`; `nil` for anything else.
    public init?(parsing text: some StringProtocol) {
        var reader = DigitReader(rest: Substring(text).utf8[...])
        guard let startHour = reader.number(2), reader.consume(":"),
            let startMinute = reader.number(2), reader.consume("-"),
            let endHour = reader.number(2), reader.consume(":"), let endMinute = reader.number(2),
            reader.rest.isEmpty, startHour < 24, endHour < 24, startMinute < 60, endMinute < 60
        else { return nil }
        self.init(start: startHour * 60 + startMinute, end: endHour * 60 + endMinute)
    }

    /// The relation of a clock to the present moment.
    package struct Phase: Hashable, Sendable {
        package var isOpen: Bool
        /// When it last opened or closed.
        package var since: Timestamp
        /// When it closes or opens next.
        package var until: Timestamp
    }

    package func phase(at now: Timestamp, _ time: LocalTime) -> Phase {
        let today = time.day(of: now)
        var closed: Timestamp?
        for day in LocalTime.week(around: today) {
            let (opens, closes) = occurrence(on: day, time)
            if now < opens {
                return Phase(isOpen: false, since: closed ?? opens + -86_400, until: opens)
            }
            if now < closes { return Phase(isOpen: true, since: opens, until: closes) }
            closed = closes
        }
        // The rules of the zone contradict themselves.
        return Phase(isOpen: false, since: now, until: now + 86_400)
    }

    /// The one that opens on a day (counted from 1970-01-01, local).
    func occurrence(
        on day: Int64, _ time: LocalTime
    ) -> (opens: Timestamp, closes: Timestamp) {
        let opens = time.first(day: day, minute: start)
        let closes = time.first(day: end > start ? day : day + 1, minute: end)
        if closes > opens { return (opens, closes) }
        return (opens, opens + Double((end - start + 1440) % 1440) * 60)
    }
}

extension TimeWindow: CustomStringConvertible {
    /// `HH:MM-HH:MM`, as ``init(parsing:)`` reads it.
    public var description: String { "\(TimeWindow.text(start))-\(TimeWindow.text(end))" }

    package static func text(_ minute: Int) -> String {
        "\((minute / 60).padded(2)):\((minute % 60).padded(2))"
    }
}

/// The rules of a time zone, handed in: this module asks nothing of the machine.
package struct LocalTime: Sendable {
    /// How far local time is ahead of UTC at a moment.
    package var secondsFromUTC: @Sendable (Timestamp) -> Int
    /// The rules of zones by the words of a `TZ` variable, `nil` = the machine's own zone. Without
    /// an answer these rules serve.
    private let zones: @Sendable (String?) -> (@Sendable (Timestamp) -> Int)?
    /// Another number whenever the rules of a zone have changed.
    package let changes: @Sendable () -> Int

    package init(
        secondsFromUTC: @escaping @Sendable (Timestamp) -> Int,
        zones: @escaping @Sendable (String?) -> (@Sendable (Timestamp) -> Int)? = { _ in nil },
        changes: @escaping @Sendable () -> Int = { 0 }
    ) {
        self.secondsFromUTC = secondsFromUTC
        self.zones = zones
        self.changes = changes
    }

    /// The rules of the zone that times of day refer to.
    ///
    /// - Parameter words: `nil` = the machine's zone.
    package func inZone(_ words: String?) -> LocalTime {
        guard let rules = zones(words) else { return self }
        return LocalTime(secondsFromUTC: rules, zones: zones, changes: changes)
    }

    package static let utc = LocalTime { _ in 0 }

    /// The time that the clock on the wall shows, as if it were UTC.
    package func wall(_ time: Timestamp) -> Timestamp {
        time + Double(secondsFromUTC(time))
    }

    /// The local date, in days since 1970-01-01.
    package func day(of time: Timestamp) -> Int64 {
        wall(time).milliseconds.flooredDivision(by: 86_400_000).quotient
    }

    /// Days around any day, including a Monday (and any other weekday) before and after each moment
    /// of it, also in a zone that moves its clocks by two days (``ZoneRules/offsetMaximum`` in both
    /// directions).
    static func week(around day: Int64) -> ClosedRange<Int64> { (day - 11)...(day + 11) }

    /// `HH:MM`
    package func clock(_ time: Timestamp) -> String {
        let minutes = wall(time).milliseconds.flooredDivision(by: 86_400_000).remainder / 60_000
        return TimeWindow.text(Int(minutes))
    }

    /// The first moment of a day when the clock shows this time or a later one.
    package func first(day: Int64, minute: Int) -> Timestamp {
        let shown = Timestamp(milliseconds: day * 86_400_000 + Int64(minute) * 60_000)
        // Offsets before and after enclose any change in between: none has more than 26 hours.
        let before = secondsFromUTC(shown + -2 * 86_400)
        let after = secondsFromUTC(shown + 2 * 86_400)
        if before == after { return shown + -Double(before) }
        let guesses = [max(before, after), min(before, after)].map { shown + -Double($0) }
        if let exact = guesses.first(where: { wall($0) == shown }) { return exact }
        return firstAfterGap(guesses[0], guesses[1], shown)
    }

    /// The moment of a change forward, between two moments that enclose it.
    private func firstAfterGap(
        _ low: Timestamp, _ high: Timestamp, _ shown: Timestamp
    ) -> Timestamp {
        let change = (low.milliseconds..<high.milliseconds).firstPast {
            wall(Timestamp(milliseconds: $0)) < shown
        }
        return Timestamp(milliseconds: change)
    }
}
