package import LonghaulModel

/// Assigns the byte ranges of a file to requests: one connection first, then halves of the largest
/// remainders, for as long as that is allowed and worth it.
package struct SegmentPlanner: Hashable, Sendable {
    /// A range is split only while at least twice this remains of it.
    package var minSplit = Limits.minSplitBytes
    /// The rest of a slow tail is split down to twice this.
    package var minPiece = Limits.minPieceBytes

    package init() {}

    /// A range that a request is fetching.
    package struct Active: Hashable, Sendable {
        /// To the end of the file if that is known.
        package var range: Range<Int64>
        /// File offset after the last byte written.
        package var written: Int64
        package var bytesPerSecond: Double?

        package init(range: Range<Int64>, written: Int64, bytesPerSecond: Double? = nil) {
            self.range = range
            self.written = written
            self.bytesPerSecond = bytesPerSecond
        }

        var remaining: Range<Int64> {
            min(max(written, range.lowerBound), range.upperBound)..<range.upperBound
        }

        var secondsLeft: Double? {
            guard let bytesPerSecond, bytesPerSecond > 0 else { return nil }
            return Double(remaining.count64) / bytesPerSecond
        }
    }

    /// Bytes to ask for with a new request. An active one that is fetching them leaves them to it.
    package struct Start: Hashable, Sendable {
        package var range: Range<Int64>
        /// The range ends with the file.
        package var toEnd: Bool

        package init(_ range: Range<Int64>, toEnd: Bool) {
            self.range = range
            self.toEnd = toEnd
        }
    }

    /// The facts about a fetch, read once. The server honours ranges, and a strong validator is
    /// pinned: several requests may feed one file.
    package struct Situation: Hashable, Sendable {
        package var total: Int64
        /// Bytes held, those written by active requests included.
        package var have: ByteRanges
        package var active: [Active]
        /// Requests that may run at the same time.
        package var allowed: Int

        package init(total: Int64, have: ByteRanges, active: [Active], allowed: Int) {
            self.total = total
            self.have = have
            self.active = active
            self.allowed = allowed
        }
    }

    /// The requests to start now, in order; empty when all is well or all is done.
    package func plan(_ situation: Situation) -> [Start] {
        let gaps = gaps(
            total: situation.total, have: situation.have, active: situation.active.map(\.range))
        var work = Work(active: situation.active, gaps: gaps)
        let allowed = max(situation.allowed, 1)
        while work.running < allowed, work.startGap() {}
        while work.running < allowed, split(&work) {}
        assert(
            work.starts.allSatisfy { !$0.isEmpty && $0.upperBound <= situation.total },
            "what is asked for lies in the file")
        return work.starts.map { Start($0, toEnd: $0.upperBound == situation.total) }
    }

    /// The ranges that are neither held nor being fetched, in order.
    package func gaps(
        total: Int64, have: ByteRanges, active: [Range<Int64>]
    ) -> [Range<Int64>] {
        active.reduce(into: have) { $0.insert($1) }.gaps(upTo: total)
    }

    // MARK: Splitting

    private func split(_ work: inout Work) -> Bool {
        guard let index = work.largest() else { return false }
        let victim = work.pieces[index]
        let remaining = victim.remaining
        guard remaining.count64 >= 2 * threshold(for: victim) else {
            return false
        }
        // Even offsets suit the page cache and the disk.
        let middle = (remaining.lowerBound + remaining.count64 / 2) & ~(64 << 10 - 1)
        guard middle > remaining.lowerBound, middle < remaining.upperBound else { return false }
        work.cut(index, at: middle)
        return true
    }

    /// A tail that is slow compared with the rest is worth smaller pieces: everything waits for it.
    private func threshold(for victim: Piece) -> Int64 {
        guard let seconds = victim.secondsLeft else { return minSplit }
        return seconds > Limits.minSplitSeconds ? minPiece : minSplit
    }
}

/// A range in the plan under construction.
private struct Piece {
    /// True for the range of an active request; the others are to be started.
    var isActive: Bool
    var remaining: Range<Int64>
    var secondsLeft: Double?
}

private struct Work {
    var pieces: [Piece]
    var gaps: [Range<Int64>]

    init(active: [SegmentPlanner.Active], gaps: [Range<Int64>]) {
        pieces = active.map {
            Piece(isActive: true, remaining: $0.remaining, secondsLeft: $0.secondsLeft)
        }
        self.gaps = gaps
    }

    var running: Int { pieces.count }

    mutating func startGap() -> Bool {
        guard !gaps.isEmpty else { return false }
        pieces.append(Piece(isActive: false, remaining: gaps.removeFirst()))
        return true
    }

    /// The piece with the most bytes left; the first of equals.
    func largest() -> Int? {
        pieces.indices.max { left, right in
            let (mine, its) = (pieces[left].remaining.count64, pieces[right].remaining.count64)
            return mine != its ? mine < its : left > right
        }
    }

    mutating func cut(_ index: Int, at middle: Int64) {
        let whole = pieces[index]
        pieces[index].remaining = whole.remaining.lowerBound..<middle
        pieces[index].secondsLeft = whole.secondsLeft.map { $0 / 2 }
        pieces.append(Piece(isActive: false, remaining: middle..<whole.remaining.upperBound))
    }

    var starts: [Range<Int64>] {
        pieces.filter { !$0.isActive }.map(\.remaining)
            .sorted { $0.lowerBound < $1.lowerBound }
    }
}

extension Range<Int64> {
    /// Length of the range.
    var count64: Int64 { upperBound - lowerBound }
}
