import Foundation
import Testing

@testable import LonghaulCore
@testable import LonghaulModel

/// How far zones are ahead of UTC, by the words of TZ and by the files of the zone database.
@Suite struct ZoneRulesTests {
    private func moment(_ text: String) throws -> Timestamp { try #require(RFC3339.parse(text)) }

    @Test(arguments: [
        ("EST5EDT,M3.2.0,M11.1.0", "2026-03-08T06:59:59Z", -18_000),
        ("EST5EDT,M3.2.0,M11.1.0", "2026-03-08T07:00:00Z", -14_400),
        ("EST5EDT,M3.2.0,M11.1.0", "2026-11-01T05:59:59Z", -14_400),
        ("EST5EDT,M3.2.0,M11.1.0", "2026-11-01T06:00:00Z", -18_000),
        ("EST5EDT", "2026-07-01T00:00:00Z", -14_400),
        ("CET-1CEST,M3.5.0,M10.5.0/3", "2026-03-29T00:59:59Z", 3600),
        ("CET-1CEST,M3.5.0,M10.5.0/3", "2026-03-29T01:00:00Z", 7200),
        ("CET-1CEST,M3.5.0,M10.5.0/3", "2026-10-25T01:00:00Z", 3600),
        // Half hours, names that are none, the south, days by number, night of another day.
        ("IST-5:30", "2026-01-01T00:00:00Z", 19_800),
        ("<+0545>-5:45", "2026-01-01T00:00:00Z", 20_700),
        ("<-03>3", "2026-01-01T00:00:00Z", -10_800), ("UTC0", "2026-01-01T00:00:00Z", 0),
        (
            "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", "2026-01-01T00:00:00Z", 39_600
        ),
        ("<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", "2026-07-01T00:00:00Z", 37_800),
        ("XXX3YYY,J60,J300", "2028-03-01T05:00:00Z", -7200),
        ("XXX3YYY,J60,J300", "2028-02-29T23:59:59Z", -10_800),
        ("XXX3YYY,59,299", "2028-02-29T05:00:00Z", -7200),
        ("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2026-03-29T01:00:00Z", -3600),
        // Summer time all year.
        ("XXX3EDT4,0/0,J365/23", "2026-01-01T04:00:00Z", -14_400),
        ("XXX3EDT4,0/0,J365/23", "2026-12-31T23:30:00Z", -14_400),
    ])
    func words(_ words: String, _ at: String, _ seconds: Int) throws {
        let rules = try #require(ZoneRules(posix: words))
        #expect(rules.secondsFromUTC(try moment(at)) == seconds)
    }

    @Test(arguments: [
        "", "E5", "EST", "EST5EDT,M13.1.0,M11.1.0", "EST5EDT,M3.2.7,M11.1.0", "EST25",
        "EST5EDT,M3.2.0", "EST5 ", "Mars/Phobos", "EST5EDT,J0,J300", "<+03-3", "EST5:60",
    ])
    func noWords(_ words: String) {
        #expect(ZoneRules(posix: words) == nil)
    }

    @Test(arguments: [
        ("America/New_York", "2026-07-01T12:00:00Z", -14_400),
        ("America/New_York", "2026-12-01T12:00:00Z", -18_000),
        ("America/New_York", "2050-07-01T12:00:00Z", -14_400),
        ("Asia/Kolkata", "2026-07-01T12:00:00Z", 19_800),
        ("Australia/Lord_Howe", "2026-01-01T12:00:00Z", 39_600),
        ("Australia/Lord_Howe", "2026-07-01T12:00:00Z", 37_800),
        ("Pacific/Chatham", "2040-01-01T12:00:00Z", 49_500),
        ("Europe/Dublin", "2026-07-01T12:00:00Z", 3600),
        ("Etc/UTC", "2026-07-01T12:00:00Z", 0),
    ])
    func files(_ name: String, _ at: String, _ seconds: Int) throws {
        guard let file = FileManager.default.contents(atPath: "/usr/share/zoneinfo/\(name)") else {
            return
        }
        let rules = try #require(ZoneRules(file: Array(file)))
        #expect(rules.secondsFromUTC(try moment(at)) == seconds)
        for count in [0, 20, 43, 44, 60, file.count / 2] {
            #expect(ZoneRules(file: Array(file.prefix(count))) == nil, "\(count)")
        }
        // Whatever is in it, nothing traps.
        var random = SeededRandom(seed: UInt64(file.count))
        for _ in 0..<300 {
            var damaged = Array(file)
            damaged[Int.random(in: 4..<damaged.count, using: &random)] = .random(
                in: 0...255, using: &random)
            _ = ZoneRules(file: damaged)?.secondsFromUTC(Timestamp(milliseconds: 0))
        }
    }

    /// What is meant in a zone is meant there, whatever the zone of the engine.
    @Test func timesOfDayAreThoseOfTheirZone() throws {
        let york = try #require(ZoneRules(posix: "EST5EDT,M3.2.0,M11.1.0"))
        let ofYork: @Sendable (Timestamp) -> Int = { york.secondsFromUTC($0) }
        let time = LocalTime(
            secondsFromUTC: { _ in 7200 }, zones: { $0 == "york" ? ofYork : nil })
        var daily = try #require(DailyMoment(parsing: "08:00"))
        var windows = try #require(TimeWindows(parsing: "08:00-09:00"))
        let winter = try moment("2026-12-01T00:00:00Z")
        #expect(daily.next(after: winter, time) == (try moment("2026-12-01T06:00:00Z")))
        daily.timeZone = "york"
        windows.timeZone = "york"
        #expect(daily.next(after: winter, time) == (try moment("2026-12-01T13:00:00Z")))
        #expect(windows.phase(at: winter, time).until == (try moment("2026-12-01T13:00:00Z")))
        let summer = try moment("2026-07-01T13:30:00Z")
        #expect(daily.next(after: summer, time) == (try moment("2026-07-02T12:00:00Z")))
        #expect(TimeWindows(stored: windows.stored) == windows)
        windows.delay = 60
        #expect(windows.stored == "08:00-09:00+60@york")
        #expect(TimeWindows(stored: windows.stored) == windows)
    }
}
