import LonghaulCore
import LonghaulTestValues
import Testing

/// Jobs by a calendar: where the clock is changed, what ends, what is missed.
@Suite struct CalendarMomentsTests {
    /// Of Berlin.
    private static let berlin = LocalTime { moment in
        let autumn = CivilTime(year: 2026, month: 10, day: 25, hour: 1).timestamp
        let spring = CivilTime(year: 2027, month: 3, day: 28, hour: 1).timestamp
        return moment < autumn || moment >= spring ? 7200 : 3600
    }

    private func moment(_ text: String) throws -> Timestamp { try #require(RFC3339.parse(text)) }

    private func job(_ text: String) throws -> TaskRequest {
        var request = TaskRequest(identifier: "j", kind: .processing)
        request.job = JobSchedule()
        request.job?.retries = 1
        let calendar = try #require(CalendarMoments(parsing: text))
        request.job?.calendar = calendar
        return request
    }

    static let rows: [(String, String, [String])] = [
        (
            "Mon *-*-01..07 03:00", "2026-11-29T17:00:00Z",
            ["2026-12-07T02:00:00.000Z", "2027-01-04T02:00:00.000Z"]
        ),
        // 02:30 is left out on the day in spring: the first later moment.
        (
            "*-*-* 02:30", "2027-03-27T12:00:00Z",
            ["2027-03-28T01:00:00.000Z", "2027-03-29T00:30:00.000Z"]
        ),
        (
            "*:00", "2027-03-28T00:00:00Z",
            ["2027-03-28T01:00:00.000Z", "2027-03-28T02:00:00.000Z"]
        ),
        // It comes twice on the day in autumn: once.
        (
            "*-*-* 02:30", "2026-10-24T12:00:00Z",
            ["2026-10-25T00:30:00.000Z", "2026-10-26T01:30:00.000Z"]
        ),
        ("2026-12-24 18:00", "2026-11-29T17:00:00Z", ["2026-12-24T17:00:00.000Z"]),
        ("*-02-30", "2026-11-29T17:00:00Z", []),
    ]

    @Test(arguments: rows)
    func theMomentsAreThoseOfTheZone(_ text: String, _ now: String, _ expected: [String]) throws {
        let calendar = try #require(CalendarMoments(parsing: text))
        var now = try moment(now)
        for next in expected {
            now = try #require(calendar.next(after: now, Self.berlin))
            #expect(RFC3339.format(now) == next)
        }
        if expected.count < 2 { #expect(calendar.next(after: now, Self.berlin) == nil) }
    }

    @Test func aJobGoesOnByItsCalendarAndEndsWithIt() throws {
        let now = try moment("2026-11-29T17:00:00Z")
        let monthly = try job("monthly")
        let timing = TaskTiming(monthly, replacing: nil, place: 0, now: now, .utc)
        #expect(RFC3339.format(timing.dueAt) == "2026-12-01T00:00:00.000Z")
        func settle(_ request: TaskRequest, _ end: TaskResult) -> TaskSettlement {
            TaskSettlement.decide(
                request, timing, .result(end), started: timing.dueAt, place: 0,
                now: timing.dueAt + 5, .utc)
        }
        guard case .again(let next) = settle(monthly, .success) else {
            Issue.record("it does not repeat")
            return
        }
        #expect(RFC3339.format(next.dueAt) == "2027-01-01T00:00:00.000Z")
        let last = try job("2026-12-01")
        #expect(settle(last, .success) == .done)
        // Its retry comes first.
        guard case .again(let retry) = settle(last, .failure) else {
            Issue.record("it is not tried again")
            return
        }
        #expect(retry.dueAt == timing.dueAt + 65)
    }

    /// What was missed is not lost by adding the job again.
    @Test func aMissedRunStays() throws {
        let monthly = try job("monthly")
        let missed = try moment("2026-12-01T00:00:00Z")
        let old = TaskTiming(dueAt: missed)
        for (date, due) in [
            ("2026-12-05T10:00:00Z", missed),
            ("2027-01-02T10:00:00Z", try moment("2027-02-01T00:00:00Z")),
        ] {
            let timing = TaskTiming(
                monthly, replacing: old, place: 0, now: try moment(date), .utc)
            #expect(timing.dueAt == due)
        }
    }

    /// A run that is far away is no sign of a clock that was wrong.
    @Test func aClockThatIsSetBackALittleBringsNothingForward() throws {
        let due = try moment("2027-01-01T00:00:00Z")
        for (days, expected) in [(1.0, due), (400, due + -500 * 86_400)] {
            var timing = TaskTiming(dueAt: due)
            let now = due + -(100 + (days > 15 ? 400 : 0)) * 86_400
            timing.follow(now + days * 86_400, hasCalendar: true, now: now)
            #expect(timing.dueAt == expected)
        }
    }

    @Test(arguments: [
        "", " ", "Foo", "10", "*-", "25:00", "10:00:60", "*-*-32", "2200-01-01", "Mon Tue Wed 1",
        "1,:00", "*:*/5", "1../2:00", "9..3:00", "1-2-3-4", "*~*~1", "٣:00", "10:00:00.5",
        String(repeating: "1,", count: 120) + "1:00",
    ])
    func otherTextsAreRefused(_ text: String) {
        #expect(CalendarMoments(parsing: text) == nil)
    }
}
