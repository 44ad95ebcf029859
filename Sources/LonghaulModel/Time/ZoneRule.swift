/// The words of a `TZ` variable: the offset of a zone, and when summer time begins and ends.
struct ZoneRule {
    /// Seconds ahead of UTC.
    let standard: Int
    /// `nil` = no daylight saving time.
    let summer: Summer?

    struct Summer {
        var offset: Int
        var begins: Day
        var ends: Day
    }

    /// A day of each year, and the seconds after its midnight.
    struct Day {
        enum Form {
            /// 1…365, the 29th of February never counted.
            case julian(Int)
            /// 0…365.
            case ordinal(Int)
            /// The month, the week (5 = the last) and the day of the week, 0 = Sunday.
            case month(Int, week: Int, day: Int)
        }

        var form: Form
        var seconds: Int
    }

    struct Change {
        /// Seconds since 1970.
        var moment: Int64
        var isSummer: Bool
    }

    init?(_ text: String) {
        var reader = ZoneRuleReader(rest: text.utf8[...])
        guard reader.name(), let west = reader.time(hours: 24) else { return nil }
        standard = -west
        if reader.rest.isEmpty {
            summer = nil
            return
        }
        guard reader.name() else { return nil }
        var offset = standard + 3600
        if let next = reader.rest.first, next != UInt8(ascii: ",") {
            guard let west = reader.time(hours: 24) else { return nil }
            offset = -west
        }
        // Without days the rules of the United States apply, as in glibc.
        if reader.rest.isEmpty { reader.rest = ",M3.2.0,M11.1.0".utf8[...] }
        guard reader.consume(","), let begins = reader.day(), reader.consume(","),
            let ends = reader.day(), reader.rest.isEmpty
        else { return nil }
        summer = Summer(offset: offset, begins: begins, ends: ends)
    }

    /// Both changes of a year; none without summer time.
    func changes(in year: Int) -> [Change] {
        guard let summer else { return [] }
        return [
            Change(moment: summer.begins.moment(in: year, offset: standard), isSummer: true),
            Change(moment: summer.ends.moment(in: year, offset: summer.offset), isSummer: false),
        ]
    }
}

extension ZoneRule.Day {
    /// - Parameter offset: The one in use until then.
    fileprivate func moment(in year: Int, offset: Int) -> Int64 {
        daysSinceEpoch(in: year) * 86_400 + Int64(seconds - offset)
    }

    private func daysSinceEpoch(in year: Int) -> Int64 {
        let newYear = CivilTime(year: year, month: 1, day: 1).daysSinceEpoch
        switch form {
        case .ordinal(let day): return newYear + Int64(day)
        case .julian(let day):
            let isAfterLeapDay = day >= 60 && CivilTime.days(inMonth: 2, of: year) == 29
            return newYear + Int64(day - 1 + (isAfterLeapDay ? 1 : 0))
        case .month(let month, let week, let day):
            let first = CivilTime(year: year, month: month, day: 1)
            var place = (day - first.weekday + 7) % 7 + (week - 1) * 7
            if place >= CivilTime.days(inMonth: month, of: year) { place -= 7 }
            return first.daysSinceEpoch + Int64(place)
        }
    }
}

/// The grammar of those words.
private struct ZoneRuleReader {
    var rest: Substring.UTF8View

    mutating func consume(_ mark: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: mark) else { return false }
        rest.removeFirst()
        return true
    }

    /// Three letters at least, or anything of letters, digits and signs in angle brackets.
    mutating func name() -> Bool {
        if consume("<") {
            let name = rest.prefix {
                $0.isASCIILetter || $0.isASCIIDigit || $0 == 0x2B || $0 == 0x2D
            }
            rest = rest.dropFirst(name.count)
            return name.count >= 3 && consume(">")
        }
        let name = rest.prefix(while: \.isASCIILetter)
        rest = rest.dropFirst(name.count)
        return name.count >= 3
    }

    /// `[+-]hh[:mm[:ss]]` in seconds.
    mutating func time(hours: Int) -> Int? {
        let isNegative = consume("-")
        if !isNegative { _ = consume("+") }
        guard let hour = number(atMost: hours) else { return nil }
        var seconds = hour * 3600
        for unit in [60, 1] where consume(":") {
            guard let number = number(atMost: 59) else { return nil }
            seconds += number * unit
        }
        return isNegative ? -seconds : seconds
    }

    mutating func day() -> ZoneRule.Day? {
        guard let form = form() else { return nil }
        if !consume("/") { return ZoneRule.Day(form: form, seconds: 7200) }
        // A week in both directions (RFC 9636 §3.3.2).
        return time(hours: 167).map { ZoneRule.Day(form: form, seconds: $0) }
    }

    private mutating func form() -> ZoneRule.Day.Form? {
        if consume("J") {
            return number(atMost: 365).flatMap { $0 < 1 ? nil : .julian($0) }
        }
        guard consume("M") else { return number(atMost: 365).map { .ordinal($0) } }
        guard let month = number(atMost: 12), month >= 1, consume("."),
            let week = number(atMost: 5), week >= 1, consume("."), let day = number(atMost: 6)
        else { return nil }
        return .month(month, week: week, day: day)
    }

    private mutating func number(atMost most: Int) -> Int? {
        let digits = rest.prefix(while: \.isASCIIDigit)
        guard (1...3).contains(digits.count), let value = Int(Substring(digits)), value <= most
        else { return nil }
        rest = rest.dropFirst(digits.count)
        return value
    }
}
