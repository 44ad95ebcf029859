import LonghaulCore
import Testing

@testable import LonghaulSimulation

/// Requests of different hosts with tolerances that overlap share a wake-up.
@Suite struct TaskMonthTests {
    /// - Parameter most: Wake-ups a day.
    @Test(
        arguments: [
            // On the first day each begins at once.
            ([(10, 86_400, 43_200)], 2.34), ([(10, 86_400, 86_400)], 1.34),
            ([(10, 86_400, 21_600)], 4.34), ([(4, 3600, 1800)], 48.2),
            ([(5, 86_400, 43_200), (3, 21_600, 10_800), (2, 3600, 1800)], 48.5),
            ([(1, 86_400, 43_200)], 1.1),
        ] as [([(Int, Double, Double)], Double)], [UInt64](1...2))
    func aMonthOfRepeatingRequests(
        row: (requests: [(Int, Double, Double)], most: Double), seed: UInt64
    ) throws {
        let (requests, most) = row
        let month = try TaskMonth(TaskMonth.Work("", requests, seed: seed))
        #expect(month.wakeUps <= most, "\(month)")
        // Each has its run in each interval, and no second one.
        let runs = requests.reduce(0) { $0 + Double($1.0) * 86_400 / $1.1 }
        #expect(month.launches >= runs * 0.93 && month.launches <= runs * 1.05, "\(month)")
    }
}
