/// A set of bytes of a file: sorted, disjoint, non-adjacent half-open ranges.
package struct ByteRanges: Hashable, Sendable {
    package private(set) var ranges: [Range<Int64>]

    package init() {
        ranges = []
    }

    package init(_ range: Range<Int64>) {
        ranges = range.isEmpty ? [] : [range]
    }

    package var isEmpty: Bool { ranges.isEmpty }

    /// How many bytes are in the set.
    package var count: Int64 { ranges.reduce(0) { $0 + $1.upperBound - $1.lowerBound } }

    /// The end of the run that starts at byte zero: the bytes that a sequential reader could read.
    package var prefix: Int64 {
        guard let first = ranges.first, first.lowerBound == 0 else { return 0 }
        return first.upperBound
    }

    /// The end of the run that holds this byte; `nil` = it is not in the set.
    package func end(of position: Int64) -> Int64? {
        ranges.first { $0.contains(position) }?.upperBound
    }

    package mutating func insert(_ new: Range<Int64>) {
        precondition(new.lowerBound >= 0, "byte ranges start at zero")
        if new.isEmpty { return }
        var merged = new
        var result: [Range<Int64>] = []
        var placed = false
        for range in ranges {
            if range.upperBound < merged.lowerBound {
                result.append(range)
            } else if merged.upperBound < range.lowerBound {
                if !placed { result.append(merged) }
                placed = true
                result.append(range)
            } else {
                let lower = min(merged.lowerBound, range.lowerBound)
                merged = lower..<max(merged.upperBound, range.upperBound)
            }
        }
        if !placed { result.append(merged) }
        ranges = result
        assert(isNormal, "ranges are sorted, disjoint and not adjacent")
    }

    private var isNormal: Bool {
        ranges.allSatisfy { !$0.isEmpty }
            && zip(ranges, ranges.dropFirst()).allSatisfy { $0.upperBound < $1.lowerBound }
    }

    package func union(_ other: ByteRanges) -> ByteRanges {
        var result = self
        for range in other.ranges { result.insert(range) }
        return result
    }

    /// The part of the set that lies before `length`.
    package func upTo(_ length: Int64) -> ByteRanges {
        var result = ByteRanges()
        for range in ranges where range.lowerBound < length {
            result.insert(range.lowerBound..<min(range.upperBound, length))
        }
        return result
    }

    package func contains(_ range: Range<Int64>) -> Bool {
        range.isEmpty
            || ranges.contains {
                $0.lowerBound <= range.lowerBound && range.upperBound <= $0.upperBound
            }
    }

    /// Ranges of `0..<length` that are not in the set, in order.
    package func gaps(upTo length: Int64) -> [Range<Int64>] {
        assert(length >= 0, "a file has no negative length")
        var result: [Range<Int64>] = []
        var position: Int64 = 0
        for range in ranges where range.lowerBound < length {
            if position < range.lowerBound { result.append(position..<range.lowerBound) }
            position = max(position, range.upperBound)
        }
        if position < length { result.append(position..<length) }
        return result
    }
}

extension ByteRanges: CustomStringConvertible {
    /// The stored form: `0-1048576,2097152-3145728`, ends exclusive.
    package var description: String {
        ranges.map { "\($0.lowerBound)-\($0.upperBound)" }.joined(separator: ",")
    }

    /// Reads the stored form; `nil` for anything that is not a sorted, disjoint list.
    package init?(stored text: String) {
        self.init()
        if text.isEmpty { return }
        var last: Int64 = -1
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let ends = part.split(separator: "-", omittingEmptySubsequences: false)
            guard ends.count == 2, let lower = Int64(ends[0]), let upper = Int64(ends[1]),
                lower > last, lower >= 0, upper > lower
            else { return nil }
            ranges.append(lower..<upper)
            last = upper
        }
    }
}
