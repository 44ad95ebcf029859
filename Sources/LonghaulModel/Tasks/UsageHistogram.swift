/// When a host was used: the quarter hours of local time with a use, of today and three weeks
/// before.
///
/// A day is expected to be like the same weekday of earlier weeks and like the days just before it.
/// Which of the two counts more is taken from how alike such days have been.
package struct UsageHistogram: Codable, Hashable, Sendable {
    /// When the observation began, or began again with a use after a long time without.
    package private(set) var observedSince: Timestamp
    /// When the last burst of uses began.
    package private(set) var lastUse: Timestamp?
    /// The local date of `days[0]`, in days since 1970-01-01.
    private var today: Int64?
    /// Quarter hours with a use, 0…95 each, of today and the days before.
    private var days: [[UInt8]] = []

    package init(observedSince: Timestamp) {
        self.observedSince = observedSince
    }

    /// Counts a use: the host attached, or was run by its user. A burst of uses within an hour
    /// counts once, so a use that lasts may be recorded again and again. Nothing changes then.
    package mutating func record(_ now: Timestamp, _ time: LocalTime) {
        if let lastUse {
            if now >= lastUse, now - lastUse < Limits.usageBurstSeconds { return }
            if now - lastUse >= Limits.usageForgottenSeconds { self = Self(observedSince: now) }
        }
        // A clock that was set back.
        observedSince = min(observedSince, now)
        lastUse = now
        let (day, quarter) = QuarterHour(now, time).dayAndQuarter
        beginPage(day)
        if days[0].count < Limits.usesPerDay { days[0].append(UInt8(quarter)) }
    }

    /// After a clock was set back, the day continues on the page that is open.
    private mutating func beginPage(_ day: Int64) {
        let passed = today.map { day.subtractingClamped($0) } ?? 1
        today = day
        guard passed > 0 || days.isEmpty else { return }
        let pages = Limits.usageDays + 1
        let empty = Array(repeating: [UInt8](), count: Int(max(1, min(passed, Int64(pages)))))
        days = Array((empty + days).prefix(pages))
    }

    private func uses(on day: Int64) -> [UInt8] {
        guard let today, day <= today, today - day < days.count else { return [] }
        return days[Int(today - day)]
    }

    /// The expected number of uses in each of `count` quarter hours from `first` on, at most a day.
    func expected(from first: QuarterHour, count: Int, _ time: LocalTime) -> [Double] {
        let (day, passed) = first.dayAndQuarter
        let begun = time.day(of: observedSince)
        let week = similarity(of: day, to: 7, begun: begun)
        let near = similarity(of: day, to: 1, begun: begun)
        var expected = Array(repeating: 0.0, count: passed + count)
        for target in day...QuarterHour(number: first.number + Int64(count)).dayAndQuarter.day {
            var likeness: [(day: Int64, weight: Double)] = []
            for age in 1...Limits.usageDays where target - Int64(age) > begun {
                let weight =
                    age % 7 == 0
                    ? week * Limits.usageWeekDecay.power(age / 7)
                    : age < 7 ? near * Limits.usageDayDecay.power(age - 1) : 0
                likeness.append((target - Int64(age), weight))
            }
            let total = likeness.reduce(0) { $0 + $1.weight }
            for (earlier, weight) in likeness where weight > 0 {
                for quarter in uses(on: earlier) {
                    let index = Int(target - day) * 96 + Int(quarter)
                    if index < expected.count { expected[index] += weight / total }
                }
            }
        }
        // Without its first uses, the others of a day are less likely, too.
        let missed = expected[..<passed].reduce(0, +) + Limits.usagePrior
        let share = min(1, (Double(uses(on: day).count) + Limits.usagePrior) / missed)
        for index in passed..<max(passed, min(96, expected.count)) { expected[index] *= share }
        return Array(expected[passed...])
    }

    /// How alike the days before `day` and those `distance` days earlier were, above 0 to 1: the
    /// part of their uses that have one of the other at about the same time.
    private func similarity(of day: Int64, to distance: Int, begun: Int64) -> Double {
        var (matches, uses) = (1, 1)
        for age in 1...Limits.usageDays - distance {
            let later = day - Int64(age)
            let earlier = later - Int64(distance)
            guard earlier > begun else { break }
            let (left, right) = (self.uses(on: later), self.uses(on: earlier))
            uses += max(left.count, right.count)
            matches += left.count { use in
                right.contains { abs(Int($0) - Int(use)) <= Limits.usageMatchQuarters }
            }
        }
        return (Double(matches) / Double(uses)).power(Limits.usageSimilarityPower)
    }
}

extension Double {
    fileprivate func power(_ exponent: Int) -> Double {
        (0..<exponent).reduce(1) { result, _ in result * self }
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

    /// The first moment of the slot.
    func start(_ time: LocalTime) -> Timestamp {
        time.first(day: dayAndQuarter.day, minute: dayAndQuarter.quarter * 15)
    }
}
