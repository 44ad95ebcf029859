import LonghaulCore

/// What a simulated file or body holds, as where it comes from and not as bytes: each run names the
/// version that it was taken from and the place there. A gigabyte costs as much as a byte.
struct SimBytes: Equatable {
    struct Run: Equatable {
        var range: Range<Int64>
        var label: Int
        /// Offset in its source of the byte at `range.lowerBound`.
        var from: Int64

        func clipped(to bounds: Range<Int64>) -> Run? {
            let part = range.clamped(to: bounds)
            if part.isEmpty { return nil }
            return Run(range: part, label: label, from: from + part.lowerBound - range.lowerBound)
        }

        func moved(by distance: Int64) -> Run {
            Run(
                range: range.lowerBound + distance..<range.upperBound + distance, label: label,
                from: from)
        }
    }

    /// In order, apart or different; what lies between them is zeros.
    private(set) var runs: [Run] = []
    private(set) var count: Int64 = 0

    init() {}

    /// A file of its own, different from every other at each byte.
    init(label: Int, count: Int64) {
        self.count = count
        if count > 0 { runs = [Run(range: 0..<count, label: label, from: 0)] }
    }

    func pieces(in bounds: Range<Int64>) -> [Run] {
        runs.compactMap { $0.clipped(to: bounds) }
    }

    /// Puts pieces, which lie inside `bounds`, in the place of what is there.
    mutating func replace(_ bounds: Range<Int64>, with pieces: [Run]) {
        if bounds.isEmpty { return }
        var all = pieces
        for run in runs {
            if let left = run.clipped(to: 0..<max(0, bounds.lowerBound)) { all.append(left) }
            if let right = run.clipped(to: bounds.upperBound..<max(bounds.upperBound, count)) {
                all.append(right)
            }
        }
        all.sort { $0.range.lowerBound < $1.range.lowerBound }
        runs = []
        for run in all {
            if let last = runs.last, last.label == run.label,
                last.range.upperBound == run.range.lowerBound,
                last.from + Int64(last.range.count) == run.from
            {
                runs[runs.count - 1].range = last.range.lowerBound..<run.range.upperBound
            } else {
                runs.append(run)
            }
        }
        count = max(count, bounds.upperBound)
    }

    mutating func truncate(to size: Int64) {
        runs = pieces(in: 0..<size)
        count = size
    }
}
