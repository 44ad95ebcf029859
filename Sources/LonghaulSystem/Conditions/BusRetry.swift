internal import LonghaulCore

/// When to look again for a bus that is not there: ever less often, never not at all.
struct BusRetry {
    private(set) var due: Instant?
    private var seconds: Double
    private let bounds: (first: Double, most: Double)

    init(_ bounds: (first: Double, most: Double)) {
        self.bounds = bounds
        seconds = bounds.first
    }

    mutating func failed(now: Instant) {
        due = now + seconds
        seconds = min(seconds * 4, bounds.most)
    }

    mutating func trying() {
        due = nil
    }

    /// Something answered on the bus.
    mutating func succeeded() {
        due = nil
        seconds = bounds.first
    }
}
