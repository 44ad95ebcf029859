import LonghaulCore
import Testing

@Suite struct StartPaceTests {
    private let start = Instant(nanoseconds: 5_000_000_000)

    private func ahead(ends: Int, every seconds: Double) -> Int {
        var pace = StartPace()
        var now = start
        for _ in 0..<ends {
            pace.noteEnd(at: now)
            now = now + seconds
        }
        return pace.ahead(at: now)
    }

    @Test(arguments: [
        // Ends, seconds between them, how many to have ready.
        (0, 1.0, 0), (100, 1, 0), (100, 0.1, 0), (100, 0.04, 0), (100, 0.02, 1), (100, 0.005, 8),
        (1000, 0.0001, 498), (1000, 0.00005, StartPace.aheadMax),
        // As soon as a rate shows.
        (1, 0.0001, 0), (2, 0.0001, 8), (3, 0.0001, 12), (6, 0.0001, 24), (30, 0.0005, 96),
    ])
    func isWhatTheRateAmountsToWithinTheHorizon(ends: Int, every: Double, ahead: Int) {
        #expect(self.ahead(ends: ends, every: every) == ahead)
    }

    @Test func isForgotten() {
        var pace = StartPace()
        for _ in 0..<50 { pace.noteEnd(at: start) }
        #expect(pace.ahead(at: start + 0.01) == 200)
        #expect(pace.ahead(at: start + StartPace.horizonSeconds) == 0)
    }
}
