import Testing

@testable import LonghaulCore
@testable import LonghaulModel

/// Machines that were set up alike do not do the same at the same moment.
@Suite struct FleetTests {
    private static let machines = 1000
    private static let periods = 6

    /// When each machine's requests begin, by the window, after the first run.
    private func starts(_ repetition: TaskRepetition) -> [[Timestamp]] {
        var request = TaskRequest(identifier: "backup", kind: .processing)
        request.repetition = repetition
        let submitted = Timestamp(milliseconds: 1_790_000_000_000)
        var windows = [[Timestamp]](repeating: [], count: Self.periods)
        for machine in 0..<Self.machines {
            let place = StablePlace.of("store-\(machine)/nightly/backup")
            var timing = TaskTiming(request, replacing: nil, place: place, now: submitted)
            for window in 0...Self.periods {
                let start = timing.dueAt
                if window > 0 { windows[window - 1].append(start) }
                let end = TaskSettlement.decide(
                    request, timing, .result(.success), started: start, place: place,
                    now: start + 10)
                guard case .again(let next) = end else {
                    Issue.record("a request that repeats waits again")
                    return windows
                }
                #expect(next.dueAt - start >= repetition.interval - repetition.slack)
                timing = next
            }
        }
        return windows
    }

    @Test(arguments: [3600.0, 86_400], [nil, 0.1, 1.0])
    func startsAreSpreadOverTheTolerance(_ interval: Double, _ part: Double?) {
        let repetition = TaskRepetition(
            interval: interval, tolerance: part.map { $0 * interval })
        for starts in starts(repetition) {
            let first = starts.min() ?? .distantFuture
            var buckets = [Int](repeating: 0, count: 11)
            for start in starts {
                buckets[min(10, Int((start - first) / (repetition.slack / 10)))] += 1
            }
            // They lie within one tolerance, and no tenth of it has more than twice its share.
            #expect(buckets[10] <= 1)
            #expect((buckets.max() ?? 0) <= 2 * Self.machines / 10)
        }
    }
}
