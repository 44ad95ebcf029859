import LonghaulCore
import Testing

@Suite struct PrefetchRateTests {
    private let start = Instant(nanoseconds: 5_000_000_000)

    private func prefetched(ends: Int, every seconds: Double) -> Int {
        var pace = PrefetchRate()
        var now = start
        for _ in 0..<ends {
            pace.noteEnd(at: now)
            now = now + seconds
        }
        return pace.prefetched(at: now)
    }

    @Test(arguments: [
        // Ends, seconds between them, how many to have ready.
        (0, 1.0, 0), (100, 1, 0), (100, 0.1, 0), (100, 0.04, 0), (100, 0.02, 1), (100, 0.005, 8),
        (1000, 0.0001, 498), (1000, 0.00005, PrefetchRate.aheadMax),
        // As soon as a rate shows.
        (1, 0.0001, 0), (2, 0.0001, 8), (3, 0.0001, 12), (6, 0.0001, 24), (30, 0.0005, 96),
    ])
    func isWhatTheRateAmountsToWithinTheHorizon(ends: Int, every: Double, prefetched: Int) {
        #expect(self.prefetched(ends: ends, every: every) == prefetched)
    }

    @Test func isForgotten() {
        var pace = PrefetchRate()
        for _ in 0..<50 { pace.noteEnd(at: start) }
        #expect(pace.prefetched(at: start + 0.01) == 200)
        #expect(pace.prefetched(at: start + PrefetchRate.horizonSeconds) == 0)
    }
}
