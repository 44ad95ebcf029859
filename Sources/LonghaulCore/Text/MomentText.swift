/// Moments as people type them: RFC 3339, `HH:MM` (its next occurrence in local time), `+2h30m`, `now`.
package enum MomentText {
    /// - Parameter secondsFromUTC: local time's offset at a moment; it differs across a change of the clocks.
    package static func parse(
        _ text: String, now: Timestamp, secondsFromUTC: (Timestamp) -> Int
    ) -> Timestamp? {
        if text == "now" { return now }
        if text.first == "+" {
            return DurationText.parse(String(text.dropFirst())).map { now + $0 }
        }
        if text.utf8.count == 5 { return clock(text, now: now, secondsFromUTC: secondsFromUTC) }
        return RFC3339.parse(text)
    }

    private static func clock(
        _ text: String, now: Timestamp, secondsFromUTC: (Timestamp) -> Int
    ) -> Timestamp? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].utf8.count == 2, let hour = parts[0].decimal,
            let minute = parts[1].decimal, hour < 24, minute < 60
        else { return nil }
        let offset = Double(secondsFromUTC(now))
        var local = CivilTime(now + offset)
        for day in 0..<3 {
            local.hour = hour
            local.minute = minute
            local.second = 0
            local.millisecond = 0
            let wall = local.timestamp + Double(day) * 86_400
            // The offset that holds then, not the one of today.
            let guess = wall + -offset
            let moment = wall + -Double(secondsFromUTC(guess))
            if moment > now { return moment }
        }
        return nil
    }
}

/// Times in text (RFC 3339, with a time zone).
package enum RFC3339 {
    /// UTC with milliseconds: `2026-11-21T01:02:03.004Z`.
    package static func format(_ time: Timestamp) -> String {
        let civil = CivilTime(time)
        func padded(_ value: Int, _ width: Int) -> String {
            let text = String(value)
            return String(repeating: "0", count: max(0, width - text.utf8.count)) + text
        }
        return "\(padded(civil.year, 4))-\(padded(civil.month, 2))-\(padded(civil.day, 2))T"
            + "\(padded(civil.hour, 2)):\(padded(civil.minute, 2)):\(padded(civil.second, 2))"
            + ".\(padded(civil.millisecond, 3))Z"
    }

    package static func parse(_ text: String) -> Timestamp? {
        let bytes = Array(text.utf8)
        guard bytes.count >= 20, bytes[4] == 0x2D, bytes[7] == 0x2D, bytes[13] == 0x3A,
            bytes[16] == 0x3A, [0x54, 0x74, 0x20].contains(bytes[10])
        else { return nil }
        func number(_ range: Range<Int>) -> Int? {
            Substring(decoding: bytes[range], as: UTF8.self).decimal
        }
        guard let year = number(0..<4), let month = number(5..<7), let day = number(8..<10),
            let hour = number(11..<13), let minute = number(14..<16), let second = number(17..<19),
            (1...12).contains(month), (1...31).contains(day), hour < 24, minute < 60, second <= 60
        else { return nil }
        var rest = Substring(decoding: bytes[19...], as: UTF8.self)
        var fraction = 0.0
        if rest.first == "." {
            let digits = rest.dropFirst().prefix { $0.isASCII && $0.isNumber }
            guard !digits.isEmpty, let value = Double("0." + digits) else { return nil }
            fraction = value
            rest = rest.dropFirst(1 + digits.count)
        }
        guard let offset = offset(rest) else { return nil }
        let civil = CivilTime(
            year: year, month: month, day: day, hour: hour, minute: minute, second: second)
        let timestamp = civil.timestamp
        // A 31 June would come back as another day.
        guard CivilTime(timestamp).day == day || second == 60 else { return nil }
        return timestamp + (fraction - Double(offset))
    }

    /// Seconds east of UTC.
    private static func offset(_ text: Substring) -> Int? {
        if text == "Z" || text == "z" { return 0 }
        let parts = text.dropFirst().split(separator: ":", omittingEmptySubsequences: false)
        guard let sign = text.first, sign == "+" || sign == "-", parts.count == 2,
            let hours = parts[0].decimal, let minutes = parts[1].decimal, parts[0].utf8.count == 2,
            parts[1].utf8.count == 2, hours < 24, minutes < 60
        else { return nil }
        return (hours * 3600 + minutes * 60) * (sign == "-" ? -1 : 1)
    }
}

extension StringProtocol {
    /// ASCII digits only: `Int` would take a sign.
    fileprivate var decimal: Int? {
        utf8.allSatisfy { $0 >= 0x30 && $0 <= 0x39 } ? Int(self) : nil
    }
}
