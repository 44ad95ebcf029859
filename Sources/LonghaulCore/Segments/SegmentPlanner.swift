/// Which byte ranges of a file are fetched by which request: one connection first, then halves of
/// the largest remainders, for as long as that is allowed and worth it.
package struct SegmentPlanner: Hashable, Sendable {
    /// A range is split only while at least twice this remains of it.
    package var minSplit = Limits.minSplitBytes
    /// What remains of a slow tail is split down to twice this.
    package var minPiece = Limits.minPieceBytes

    package init() {}

    /// A range that a request is fetching.
    package struct Active: Hashable, Sendable {
        package var key: SegmentKey
        /// To the end of the file where that is known.
        package var range: Range<Int64>
        /// File offset after the last byte written.
        package var written: Int64
        package var bytesPerSecond: Double?

        package init(
            key: SegmentKey, range: Range<Int64>, written: Int64, bytesPerSecond: Double? = nil
        ) {
            self.key = key
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

    package enum Action: Hashable, Sendable {
        /// Ask for these bytes with a new request. `toEnd`: with the file, whose length may be
        /// unknown.
        case start(Range<Int64>, toEnd: Bool)
        /// Let this request end earlier; comes before the start of what was taken from it.
        case shrink(SegmentKey, end: Int64)
    }

    /// What is known of a fetch, read once.
    package struct Situation: Hashable, Sendable {
        package var total: Int64?
        /// Bytes held, those written by active requests included.
        package var have: ByteRanges
        package var active: [Active]
        /// Requests that may run at the same time.
        package var allowed: Int
        /// The server honours ranges, and a strong validator is pinned: several requests may feed
        /// one file.
        package var rangesProven: Bool

        package init(
            total: Int64?, have: ByteRanges, active: [Active], allowed: Int, rangesProven: Bool
        ) {
            self.total = total
            self.have = have
            self.active = active
            self.allowed = allowed
            self.rangesProven = rangesProven
        }
    }

    /// The requests to start and to shorten now; empty when all is well or all is done.
    package func plan(_ situation: Situation) -> [Action] {
        guard let total = situation.total else { return planUnknownLength(situation) }
        let gaps = gaps(
            total: total, have: situation.have, active: situation.active.map(\.range))
        var work = Work(active: situation.active, gaps: gaps)
        let allowed = situation.rangesProven ? max(situation.allowed, 1) : 1
        while work.running < allowed, work.startGap(total: total) {}
        guard situation.rangesProven else { return work.actions }
        while work.running < allowed {
            guard split(&work, total: total) else { break }
        }
        return work.actions
    }

    /// What is neither held nor being fetched, in order.
    package func gaps(
        total: Int64, have: ByteRanges, active: [Range<Int64>]
    ) -> [Range<Int64>] {
        active.reduce(into: have) { $0.insert($1) }.gaps(upTo: total)
    }

    private func planUnknownLength(_ situation: Situation) -> [Action] {
        guard situation.active.isEmpty else { return [] }
        let start = situation.have.prefix
        return [.start(start..<start, toEnd: true)]
    }

    // MARK: Splitting

    private func split(_ work: inout Work, total: Int64) -> Bool {
        guard let index = work.largest() else { return false }
        let victim = work.pieces[index]
        let remaining = victim.remaining
        guard remaining.count64 >= 2 * threshold(for: victim, among: work.pieces) else {
            return false
        }
        // Even offsets suit the page cache and the disk.
        let middle = (remaining.lowerBound + remaining.count64 / 2) & ~(64 << 10 - 1)
        guard middle > remaining.lowerBound, middle < remaining.upperBound else { return false }
        work.cut(index, at: middle, total: total)
        return true
    }

    /// A tail that is slow compared with the rest is worth smaller pieces: everything waits for it.
    private func threshold(for victim: Piece, among pieces: [Piece]) -> Int64 {
        guard let seconds = victim.secondsLeft else { return minSplit }
        return seconds > Limits.minSplitSeconds ? minPiece : minSplit
    }
}

/// A range in the plan under construction: an active request's, or one that is to be started.
private struct Piece {
    var key: SegmentKey?
    var remaining: Range<Int64>
    var secondsLeft: Double?
}

private struct Work {
    var pieces: [Piece]
    var gaps: [Range<Int64>]
    private var shrinks: [(key: SegmentKey, end: Int64)] = []

    init(active: [SegmentPlanner.Active], gaps: [Range<Int64>]) {
        pieces = active.map {
            Piece(key: $0.key, remaining: $0.remaining, secondsLeft: $0.secondsLeft)
        }
        self.gaps = gaps
    }

    var running: Int { pieces.count }

    private var total: Int64 = 0

    mutating func startGap(total: Int64) -> Bool {
        self.total = total
        guard !gaps.isEmpty else { return false }
        pieces.append(Piece(remaining: gaps.removeFirst()))
        return true
    }

    /// The piece with the most bytes left; the first of equals.
    func largest() -> Int? {
        pieces.indices.max { left, right in
            let (mine, its) = (pieces[left].remaining.count64, pieces[right].remaining.count64)
            return mine != its ? mine < its : left > right
        }
    }

    mutating func cut(_ index: Int, at middle: Int64, total: Int64) {
        self.total = total
        let tail = middle..<pieces[index].remaining.upperBound
        if let key = pieces[index].key {
            shrinks.removeAll { $0.key == key }
            shrinks.append((key, middle))
        }
        let share = pieces[index].secondsLeft.map { $0 / 2 }
        pieces[index].remaining = pieces[index].remaining.lowerBound..<middle
        pieces[index].secondsLeft = share
        pieces.append(Piece(remaining: tail, secondsLeft: nil))
    }

    var actions: [SegmentPlanner.Action] {
        let starts = pieces.filter { $0.key == nil }.map(\.remaining)
            .sorted { $0.lowerBound < $1.lowerBound }
        return shrinks.map { .shrink($0.key, end: $0.end) }
            + starts.map { .start($0, toEnd: $0.upperBound == total) }
    }
}

extension Range<Int64> {
    /// Length of the range.
    var count64: Int64 { upperBound - lowerBound }
}
