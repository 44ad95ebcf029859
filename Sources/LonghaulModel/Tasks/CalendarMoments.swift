/// Moments of a calendar as systemd.time(7) writes them: `Mon *-*-01..07 03:00`, `monthly`,
/// `*:0/15`. Seconds are whole.
///
/// A day whose clock leaves a time out, in spring, has it at the first later moment; one that
/// shows it twice, in autumn, has it the first time.
package struct CalendarMoments: Hashable, Sendable {
    /// The words, with one space between them.
    private let text: String
    /// The zone among the words; `nil` = they name none.
    package private(set) var zone: String?
    /// The zone where the words name none, see ``TimeWindows/timeZone``.
    package var timeZone: String?
    private var weekdays = Weekdays.all
    private var years = Set(Self.years)
    private var months = Set(Self.months)
    private var days = Set(Self.days)
    /// Days are counted from the end of the month: 1 is the last one.
    private var isFromEnd = false
    /// Minutes after midnight, in order.
    private var minutes = [0]
    /// Seconds of such a minute, in order.
    private var seconds = [0]

    private static let textBytes = 200
    // The bounds of systemd.
    private static let years = 1970...2199
    private static let months = 1...12
    private static let days = 1...31

    private static let forms = [
        "minutely": "*:*", "hourly": "*:00", "daily": "00:00", "weekly": "mon 00:00",
        "monthly": "*-*-01", "quarterly": "*-01,04,07,10-01", "semiannually": "*-01,07-01",
        "semi-annually": "*-01,07-01", "biannually": "*-01,07-01", "yearly": "*-01-01",
        "annually": "*-01-01",
    ]

    /// `nil` for words that have no such form. Whether there is the zone is not checked.
    package init?(parsing text: String) {
        if text.utf8.count > Self.textBytes { return nil }
        var words = text.split(separator: " ")
        self.text = words.joined(separator: " ")
        if words.count > 1, let last = words.last, Self.beginsWithLetter(last) {
            zone = last.lowercased() == "utc" ? "UTC" : String(last)
            words.removeLast()
        }
        if words.count == 1, let form = Self.forms[words[0].lowercased()] {
            words = form.split(separator: " ")
        }
        if words.isEmpty { return nil }
        if Self.beginsWithLetter(words[0]) {
            guard let days = Self.weekdays(words.removeFirst()) else { return nil }
            weekdays = days
        }
        if let date = words.first, !date.contains(":") {
            guard readDate(date) else { return nil }
            words.removeFirst()
        }
        if let time = words.first {
            guard readTime(time) else { return nil }
            words.removeFirst()
        }
        if !words.isEmpty { return nil }
    }

    private static func beginsWithLetter(_ word: Substring) -> Bool {
        word.utf8.first.map { UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 | 0x20 } ?? false
    }

    /// `Mon..Fri`, `Monday,Sat`.
    private static func weekdays(_ text: Substring) -> Weekdays? {
        let names = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
        var words: [String] = []
        for item in text.lowercased().split(separator: ",", omittingEmptySubsequences: false) {
            let ends =
                item.contains("..") ? item.split(separator: "..") : item.split(separator: "-")
            words.append(
                ends.map { names.contains(String($0)) ? $0.prefix(3) : $0 }
                    .joined(separator: "-"))
        }
        return Weekdays(parsing: words.joined(separator: ","))
    }

    /// `YEAR-MONTH-DAY`, `MONTH-DAY`; with `~` in place of the last `-`, the day counts from the
    /// end of the month.
    private mutating func readDate(_ text: Substring) -> Bool {
        let ends = text.split(separator: "~", omittingEmptySubsequences: false)
        isFromEnd = ends.count > 1
        var parts = ends[0].split(separator: "-", omittingEmptySubsequences: false)
        if isFromEnd { parts.append(ends[1]) }
        guard ends.count <= 2, (2...3).contains(parts.count),
            let days = Self.list(parts.removeLast(), in: Self.days, isDescending: isFromEnd),
            let months = Self.list(parts.removeLast(), in: Self.months)
        else { return false }
        self.days = days
        self.months = months
        guard let year = parts.first else { return true }
        guard let years = Self.list(year, in: Self.years) else { return false }
        self.years = years
        return true
    }

    /// `HOUR:MINUTE`, `HOUR:MINUTE:SECOND`.
    private mutating func readTime(_ text: Substring) -> Bool {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard (2...3).contains(parts.count), let hours = Self.list(parts[0], in: 0...23),
            let minutes = Self.list(parts[1], in: 0...59),
            let seconds = parts.count == 2 ? [0] : Self.list(parts[2], in: 0...59)
        else { return false }
        self.minutes = hours.flatMap { hour in minutes.map { hour * 60 + $0 } }.sorted()
        self.seconds = seconds.sorted()
        return true
    }

    /// `*`, or numbers and ranges with commas between: `1,5..9`, `0/15`, `8..18/2`.
    ///
    /// - Parameter isDescending: A step without an end leads to the lower bound.
    private static func list(
        _ text: Substring, in bounds: ClosedRange<Int>, isDescending: Bool = false
    ) -> Set<Int>? {
        if text == "*" { return Set(bounds) }
        var found: Set<Int> = []
        for item in text.split(separator: ",", omittingEmptySubsequences: false) {
            let steps = item.split(separator: "/", omittingEmptySubsequences: false)
            let ends = steps[0].split(separator: "..", omittingEmptySubsequences: false)
            guard steps.count <= 2, ends.count <= 2, let first = number(ends[0], in: bounds),
                let last = ends.count > 1 ? number(ends[1], in: bounds) : first, first <= last
            else { return nil }
            if steps.count == 1 {
                found.formUnion(first...last)
                continue
            }
            guard let step = number(steps[1], in: 1...bounds.count) else { return nil }
            if isDescending {
                let lowest = ends.count > 1 ? first : bounds.lowerBound
                found.formUnion(stride(from: last, through: lowest, by: -step))
            } else {
                let highest = ends.count > 1 ? last : bounds.upperBound
                found.formUnion(stride(from: first, through: highest, by: step))
            }
        }
        return found
    }

    /// Digits; a year may have two of them, as in systemd.
    private static func number(_ text: Substring, in bounds: ClosedRange<Int>) -> Int? {
        let isDigits = text.utf8.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
        guard isDigits, text.utf8.count <= 4, var number = Int(text) else { return nil }
        if bounds == years, number < 100 { number += number < 70 ? 2000 : 1900 }
        return bounds.contains(number) ? number : nil
    }

    // MARK: - Moments

    /// The first of its moments that is later than `now`; `nil` = there is none.
    package func next(after now: Timestamp, _ time: LocalTime) -> Timestamp? {
        let time = time.inZone(zone ?? timeZone)
        // A time that the clock leaves out may come days later, see LocalTime.week.
        let earliest = time.day(of: now) - 5
        let begin = CivilTime(Timestamp(milliseconds: earliest * 86_400_000))
        for year in max(begin.year, Self.years.lowerBound)...max(begin.year, Self.years.upperBound)
        where years.contains(year) {
            for month in Self.months where months.contains(month) {
                if year == begin.year, month < begin.month { continue }
                let length = CivilTime.days(inMonth: month, of: year)
                let before = CivilTime(year: year, month: month, day: 1).daysSinceEpoch - 1
                for number in 1...length
                where days.contains(isFromEnd ? length + 1 - number : number) {
                    let day = before + Int64(number)
                    guard day >= earliest, weekdays.contains(day: day) else { continue }
                    if let moment = first(on: day, after: now, time) { return moment }
                }
            }
        }
        return nil
    }

    private func first(on day: Int64, after now: Timestamp, _ time: LocalTime) -> Timestamp? {
        let last = Double(seconds[seconds.count - 1])
        let index = (0..<minutes.count).firstPast {
            time.first(day: day, minute: minutes[$0]) + last <= now
        }
        if index == minutes.count { return nil }
        let minute = time.first(day: day, minute: minutes[index])
        return seconds.lazy.map { minute + Double($0) }.first { $0 > now }
    }
}

extension CalendarMoments: CustomStringConvertible {
    /// The text that ``init(parsing:)`` reads.
    package var description: String { text }
}
