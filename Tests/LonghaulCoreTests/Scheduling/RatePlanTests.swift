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
