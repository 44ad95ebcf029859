import Foundation
import LonghaulCore
import Testing

@Suite struct RefreshTimingTests {
    /// Central Europe in 2026: an hour forward on 29 March at 01:00 UTC.
    private let berlin = LocalTime { $0.milliseconds >= 1_774_746_000_000 ? 7200 : 3600 }

    private func at(_ text: String) -> Timestamp {
        RFC3339.parse(text + ":00+01:00") ?? Timestamp(milliseconds: 0)
    }

    /// Observed from 1 March 2026 at midnight, used each day at 08:00.
    private func usedDaily(through last: Int) -> UsageHistogram {
        var usage = UsageHistogram(observedSince: at("2026-03-01T00:00"))
        for day in 1...last {
            usage.record(berlin.first(day: 20_512 + Int64(day), minute: 480), berlin)
        }
        return usage
    }

    private func timing(
        _ usage: UsageHistogram, due: String, lastRun: String?, now: String
    ) -> String {
        let timing = RefreshTiming.decide(
            due: at(due), lastRun: lastRun.map(at), usage: usage, now: at(now), berlin)
        let day = CivilTime(berlin.wall(timing.startsAt)).day
        let reason = timing.sentence(shown: berlin.clock).map { ": " + $0 } ?? ""
        return "\(day)T\(berlin.clock(timing.startsAt))\(reason)"
    }

    /// The host's last use was on 10 March at 08:00.
    @Test(arguments: [
        // Long before a use: held, however often it is asked, and started within the hour before.
        ("10T09:00", "10T08:50", "10T09:00", "11T07:30: its host is usually used at about 08:00"),
        ("10T09:00", "10T08:50", "10T23:59", "11T07:30: its host is usually used at about 08:00"),
        ("10T09:00", "10T08:50", "11T07:29", "11T07:30: its host is usually used at about 08:00"),
        ("10T09:00", "10T08:50", "11T07:35", "11T07:35: its host is usually used at about 08:00"),
        // Paced as asked there.
        ("11T07:50", "11T07:35", "11T07:36", "11T07:50: its host is usually used at about 08:00"),
        // The time has passed and the use has not come.
        ("11T08:50", "11T08:00", "11T09:00", "12T07:30: its host is usually used at about 08:00"),
        // Never longer than a day.
        ("10T07:00", "10T06:00", "10T09:00", "11T06:00: its host is not usually used before then"),
        ("10T07:00", "10T06:00", "11T06:00", "10T07:00"),
        // Due later than that by its own definition.
        ("13T12:00", "10T12:00", "10T12:01", "13T12:00"),
        // Unknown when it last ran.
        ("10T09:00", nil, "10T09:30", "11T07:30: its host is usually used at about 08:00"),
        ("10T06:30", nil, "10T09:30", "11T06:30: its host is not usually used before then"),
        // A clock that was set back: the last run lies ahead.
        ("15T09:00", "20T00:00", "16T09:00", "15T09:00"),
        ("10T09:00", "20T00:00", "10T09:30", "11T07:30: its host is usually used at about 08:00"),
        // Not used for ten days, and for two weeks.
        ("20T00:00", "19T23:45", "20T00:00", "20T23:45: its host is not usually used before then"),
        ("25T00:00", "24T23:45", "25T00:00", "25T23:45: its host has not been used since 08:00"),
    ])
    func table(due: String, lastRun: String?, now: String, expected: String) {
        let found = timing(
            usedDaily(through: 10), due: "2026-03-\(due)",
            lastRun: lastRun.map { "2026-03-\($0)" }, now: "2026-03-\(now)")
        #expect(found == expected)
    }

    @Test func whileNothingIsKnownItRunsAsAsked() {
        let usage = usedDaily(through: 6)
        #expect(
            timing(usage, due: "2026-03-07T12:00", lastRun: nil, now: "2026-03-07T12:00")
                == "7T12:00")
    }

    @Test func aUseBringsAForgottenHostBack() {
        var usage = usedDaily(through: 10)
        let now = "2026-03-28T12:00"
        usage.record(at(now), berlin)
        #expect(timing(usage, due: now, lastRun: "2026-03-28T11:50", now: now) == "28T12:00")
    }

    @Test func theTimeOfDayStaysWithSummerTime() {
        let usage = usedDaily(through: 28)
        // Written at +01:00: it is 13:00 and 07:30 on the wall.
        let timing = RefreshTiming.decide(
            due: at("2026-03-29T12:00"), lastRun: at("2026-03-29T11:00"), usage: usage,
            now: at("2026-03-29T12:00"), berlin)
        #expect(timing.startsAt == at("2026-03-30T06:30"))
        let before = RefreshTiming.decide(
            due: at("2026-03-28T12:00"), lastRun: at("2026-03-28T11:00"), usage: usage,
            now: at("2026-03-28T12:00"), berlin)
        #expect(before.startsAt == at("2026-03-29T06:30"))
    }

    @Test func aBurstCountsOnce() {
        var usage = UsageHistogram(observedSince: at("2026-03-01T00:00"))
        usage.record(at("2026-03-01T08:00"), berlin)
        let once = usage
        usage.record(at("2026-03-01T08:59"), berlin)
        #expect(usage == once)
        usage.record(at("2026-03-01T09:00"), berlin)
        #expect(usage != once && usage.lastUse == at("2026-03-01T09:00"))
    }

    @Test(arguments: [
        "1970-01-01T00:00", "2025-11-30T08:00", "2026-03-09T12:00", "2026-03-10T07:59",
        "2026-03-10T23:00", "2026-03-11T08:00", "2031-03-11T08:00", "9999-12-31T23:00",
    ])
    func aClockThatIsSetDoesNoHarm(now: String) {
        var usage = usedDaily(through: 10)
        let extremes = [Int64.min, 0, .max].map(Timestamp.init(milliseconds:))
        for moment in extremes + [at(now)] {
            usage.record(moment, berlin)
            #expect(usage.lastUse == moment && usage.observedSince <= moment)
            for asked in extremes + [at(now)] {
                let timing = RefreshTiming.decide(
                    due: asked, lastRun: moment, usage: usage, now: asked, berlin)
                #expect(timing.startsAt >= asked && timing.startsAt <= asked + 86_400)
            }
        }
        // It goes on learning.
        var day = berlin.day(of: at("2026-04-01T00:00"))
        usage.record(berlin.first(day: day, minute: 600), berlin)
        for _ in 1...10 {
            day += 1
            usage.record(berlin.first(day: day, minute: 600), berlin)
        }
        let noon = berlin.first(day: day, minute: 720)
        let timing = RefreshTiming.decide(
            due: noon, lastRun: noon, usage: usage, now: noon, berlin)
        #expect(timing.startsAt == berlin.first(day: day + 1, minute: 570))
    }

    @Test func itsTextIsBounded() throws {
        var usage = UsageHistogram(observedSince: at("2026-01-01T00:00"))
        for hour in 0..<60 * 24 {
            usage.record(at("2026-01-01T00:45") + Double(hour) * 3600, berlin)
        }
        let text = try JSONEncoder().encode(usage)
        #expect(text.count < 2048)
        #expect(try JSONDecoder().decode(UsageHistogram.self, from: text) == usage)
    }
}
