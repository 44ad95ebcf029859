/// Times as text (RFC 3339).
package enum RFC3339 {
    /// Writes a moment in UTC with milliseconds: `2030-01-31T22:00:00.000Z`.
    package static func format(_ time: Timestamp) -> String {
        let civil = CivilTime(time)
        let date = "\(civil.year.padded(4))-\(civil.month.padded(2))-\(civil.day.padded(2))"
        let clock = "\(civil.hour.padded(2)):\(civil.minute.padded(2)):\(civil.second.padded(2))"
        return "\(date)T\(clock).\(civil.millisecond.padded(3))Z"
    }

    /// Reads a moment with `Z` or an offset; any number of digits after the second, cut to
    /// milliseconds; a space may stand for the T. The moment in UTC, too, is in the years 0 to
    /// 9999.
    package static func parse(_ text: some StringProtocol) -> Timestamp? {
        var reader = DigitReader(rest: Substring(text).utf8[...])
        guard let year = reader.number(4), reader.consume("-"), let month = reader.number(2),
            reader.consume("-"), let day = reader.number(2),
            reader.consume("T") || reader.consume("t") || reader.consume(" "),
            let hour = reader.number(2), reader.consume(":"), let minute = reader.number(2),
            reader.consume(":"), let second = reader.number(2)
        else { return nil }
        var civil = CivilTime(
            year: year, month: month, day: day, hour: hour, minute: minute, second: second)
        if reader.consume(".") {
            guard let milliseconds = reader.fraction() else { return nil }
            civil.millisecond = milliseconds
        }
        guard let offset = reader.offset(), reader.rest.isEmpty, civil.isValid else { return nil }
        let time = Timestamp(
            milliseconds: civil.timestamp.milliseconds - Int64(offset) * 60_000)
        // An offset may lead beyond the years that can be written.
        return (0...9999).contains(CivilTime(time).year) ? time : nil
    }
}

/// Takes a text apart from the left, by numbers of fixed width.
struct DigitReader {
    var rest: Substring.UTF8View

    mutating func consume(_ character: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: character) else { return false }
        rest.removeFirst()
        return true
    }

    mutating func number(_ width: Int) -> Int? {
        let digits = rest.prefix(width)
        guard digits.count == width, digits.allSatisfy({ $0.isASCIIDigit }) else { return nil }
        rest = rest.dropFirst(width)
        return digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    }

    /// Thousandths.
    mutating func fraction() -> Int? {
        let digits = rest.prefix { $0.isASCIIDigit }
        guard !digits.isEmpty else { return nil }
        rest = rest.dropFirst(digits.count)
        var value = 0
        var width = 0
        for digit in digits.prefix(3) {
            value = value * 10 + Int(digit - UInt8(ascii: "0"))
            width += 1
        }
        while width < 3 {
            value *= 10
            width += 1
        }
        return value
    }

    /// Minutes ahead of UTC.
    mutating func offset() -> Int? {
        if consume("Z") || consume("z") { return 0 }
        let sign: Int
        if consume("+") {
            sign = 1
        } else if consume("-") {
            sign = -1
        } else {
            return nil
        }
        guard let hours = number(2), consume(":"), let minutes = number(2), hours < 24, minutes < 60
        else { return nil }
        return sign * (hours * 60 + minutes)
    }
}
