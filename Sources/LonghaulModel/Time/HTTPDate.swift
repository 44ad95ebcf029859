/// Dates of HTTP header fields (RFC 9110 §5.6.7).
package enum HTTPDate {
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
    private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let longDays = [
        "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday",
    ]

    /// IMF-fixdate, `Sun, 06 Nov 1994 08:49:37 GMT`; fractions of a second are dropped.
    package static func format(_ time: Timestamp) -> String {
        let civil = CivilTime(time)
        let clock = "\(civil.hour.padded(2)):\(civil.minute.padded(2)):\(civil.second.padded(2))"
        let date = "\(civil.day.padded(2)) \(months[civil.month - 1]) \(civil.year.padded(4))"
        return "\(days[civil.weekday]), \(date) \(clock) GMT"
    }

    /// All three forms that a recipient must accept: IMF-fixdate, RFC 850 and asctime. The name of
    /// the day is checked for being one, not for being the right one.
    ///
    /// - Parameter now: Tells the century of RFC 850's two-digit years: one that would lie more
    ///   than 50 years ahead is in the past.
    package static func parse(_ text: String, now: Timestamp) -> Timestamp? {
        if let time = preferred(text) { return time }
        let words = text.split(separator: " ", omittingEmptySubsequences: true)
        guard let first = words.first else { return nil }
        let civil: CivilTime? =
            if first.hasSuffix(",") {
                words.count == 4
                    ? rfc850(words, now: now) : words.count == 6 ? fixdate(words) : nil
            } else {
                words.count == 5 ? asctime(words) : nil
            }
        guard let civil, civil.isValid else { return nil }
        return civil.timestamp
    }

    /// The usual form, read in place; any deviation is left to the other parsers.
    private static func preferred(_ text: String) -> Timestamp? {
        var text = text
        return text.withUTF8 { bytes -> Timestamp? in
            guard bytes.count == 29, bytes[3] == 0x2C, bytes[4] == 0x20, bytes[7] == 0x20,
                bytes[11] == 0x20, bytes[16] == 0x20, bytes[19] == 0x3A, bytes[22] == 0x3A,
                bytes[25] == 0x20, letters(bytes, 26) == zone,
                dayLetters.contains(letters(bytes, 0)),
                let month = monthLetters.firstIndex(of: letters(bytes, 8)),
                let day = number(bytes, 5..<7), let year = number(bytes, 12..<16),
                let hour = number(bytes, 17..<19), let minute = number(bytes, 20..<22),
                let second = number(bytes, 23..<25)
            else { return nil }
            var civil = CivilTime(year: year, month: month + 1, day: day)
            civil.hour = hour
            civil.minute = minute
            civil.second = second
            return civil.isValid ? civil.timestamp : nil
        }
    }

    // Names of three letters as one number each: every answer has two dates.
    private static let dayLetters = days.map(letters)
    private static let monthLetters = months.map(letters)
    private static let zone = letters("GMT")

    private static func letters(_ name: String) -> UInt32 {
        name.utf8.reduce(0) { $0 << 8 | UInt32($1) }
    }

    private static func letters(_ bytes: UnsafeBufferPointer<UInt8>, _ offset: Int) -> UInt32 {
        UInt32(bytes[offset]) << 16 | UInt32(bytes[offset + 1]) << 8 | UInt32(bytes[offset + 2])
    }

    private static func number(
        _ bytes: UnsafeBufferPointer<UInt8>, _ range: Range<Int>
    ) -> Int? {
        var value = 0
        for index in range {
            guard bytes[index].isASCIIDigit else { return nil }
            value = value * 10 + Int(bytes[index] - 0x30)
        }
        return value
    }

    /// `Sun, 06 Nov 1994 08:49:37 GMT`
    private static func fixdate(_ words: [Substring]) -> CivilTime? {
        guard days.contains(where: { $0 == words[0].dropLast() }), words[5] == "GMT",
            let day = number(words[1], digits: 2...2), let month = month(words[2]),
            let year = number(words[3], digits: 4...4)
        else { return nil }
        return clock(words[4], on: CivilTime(year: year, month: month, day: day))
    }

    /// `Sunday, 06-Nov-94 08:49:37 GMT`
    private static func rfc850(_ words: [Substring], now: Timestamp) -> CivilTime? {
        let date = words[1].split(separator: "-", omittingEmptySubsequences: false)
        guard longDays.contains(where: { $0 == words[0].dropLast() }), words[3] == "GMT",
            date.count == 3, let day = number(date[0], digits: 2...2), let month = month(date[1]),
            let short = number(date[2], digits: 2...2)
        else { return nil }
        let thisYear = CivilTime(now).year
        var year = thisYear - thisYear % 100 + short
        if year > thisYear + 50 { year -= 100 }
        return clock(words[2], on: CivilTime(year: year, month: month, day: day))
    }

    /// `Sun Nov  6 08:49:37 1994`
    private static func asctime(_ words: [Substring]) -> CivilTime? {
        guard days.contains(where: { $0 == words[0] }), let month = month(words[1]),
            let day = number(words[2], digits: 1...2), let year = number(words[4], digits: 4...4)
        else { return nil }
        return clock(words[3], on: CivilTime(year: year, month: month, day: day))
    }

    private static func clock(_ text: Substring, on date: CivilTime) -> CivilTime? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 3, let hour = number(parts[0], digits: 2...2),
            let minute = number(parts[1], digits: 2...2),
            let second = number(parts[2], digits: 2...2)
        else { return nil }
        var result = date
        result.hour = hour
        result.minute = minute
        result.second = second
        return result
    }

    private static func month(_ name: Substring) -> Int? {
        months.firstIndex { $0 == name }.map { $0 + 1 }
    }

    private static func number(_ text: Substring, digits: ClosedRange<Int>) -> Int? {
        guard digits.contains(text.utf8.count), let value = text.decimalValue else { return nil }
        return Int(value)
    }
}
