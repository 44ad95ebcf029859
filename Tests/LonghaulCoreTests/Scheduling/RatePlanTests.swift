import Testing

@testable import LonghaulCore
@testable import LonghaulModel

@Suite struct RatePlanTests {
    private func at(_ hour: Int, _ minute: Int = 0) -> Timestamp {
        Timestamp(milliseconds: Int64((hour * 60 + minute) * 60_000))
    }

    private func part(_ window: String, _ rate: Int64?) throws -> RatePlan.Part {
        RatePlan.Part(
            window: try #require(TimeWindow(parsing: window)), bytesPerSecond: rate)
    }

    @Test func oneRateIsAlwaysTheSame() {
        var plan = RatePlan()
        #expect(plan.now(at(3), .utc) == RatePlan.Now(bytesPerSecond: nil, until: nil))
        plan.bytesPerSecond = 5
        #expect(plan.now(at(3), .utc) == RatePlan.Now(bytesPerSecond: 5, until: nil))
    }

    /// A limit that was set by hand stands before the plan until it ends.
    @Test func aLimitReplacesThePlan() {
        var plan = RatePlan()
        plan.bytesPerSecond = 9
        let limit = RateOverride(bytesPerSecond: nil, until: at(5))
        #expect(plan.now(at(3), .utc, limit: nil).bytesPerSecond == 9)
        #expect(
            plan.now(at(3), .utc, limit: limit)
                == RatePlan.Now(bytesPerSecond: nil, until: at(5)))
        #expect(plan.now(at(5), .utc, limit: limit).bytesPerSecond == 9)
        let lasting = RateOverride(bytesPerSecond: 4)
        #expect(
            plan.now(at(99), .utc, limit: lasting) == RatePlan.Now(bytesPerSecond: 4, until: nil))
    }

    @Test(arguments: ["off", "off 5", "2097152", "2097152 1764363600000"])
    func aLimitIsStored(text: String) {
        #expect(RateOverride(stored: text)?.stored == text)
    }

    @Test(arguments: ["", "0", "-1", "fast", "1 x", "1 2 3"])
    func whatIsNoLimitIsNone(text: String) {
        #expect(RateOverride(stored: text) == nil)
    }

    /// The first window that is open counts; the next edge of any of them is when to look again.
    @Test(
        arguments: [
            (7, 0, 9, 8), (8, 0, 1, 12), (11, 59, 1, 12), (12, 0, 1, 13), (13, 0, 1, 18),
            (18, 0, 9, 22), (22, 30, nil, 30), (30, 0, 9, 32),
        ] as [(Int, Int, Int64?, Int)])
    func windowsChangeIt(hour: Int, minute: Int, rate: Int64?, until: Int) throws {
        var plan = RatePlan()
        plan.bytesPerSecond = 9
        plan.parts = [
            try part("08:00-18:00", 1), try part("12:00-13:00", 2), try part("22:00-06:00", nil),
        ]
        #expect(
            plan.now(at(hour, minute), .utc)
                == RatePlan.Now(bytesPerSecond: rate, until: at(until)))
    }
}
