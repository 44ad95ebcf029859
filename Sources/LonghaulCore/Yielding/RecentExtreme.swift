/// The least or the greatest of the values of late: of a sliding stretch of time, in parts, so that
/// a few numbers stand for many.
struct RecentExtreme: Hashable, Sendable {
    private let isLeast: Bool
    private let partSeconds: Double
    private let partsMax: Int
    private var parts: [Double] = []
    private var begun: Double?

    init(least: Bool, seconds: Double, parts: Int) {
        isLeast = least
        partSeconds = seconds / Double(parts)
        partsMax = parts
    }

    var value: Double? { isLeast ? parts.min() : parts.max() }

    /// - Parameter time: seconds on a clock of the caller's choice that never goes back.
    mutating func note(_ value: Double, at time: Double) {
        if let begun, time - begun < partSeconds, let last = parts.indices.last {
            parts[last] = isLeast ? min(parts[last], value) : max(parts[last], value)
            return
        }
        begun = time
        parts.append(value)
        if parts.count > partsMax { parts.removeFirst() }
    }

    /// Forgets all but this.
    mutating func restart(_ value: Double, at time: Double) {
        parts = [value]
        begun = time
    }
}
