import LonghaulCore
import Testing

@Suite struct TimeWindowTests {
    /// Central Europe in 2026: an hour forward on 29 March at 01:00 UTC, back on 25 October.
    private let berlin = LocalTime { time in
        let (spring, autumn) = (at("2026-03-29T01:00:00Z"), at("2026-10-25T01:00:00Z"))
        return time >= spring && time < autumn ? 7200 : 3600
    }

    private static func at(_ text: String) -> Timestamp {
        RFC3339.parse(text) ?? Timestamp(milliseconds: 0)
    }

    private func phase(_ window: String, _ now: String) throws -> String {
        let phase = try #require(TimeWindow(parsing: window)).phase(at: Self.at(now), berlin)
        func short(_ time: Timestamp) -> String {
            let civil = CivilTime(time)
            func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
            return "\(civil.day)T\(two(civil.hour)):\(two(civil.minute))"
        }
        return (phase.isOpen ? "open " : "closed ") + short(phase.since) + " "
            + short(phase.until)
    }

    @Test(arguments: [
        // An ordinary day, an hour ahead of UTC.
        ("01:00-06:00", "2026-01-10T00:00:00Z", "open 10T00:00 10T05:00"),
        ("01:00-06:00", "2026-01-10T04:59:59Z", "open 10T00:00 10T05:00"),
        ("01:00-06:00", "2026-01-10T05:00:00Z", "closed 10T05:00 11T00:00"),
        ("01:00-06:00", "2026-01-09T23:59:59Z", "closed 9T05:00 10T00:00"),
        // Over midnight.
        ("22:00-06:00", "2026-01-10T21:00:00Z", "open 10T21:00 11T05:00"),
        ("22:00-06:00", "2026-01-11T00:30:00Z", "open 10T21:00 11T05:00"),
        ("22:00-06:00", "2026-01-11T05:00:00Z", "closed 11T05:00 11T21:00"),
        ("23:59-00:00", "2026-01-10T22:59:30Z", "open 10T22:59 10T23:00"),
        ("00:00-23:59", "2026-01-10T22:59:30Z", "closed 10T22:59 10T23:00"),
        // Spring: 02:00 becomes 03:00.
        ("01:00-06:00", "2026-03-29T00:30:00Z", "open 29T00:00 29T04:00"),
        ("02:30-04:00", "2026-03-29T01:10:00Z", "open 29T01:00 29T02:00"),
        ("02:00-03:00", "2026-03-29T01:00:00Z", "open 29T01:00 29T02:00"),
        ("02:15-02:45", "2026-03-29T01:29:00Z", "open 29T01:00 29T01:30"),
        ("02:15-02:45", "2026-03-29T01:30:00Z", "closed 29T01:30 30T00:15"),
        ("22:00-06:00", "2026-03-29T03:59:00Z", "open 28T21:00 29T04:00"),
        // Autumn: 03:00 becomes 02:00; the window opens once.
        ("01:00-06:00", "2026-10-25T04:59:00Z", "open 24T23:00 25T05:00"),
        ("02:15-02:45", "2026-10-25T00:20:00Z", "open 25T00:15 25T00:45"),
        ("02:15-02:45", "2026-10-25T01:20:00Z", "closed 25T00:45 26T01:15"),
    ])
    func phases(window: String, now: String, expected: String) throws {
        #expect(try phase(window, now) == expected)
    }

    @Test(arguments: [
        "", "1:00-2:00", "01:00", "01:00-", "24:00-01:00", "01:00-01:60", "01:00-01:00",
        "01:00-02:00 ", "01:00–02:00",
    ])
    func malformed(text: String) {
        #expect(TimeWindow(parsing: text) == nil)
    }

    @Test func textIsReadBack() {
        #expect(TimeWindow(parsing: "22:05-06:00")?.description == "22:05-06:00")
    }

    /// However the year goes, a window is open for its length each day, once, and what it says of
    /// its edges is so.
    @Test func aYear() throws {
        for text in ["02:30-03:30", "23:00-02:30", "00:00-00:01", "12:00-11:00"] {
            let window = try #require(TimeWindow(parsing: text))
            var now = Self.at("2026-01-01T00:30:00Z")
            var phase = window.phase(at: now, berlin)
            var openings = 0
            while now < Self.at("2027-01-01T00:00:00Z") {
                #expect(phase.until > now && phase.since <= now, "\(text)")
                let next = window.phase(at: phase.until, berlin)
                #expect(next.isOpen != phase.isOpen && next.since == phase.until, "\(text)")
                let before = window.phase(at: phase.until + -0.001, berlin)
                #expect(before == phase, "\(text)")
                if next.isOpen { openings += 1 }
                now = phase.until
                phase = next
            }
            #expect((364...366).contains(openings), "\(text)")
        }
    }
}
