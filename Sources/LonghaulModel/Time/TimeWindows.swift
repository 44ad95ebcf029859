/// Windows of one job.
private let windowsPerRequest = 50

/// Parts of the week in local time, at least one: `22:00-06:00`, `Mon-Fri 22:00-06:00;Sat,Sun`.
///
/// A window over midnight belongs to the day of its opening. Windows that overlap, or follow each
/// other without a gap, are one.
public struct TimeWindows: Hashable, Sendable {
    /// A window of some days of the week.
    private struct Part: Hashable {
        var days: Weekdays
        /// `nil` = all day.
        var window: TimeWindow?
    }

    private let parts: [Part]
    /// The zone of the times, as a `TZ` variable names it; `nil` = the machine's zone. A window
    /// that is recorded without one gets the process's zone, if it has one.
    public var timeZone: String?
    /// Seconds that each window opens later, see ``StartSpread``; for a window that is not twice as
    /// long, the remainder of the division by half its length.
    package var delay: Double = 0

    /// Reads windows with semicolons between: each is days, a time of day, or both with a space
    /// between. `nil` for anything else.
    public init?(parsing text: some StringProtocol) {
        var parts: [Part] = []
        for item in text.split(separator: ";", omittingEmptySubsequences: false) {
            let words = item.split(separator: " ")
            guard (1...2).contains(words.count), parts.count < windowsPerRequest else {
                return nil
            }
            let window = TimeWindow(parsing: words[words.count - 1])
            let days = Weekdays(parsing: words[0])
            // Two words are days and a time; a single one is either.
            guard words.count == 1 || window != nil && days != nil, window != nil || days != nil
            else { return nil }
            parts.append(Part(days: days ?? .all, window: window))
        }
        self.parts = parts
    }

    /// Reads ``stored``.
    package init?(stored text: String) {
        let mark = text.utf8.firstIndex(of: UInt8(ascii: "@"))
        let halves = text[..<(mark ?? text.endIndex)].split(
            separator: "+", omittingEmptySubsequences: false)
        guard (1...2).contains(halves.count) else { return nil }
        self.init(parsing: halves[0])
        timeZone = mark.map { String(text[text.utf8.index(after: $0)...]) }
        if halves.count == 1 { return }
        guard let seconds = Int(halves[1]), seconds >= 0 else { return nil }
        delay = Double(seconds)
    }

    /// The text with the delay and the zone: `22:00-06:00+1080@Europe/Berlin`.
    package var stored: String {
        let delayed = delay == 0 ? description : "\(description)+\(Int(delay))"
        return delayed + (timeZone.map { "@\($0)" } ?? "")
    }

    /// The relation to the present moment. Windows that are always open close at the next check,
    /// some days from now.
    package func phase(at now: Timestamp, _ time: LocalTime) -> TimeWindow.Phase {
        let time = time.inZone(timeZone)
        let today = time.day(of: now)
        var closed: Timestamp?
        for (first, closes) in occurrences(in: LocalTime.week(around: today), time) {
            let opens = first + delay.truncatingRemainder(dividingBy: (closes - first) / 2)
            if now < opens {
                return TimeWindow.Phase(
                    isOpen: false, since: closed ?? opens + -86_400, until: opens)
            }
            if now < closes {
                return TimeWindow.Phase(isOpen: true, since: opens, until: closes)
            }
            closed = closes
        }
        // The rules of the zone contradict themselves.
        return TimeWindow.Phase(isOpen: false, since: now, until: now + 86_400)
    }

    /// The windows of these days (counted from 1970-01-01, local) in order; adjacent ones are
    /// joined.
    private func occurrences(
        in days: ClosedRange<Int64>, _ time: LocalTime
    ) -> [(opens: Timestamp, closes: Timestamp)] {
        var all: [(opens: Timestamp, closes: Timestamp)] = []
        for part in parts {
            for day in days where part.days.contains(day: day) {
                if let window = part.window {
                    all.append(window.occurrence(on: day, time))
                } else {
                    all.append(
                        (time.first(day: day, minute: 0), time.first(day: day + 1, minute: 0)))
                }
            }
        }
        all.sort { $0.opens < $1.opens }
        var merged: [(opens: Timestamp, closes: Timestamp)] = []
        for next in all {
            if let last = merged.last, next.opens <= last.closes {
                merged[merged.count - 1].closes = max(last.closes, next.closes)
            } else {
                merged.append(next)
            }
        }
        return merged
    }
}

extension TimeWindows: CustomStringConvertible {
    /// The text that ``init(parsing:)`` reads.
    public var description: String {
        parts.map { part in
            guard let window = part.window else { return "\(part.days)" }
            return part.days == .all ? "\(window)" : "\(part.days) \(window)"
        }.joined(separator: ";")
    }
}
