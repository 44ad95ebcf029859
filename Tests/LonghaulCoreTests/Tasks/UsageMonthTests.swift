import LonghaulCore
import Testing

/// A month of refreshes every 15 minutes: most of them shortly before a use, few for a host that is
/// not used, none a day late.
@Suite struct UsageMonthTests {
    private static let seeds: ClosedRange<UInt64> = 1...4

    @Test(arguments: [true, false]) func refreshesComeBeforeUses(repeats: Bool) {
        print("pattern                     before a use  uniform  per day  uses served")
        for pattern in UsagePattern.all {
            let months = Self.seeds.map { UsageMonth(pattern, repeats: repeats, seed: $0) }
            func mean(_ figure: (UsageMonth) -> Double) -> Double {
                months.reduce(0) { $0 + figure($1) } / Double(months.count)
            }
            let share = mean { $0.share * $0.launchesPerDay() } / mean { $0.launchesPerDay() }
            let columns = [
                pattern.name, percent(share), percent(mean(\.uniformShare)),
                "\((mean { $0.launchesPerDay() } * 10).rounded() / 10)", percent(mean(\.served)),
            ]
            print(zip(columns, [28, 14, 9, 9, 0]).map(padded).joined())

            let title = "\(pattern), repeats: \(repeats)"
            #expect(share >= pattern.leastShare, "\(title): \(percent(share)) before a use")
            for month in months {
                #expect(month.longestGap <= 86_400, "\(title): \(month.longestGap) s without any")
                if let gone = pattern.goneAfter {
                    let launches = month.launchesPerDay(from: gone + 14)
                    #expect(launches <= 1.5, "\(title): \(launches) a day")
                }
            }
        }
    }

    private func percent(_ part: Double) -> String { "\(Int((part * 100).rounded())) %" }

    private func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }
}
