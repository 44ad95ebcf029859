/// Moments as typed: RFC 3339; in local time `HH:MM` (its next occurrence), `YYYY-MM-DD` and
/// `tomorrow`, each with ` HH:MM` or at midnight; `+2h30m`; `now`.
package enum MomentText {
    /// - Parameter secondsFromUTC: How far local time is ahead of UTC at a moment.
    package static func parse(
        _ text: some StringProtocol, now: Timestamp, secondsFromUTC: (Timestamp) -> Int
    ) -> Timestamp? {
        if text == "now" { return now }
        if text.utf8.first == UInt8(ascii: "+") {
            return DurationText.parse(String(text.dropFirst())).map { now + $0 }
        }
        var reader = DigitReader(rest: Substring(text).utf8[...])
        if text.utf8.count == 5, let hour = reader.number(2), reader.consume(":"),
            let minute = reader.number(2)
        {
            guard hour < 24, minute < 60 else { return nil }
            return next(hour: hour, minute: minute, now: now, secondsFromUTC: secondsFromUTC)
        }
        return RFC3339.parse(text) ?? day(text, now: now, secondsFromUTC: secondsFromUTC)
    }

    private static func day(
        _ text: some StringProtocol, now: Timestamp, secondsFromUTC: (Timestamp) -> Int
    ) -> Timestamp? {
        let words = text.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
        let clock = words.count > 1 ? String(words[1]) : "00:00"
        var date = String(words[0])
        if date == "tomorrow" {
            let local = now + Double(secondsFromUTC(now)) + 86_400
            date = String(RFC3339.format(local).prefix(10))
        }
        guard date.utf8.count == 10, clock.utf8.count == 5 else { return nil }
        return RFC3339.parse("\(date)T\(clock):00Z").map {
            instant(ofLocal: $0, secondsFromUTC: secondsFromUTC)
        }
    }

    /// The first moment from now on when a wall clock shows that time. An hour skipped in spring is
    /// taken as the moment without the change; of an hour repeated in autumn, the earlier one
    /// counts.
    private static func next(
        hour: Int, minute: Int, now: Timestamp, secondsFromUTC: (Timestamp) -> Int
    ) -> Timestamp {
        let localNow = now + Double(secondsFromUTC(now))
        var today = CivilTime(localNow)
        (today.hour, today.minute, today.second, today.millisecond) = (hour, minute, 0, 0)
        var candidate = now
        for day in 0...2 {
            let local = today.timestamp + Double(day) * 86_400
            candidate = instant(ofLocal: local, secondsFromUTC: secondsFromUTC)
            if candidate >= now { return candidate }
        }
        return candidate
    }

    /// Offsets before and after enclose any change in between, see
    /// ``LocalTime/first(day:minute:)``.
    private static func instant(
        ofLocal local: Timestamp, secondsFromUTC: (Timestamp) -> Int
    ) -> Timestamp {
        let before = Double(secondsFromUTC(local + -2 * 86_400))
        let after = Double(secondsFromUTC(local + 2 * 86_400))
        let fits = [before, after].map { local + -$0 }.sorted().first { guess in
            guess + Double(secondsFromUTC(guess)) == local
        }
        return fits ?? local + -before
    }
}

/// Durations as typed: `90s`, `15m`, `2h`, `7d`, and put together `2h30m`; `250ms` too.
package enum DurationText {
    /// Seconds; `nil` for anything else, a bare number included: its unit is unknown.
    package static func parse(_ text: String) -> Double? {
        var rest = Substring(text)
        var seconds = 0.0
        var last = Double.infinity
        if rest.isEmpty { return nil }
        while !rest.isEmpty {
            let digits = rest.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
            guard let number = Double(digits), digits.first != ".", digits.last != "."
            else { return nil }
            rest = rest.dropFirst(digits.count)
            let name = rest.prefix { $0.isASCII && $0.isLetter }
            guard let unit = unit(name), unit < last else { return nil }
            last = unit
            seconds += number * unit
            rest = rest.dropFirst(name.count)
        }
        // A thousand years is as good as for ever, and cannot overflow a timestamp.
        return seconds <= 3.2e10 ? seconds : nil
    }

    private static func unit(_ name: Substring) -> Double? {
        switch name {
        case "d": 86_400
        case "h": 3600
        case "m": 60
        case "s": 1
        case "ms": 0.001
        default: nil
        }
    }
}
