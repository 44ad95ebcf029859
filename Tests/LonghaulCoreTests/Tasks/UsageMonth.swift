import LonghaulCore

/// How people use a host, and a month of it: the uses, and what refreshes come of them.
struct UsagePattern: Sendable, CustomStringConvertible {
    var name: String
    /// The part of the refreshes that has to land in the hour before a use.
    var leastShare: Double
    /// The days after which it is not used any more.
    var goneAfter: Int?
    /// Minutes after midnight of a day; the day of the month from 0, the weekday from 0 = Sunday.
    var uses: @Sendable (_ day: Int, _ weekday: Int) -> [Int]

    var description: String { name }

    static let daily = UsagePattern(name: "morning, noon, evening", leastShare: 0.7) {
        $1 == 0 || $1 == 6 ? [570, 780, 1200] : [450, 735, 1140]
    }
    static let weekends = UsagePattern(name: "weekends", leastShare: 0.7) {
        $1 == 0 || $1 == 6 ? [540, 690, 870, 1080, 1290] : []
    }
    /// Early, late and night shifts of a week each.
    static let shifts = UsagePattern(name: "shift work", leastShare: 0.5) {
        $1 == 0 || $1 == 6 ? [] : [[315, 885], [690, 1365], [480, 1170]][($0 / 7) % 3]
    }
    static let abandoned = UsagePattern(name: "abandoned", leastShare: 0, goneAfter: 7) {
        $0 < 7 ? daily.uses($0, $1) : []
    }
    static let all = [daily, weekends, shifts, abandoned]
}

/// A week and a month of a host and one refresh of it.
struct UsageMonth {
    static let days = 35
    /// The first week is for learning.
    static let counted = 7
    /// Monday, 2026-03-09, 00:00 in Berlin. Summer time begins on the 21st day.
    static let start = Timestamp(milliseconds: 1_773_010_800_000)
    static let time = LocalTime { $0.milliseconds >= 1_774_746_000_000 ? 7200 : 3600 }
    static let interval = 900.0
    static let missedDays = 0.1

    /// The first of each burst.
    private(set) var uses: [Timestamp] = []
    private(set) var launches: [Timestamp] = []
    private(set) var usage = UsageHistogram(observedSince: start)
    let end: Timestamp

    /// - Parameter repeats: On a grid of the interval; otherwise submitted anew after each run.
    init(_ pattern: UsagePattern, repeats: Bool, seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let firstDay = Self.time.day(of: Self.start)
        var records: [Timestamp] = []
        for day in 0..<Self.days where Double.random(in: 0..<1, using: &random) >= Self.missedDays {
            for minute in pattern.uses(day, (day + 1) % 7) {
                let jitter = Double.random(in: -1200...1200, using: &random)
                let use = Self.time.first(day: firstDay + Int64(day), minute: minute) + jitter
                uses.append(use)
                records += [use, use + 300, use + 1500]
            }
        }
        end = Self.time.first(day: firstDay + Int64(Self.days), minute: 0)
        let phase = Double.random(in: 0..<Self.interval / 2, using: &random)
        live(records[...], phase: phase, repeats: repeats)
    }

    private mutating func live(_ records: ArraySlice<Timestamp>, phase: Double, repeats: Bool) {
        var records = records
        var now = Self.start
        var due = now
        while now < end {
            while let use = records.first, use <= now {
                usage.record(use, Self.time)
                records.removeFirst()
            }
            let timing = RefreshTiming.decide(
                due: due, lastRun: launches.last, usage: usage, now: now, Self.time)
            if max(due, timing.startsAt) > now {
                now = min(max(due, timing.startsAt), records.first ?? end)
                continue
            }
            launches.append(now)
            let passed = now - Self.start + Self.interval / 2 - phase
            due =
                repeats
                ? Self.start + ((passed / Self.interval).rounded(.up) * Self.interval + phase)
                : now + Self.interval
        }
    }

    private var countedFrom: Timestamp { Self.start + Double(Self.counted) * 86_400 }

    /// Launches from a day on, each day.
    func launchesPerDay(from day: Int = counted) -> Double {
        let first = Self.start + Double(day) * 86_400
        return Double(launches.count { $0 >= first }) / ((end - first) / 86_400)
    }

    /// The part of the counted launches that have a use within the hour after them.
    var share: Double { share(of: launches.filter { $0 >= countedFrom }) }

    /// The same for as many launches that are evenly spread.
    var uniformShare: Double {
        let count = launches.count { $0 >= countedFrom }
        let step = (end - countedFrom) / Double(count)
        return share(of: (0..<count).map { countedFrom + Double($0) * step })
    }

    private func share(of launches: [Timestamp]) -> Double {
        let hits = launches.count { launch in
            uses.contains { $0 > launch && $0 - launch <= 3600 }
        }
        return Double(hits) / Double(max(1, launches.count))
    }

    /// The part of the counted uses with a refresh in the hour before.
    var served: Double {
        let counted = uses.filter { $0 >= countedFrom }
        let served = counted.count { use in
            launches.contains { use > $0 && use - $0 <= 3600 }
        }
        return Double(served) / Double(max(1, counted.count))
    }

    var longestGap: Double {
        zip(launches, launches.dropFirst() + [end]).map { $1 - $0 }.max() ?? .infinity
    }
}
