/// When a host was used, by quarter hour of local time, over the last three weeks.
///
/// A day is expected to be like the same weekday of earlier weeks and like the days just before it.
/// Which of the two is believed more is learnt from how well each foretold the uses so far.
package struct UsageHistogram: Codable, Hashable, Sendable {
    /// When the observation began, or began anew with a use after a long time without.
    package private(set) var observedSince: Timestamp
    /// When the last burst of uses began.
    package private(set) var lastUse: Timestamp?
    /// The local date of `days[0]`, in days since 1970-01-01.
    private var today: Int64?
    /// Quarter hours with a use, 0…95 each, of today and the days before.
    private var days: [[UInt8]] = []
    /// How well earlier weeks and the last days foretell uses, 0…1.
    private var weekScore = 0.5
    private var dayScore = 0.5

    package init(observedSince: Timestamp) {
        self.observedSince = observedSince
    }

    /// Counts a use: the host attached, or was run by its user. A burst of uses within an hour
    /// counts once, so it may be told as often as it likes.
    package mutating func record(_ now: Timestamp, _ time: LocalTime) {
        if let lastUse, now >= lastUse, now - lastUse < Limits.usageBurstSeconds { return }
        if now - (lastUse ?? now) >= Limits.usageForgottenSeconds {
            self = UsageHistogram(observedSince: now)
        }
        // A clock that was set back.
        observedSince = min(observedSince, now)
        lastUse = now
        let (day, quarter) = QuarterHour(now, time).dayAndQuarter
        score(day, quarter, time)
        begin(day)
        if days[0].count < Limits.usesPerDay { days[0].append(UInt8(quarter)) }
    }

    /// The expected number of uses in each quarter hour from `first` on.
    func expected(from first: QuarterHour, count: Int, _ time: LocalTime) -> [Double] {
        var result = Array(repeating: 0.0, count: count)
        let start = first.dayAndQuarter.day
        let end = QuarterHour(number: first.number + Int64(count)).dayAndQuarter.day
        for day in start...end {
            let references = references(of: day, time)
            let total = references.reduce(0) { $0 + $1.weight }
            for reference in references {
                for quarter in uses(on: day - Int64(reference.age)) {
                    let index = day * 96 + Int64(quarter) - first.number
                    guard result.indices.contains(Int(index)) else { continue }
                    result[Int(index)] += reference.weight / total
                }
            }
        }
        return result
    }

    /// The days by which a day is judged.
    private func references(of day: Int64, _ time: LocalTime) -> [(age: Int, weight: Double)] {
        let known = day - time.day(of: observedSince)
        var result: [(age: Int, weight: Double)] = []
        var weight = weekScore * weekScore
        for age in stride(from: 7, through: Limits.usageDays, by: 7) where known > age {
            result.append((age, weight))
            weight *= Limits.usageWeekDecay
        }
        weight = dayScore * dayScore
        for age in 1...6 where known > age {
            result.append((age, weight))
            weight *= Limits.usageDayDecay
        }
        return result
    }

    private func uses(on day: Int64) -> [UInt8] {
        guard let today else { return [] }
        let age = today - day
        return days.indices.contains(Int(clamping: age)) ? days[Int(age)] : []
    }

    /// Opens the page of a day. A clock that was set back continues on the page that it finds.
    private mutating func begin(_ day: Int64) {
        let skipped = day - (today ?? day - 1)
        today = day
        guard skipped > 0 || days.isEmpty else { return }
        let empty = Array(
            repeating: [UInt8](), count: Int(min(skipped, Int64(Limits.usageDays + 1))))
        days = Array((empty + days).prefix(Limits.usageDays + 1))
    }

    /// Compares a use with what was to be expected of its quarter hour.
    private mutating func score(_ day: Int64, _ quarter: Int, _ time: LocalTime) {
        let known = day - time.day(of: observedSince)
        func share(_ ages: [Int], _ decay: Double) -> Double? {
            var (hits, total, weight) = (0.0, 0.0, 1.0)
            for age in ages where known > age {
                let uses = uses(on: day - Int64(age))
                if uses.contains(where: { abs(Int($0) - quarter) <= 2 }) { hits += weight }
                total += weight
                weight *= decay
            }
            return total > 0 ? hits / total : nil
        }
        if let hits = share([7, 14, 21], Limits.usageWeekDecay) {
            weekScore += (hits - weekScore) / 8
        }
        if let hits = share(Array(1...6), Limits.usageDayDecay) {
            dayScore += (hits - dayScore) / 8
        }
    }
}

/// A quarter of an hour as the clock on the wall shows it.
struct QuarterHour: Hashable {
    /// Counted from 1970-01-01, local.
    var number: Int64

    init(number: Int64) {
        self.number = number
    }

    init(_ now: Timestamp, _ time: LocalTime) {
        number = time.wall(now).milliseconds.flooredDivision(by: 900_000).quotient
    }

    var dayAndQuarter: (day: Int64, quarter: Int) {
        let (day, quarter) = number.flooredDivision(by: 96)
        return (day, Int(quarter))
    }

    /// Its first moment.
    func start(_ time: LocalTime) -> Timestamp {
        time.first(day: dayAndQuarter.day, minute: dayAndQuarter.quarter * 15)
    }
}
