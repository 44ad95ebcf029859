internal import LonghaulModel

/// After a pause of this length between two samples the measurement of a source restarts.
private let rateGapSeconds: Double = 10
/// A source is left for another one that was faster by this factor.
private let fasterSourceFactor: Double = 4

/// Measures the throughput of the last ``Limits/slowSourceSeconds``. Pure.
struct RecentRate: Sendable {
    private struct Mark {
        let at: Instant
        let received: Int64
    }

    /// About one for each second, the oldest first.
    private var marks: [Mark] = []

    /// Bytes per second; `nil` if the source has been in use for less. A gap between two samples
    /// says nothing about the source, and the measurement restarts.
    mutating func measure(received: Int64, at now: Instant) -> Double? {
        if let last = marks.last {
            let pause = now - last.at
            if pause > rateGapSeconds || received < last.received { marks = [] }
            if pause < 1 { return nil }
        }
        marks.append(Mark(at: now, received: received))
        // The first one is that from which the window begins.
        while marks.count > 1, now - marks[1].at >= Limits.slowSourceSeconds { marks.removeFirst() }
        let seconds = now - marks[0].at
        guard seconds >= Limits.slowSourceSeconds else { return nil }
        return Double(received - marks[0].received) / seconds
    }

    mutating func reset() { marks = [] }
}

/// The reaction to the throughput of the source in use. Pure.
enum SourceSpeed: Hashable, Sendable {
    case keep
    /// Less than the user wants: as after a stall.
    case tooSlow
    /// The source of this index was measured to be much faster.
    case leave(for: Int)

    /// - Parameters:
    ///   - rate: Bytes per second of the source in use.
    ///   - floor: Lowest acceptable bytes per second; `nil` = any.
    ///   - others: The remembered rates of the other sources, by index; without sources that may
    ///     not be asked now.
    static func judge(rate: Double, floor: Int64?, others: [Int: Double]) -> SourceSpeed {
        let best = others.max { ($0.value, $1.key) < ($1.value, $0.key) }
        if let best, best.value >= rate * fasterSourceFactor { return .leave(for: best.key) }
        return floor.map { rate < Double($0) } == true ? .tooSlow : .keep
    }
}
