import Testing

@testable import LonghaulCore
@testable import LonghaulModel

/// Windows of days, over midnight, and several together. 2026-11-26 is a Thursday.
@Suite struct TimeWindowsTests {
    /// Of Berlin: summer time until 2026-10-25 01:00 UTC, and again from 2027-03-28 01:00 UTC.
    private static let berlin = LocalTime { moment in
        let autumn = CivilTime(year: 2026, month: 10, day: 25, hour: 1).timestamp
        let spring = CivilTime(year: 2027, month: 3, day: 28, hour: 1).timestamp
        return moment < autumn || moment >= spring ? 7200 : 3600
    }

    private static let work = "Mon-Fri 22:00-06:00;Sat,Sun"

    @Test(arguments: [
        // Thursday noon, and night.
        (work, "2026-11-26T12:00:00Z", false, "2026-11-26T06:00:00Z", "2026-11-26T22:00:00Z"),
        (work, "2026-11-26T22:00:00Z", true, "2026-11-26T22:00:00Z", "2026-11-27T06:00:00Z"),
        // The night from Friday to Saturday goes on until the one from Sunday to Monday, which has
        // none: Sunday ends at midnight.
        (work, "2026-11-28T12:00:00Z", true, "2026-11-27T22:00:00Z", "2026-11-30T00:00:00Z"),
        (work, "2026-11-30T00:00:00Z", false, "2026-11-30T00:00:00Z", "2026-11-30T22:00:00Z"),
        // A window over midnight belongs to the day on which it opens.
        (
            "Sun 22:00-06:00", "2026-11-30T05:59:00Z", true, "2026-11-29T22:00:00Z",
            "2026-11-30T06:00:00Z"
        ),
        (
            "Sun 22:00-06:00", "2026-11-29T05:00:00Z", false, "2026-11-23T06:00:00Z",
            "2026-11-29T22:00:00Z"
        ),
        // One day a week: a week ahead.
        ("Thu", "2026-11-27T00:00:00Z", false, "2026-11-27T00:00:00Z", "2026-12-03T00:00:00Z"),
        // Windows that touch or overlap are one.
        (
            "10:00-12:00;12:00-13:00;11:00-12:30", "2026-11-26T10:30:00Z", true,
            "2026-11-26T10:00:00Z", "2026-11-26T13:00:00Z"
        ),
        // As a transfer's.
        (
            "22:00-06:00", "2026-11-26T12:00:00Z", false, "2026-11-26T06:00:00Z",
            "2026-11-26T22:00:00Z"
        ),
    ])
    func phases(
        _ text: String, _ now: String, _ isOpen: Bool, _ since: String, _ until: String
    ) throws {
        let windows = try #require(TimeWindows(parsing: text))
        let phase = windows.phase(at: try #require(RFC3339.parse(now)), .utc)
        #expect(phase.isOpen == isOpen)
        #expect(phase.since == RFC3339.parse(since))
        #expect(phase.until == RFC3339.parse(until))
    }

    /// The day on which the clock goes back has 25 hours, the one on which it goes forward 23.
    @Test func wholeDaysFollowTheClock() throws {
        let sunday = try #require(TimeWindows(parsing: "Sun"))
        for (noon, hours) in [("2026-10-25T11:00:00Z", 25.0), ("2027-03-28T10:00:00Z", 23.0)] {
            let phase = sunday.phase(at: try #require(RFC3339.parse(noon)), Self.berlin)
            #expect(phase.isOpen && phase.until - phase.since == hours * 3600)
        }
    }

    @Test func whatIsAlwaysOpenIsOpen() throws {
        let always = try #require(TimeWindows(parsing: "Mon-Fri;Sat,Sun"))
        let now = try #require(RFC3339.parse("2026-11-26T12:00:00Z"))
        let phase = always.phase(at: now, .utc)
        #expect(phase.isOpen && phase.until > now + 86_400)
    }

    @Test(arguments: [
        "22:00-06:00", "Mon-Fri 22:00-06:00;Sat,Sun", "Wed", "Mon,Wed-Fri 01:00-02:00;03:00-04:00",
    ])
    func isWrittenAsItIsRead(_ text: String) throws {
        #expect(try #require(TimeWindows(parsing: text)).description == text)
    }

    @Test(arguments: [
        "", ";", "Mon;", "Mon 22:00", "22:00-06:00 Mon", "Mon Tue", "Mon-Fri 22:00-06:00 Sat",
        "25:00-01:00", "Foo", String(repeating: "Mon;", count: 60) + "Mon",
    ])
    func refusesAnythingElse(_ text: String) {
        #expect(TimeWindows(parsing: text) == nil)
    }

    /// Each window opens later, and none opens after its middle.
    @Test(arguments: [
        (600.0, "22:10"), (10_800.0, "01:00"), (18_000.0, "23:00"), (0.0, "22:00"),
    ])
    func aDelayIsWithinTheWindow(_ delay: Double, _ opens: String) throws {
        var windows = try #require(TimeWindows(parsing: "22:00-06:00"))
        windows.delay = delay
        let noon = try #require(RFC3339.parse("2026-11-26T12:00:00Z"))
        #expect(LocalTime.utc.clock(windows.phase(at: noon, .utc).until) == opens)
        let stored = try #require(TimeWindows(stored: windows.stored))
        #expect(stored == windows && windows.description == "22:00-06:00")
        let always = try #require(TimeWindows(stored: "Mon-Sun+604799"))
        #expect(always.phase(at: noon, .utc).isOpen)
        for text in ["+60", "22:00-06:00+", "22:00-06:00+x", "22:00-06:00+1+1"] {
            #expect(TimeWindows(stored: text) == nil, "\(text)")
        }
    }

    /// The machines of a fleet, and the transfers of a machine, begin all over the spread; a
    /// transfer keeps its moment.
    @Test func startsAreSpread() {
        let delays = (0..<1000).map { index in
            StartSpread(
                TransferID(rawValue: 7), machine: StablePlace.of("machine \(index)")
            ).delay(within: 3600)
        }
        #expect(delays.allSatisfy { (0..<3600).contains($0) })
        for minute in 0..<6 {
            let count = delays.count { Int($0) / 600 == minute }
            #expect((100...240).contains(count), "\(count) in part \(minute)")
        }
        let own = Set(
            (1...1000).map { id in
                StartSpread(TransferID(rawValue: id), machine: 0.3).delay(within: 3600)
            })
        #expect((60...64).contains(own.count))
    }

    @Test func aSpreadIsKeptUntilItIsChanged() {
        let now = Timestamp(milliseconds: 1_000_000_000_000)
        let spread = StartSpread(TransferID(rawValue: 0), machine: 0.5)
        var request = TransferRequest(url: "http://h/f", destination: .file("/f"))
        request.options.spread = 3600
        request.schedule.windows = TimeWindows(parsing: "22:00-06:00")
        spread.apply(to: &request, now: now)
        #expect(request.earliestBegin == now + 1800 && request.schedule.windows?.delay == 1800)
        var changed = request
        changed.priority = .high
        changed.schedule.windows = TimeWindows(parsing: "Sat")
        spread.apply(to: &changed, insteadOf: request, saysBegin: false, now: now + 60)
        #expect(changed.earliestBegin == now + 1800 && changed.schedule.windows?.delay == 1800)
        changed.options.spread = 7200
        spread.apply(to: &changed, insteadOf: request, saysBegin: false, now: now + 60)
        #expect(changed.earliestBegin == now + 60 + 3600)
        changed = request
        changed.options.spread = 0
        spread.apply(to: &changed, insteadOf: request, saysBegin: false, now: now + 60)
        #expect(changed.earliestBegin == now && changed.schedule.windows?.delay == 0)
        changed = request
        changed.earliestBegin = now + 86_400
        spread.apply(to: &changed, insteadOf: request, saysBegin: true, now: now + 60)
        #expect(changed.earliestBegin == now + 86_400 + 1800)
    }
}
