import LonghaulCore
import Testing

@Suite struct SegmentPlannerTests {
    private static let mib: Int64 = 1 << 20
    /// All in MiB.
    private func active(
        _ range: Range<Int64>, written: Int64? = nil, rate: Double? = nil
    ) -> SegmentPlanner.Active {
        SegmentPlanner.Active(
            range: scaled(range), written: (written ?? range.lowerBound) * Self.mib,
            bytesPerSecond: rate.map { $0 * Double(Self.mib) })
    }

    private func scaled(_ range: Range<Int64>) -> Range<Int64> {
        range.lowerBound * Self.mib..<range.upperBound * Self.mib
    }

    private func plan(
        total: Int64, have: [Range<Int64>] = [], active: [SegmentPlanner.Active] = [],
        allowed: Int = 1
    ) -> [SegmentPlanner.Start] {
        var held = ByteRanges()
        for range in have { held.insert(scaled(range)) }
        for segment in active where segment.written > segment.range.lowerBound {
            held.insert(segment.range.lowerBound..<segment.written)
        }
        return SegmentPlanner().plan(
            SegmentPlanner.Situation(
                total: total * Self.mib, have: held, active: active, allowed: allowed))
    }

    private func start(_ range: Range<Int64>, toEnd: Bool) -> SegmentPlanner.Start {
        SegmentPlanner.Start(scaled(range), toEnd: toEnd)
    }

    @Test func oneConnectionFirst() {
        #expect(plan(total: 100) == [start(0..<100, toEnd: true)])
        #expect(plan(total: 100, have: [0..<40]) == [start(40..<100, toEnd: true)])
        #expect(plan(total: 100, have: [0..<100]).isEmpty)
        #expect(plan(total: 100, active: [active(0..<100)]).isEmpty)
    }

    @Test func gapsAreFilledInOrder() {
        let have: [Range<Int64>] = [0..<10, 20..<30]
        #expect(plan(total: 40, have: have) == [start(10..<20, toEnd: false)])
        let both = [start(10..<20, toEnd: false), start(30..<40, toEnd: true)]
        #expect(plan(total: 40, have: have, allowed: 2) == both)
    }

    @Test func theLargestRemainderIsHalved() {
        let running = [active(0..<100, written: 20)]
        #expect(
            plan(total: 100, active: running, allowed: 2)
                == [start(60..<100, toEnd: true)])
        #expect(
            plan(total: 100, active: running, allowed: 3)
                == [start(40..<60, toEnd: false), start(60..<100, toEnd: true)])
    }

    @Test func whatIsSmallStaysWhole() {
        #expect(plan(total: 15, active: [active(0..<15)], allowed: 4).isEmpty)
        #expect(plan(total: 16, active: [active(0..<16)], allowed: 4).count == 1)
    }

    @Test func aSlowTailIsSplitFiner() {
        // 4 MiB left: ten seconds at this rate.
        let slow = [active(0..<50, written: 46, rate: 0.4)]
        #expect(
            plan(total: 50, active: slow, allowed: 2)
                == [start(48..<50, toEnd: true)])
        let fast = [active(0..<50, written: 46, rate: 4)]
        #expect(plan(total: 50, active: fast, allowed: 2).isEmpty)
        let nearlyDone = [active(0..<50, written: 49, rate: 0.1)]
        #expect(plan(total: 50, active: nearlyDone, allowed: 2).isEmpty)
    }

    /// A file fetched by plan, with requests of any speed and any failures: all of it, nothing
    /// twice, never more requests than allowed.
    @Test(arguments: 0..<40) func anyRun(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let total = Int64.random(in: 1...200_000_000, using: &random)
        var run = Run(total: total, allowed: Int.random(in: 1...16, using: &random))
        for _ in 0..<100_000 {
            if run.have.contains(0..<total) { break }
            run.step(using: &random, seed: seed)
        }
        #expect(run.have.contains(0..<total), "seed \(seed): never ended")
        #expect(run.received == total, "seed \(seed): \(run.received - total) bytes twice")
    }

    private struct Run {
        let total: Int64
        let allowed: Int
        var have = ByteRanges()
        var active: [SegmentPlanner.Active] = []
        var received: Int64 = 0

        init(total: Int64, allowed: Int) {
            self.total = total
            self.allowed = allowed
        }

        mutating func step(using random: inout SeededRandom, seed: UInt64) {
            let proven = !have.isEmpty
            let starts = SegmentPlanner().plan(
                SegmentPlanner.Situation(
                    total: total, have: have, active: active,
                    allowed: proven ? allowed : 1))
            for piece in starts { start(piece, seed: seed) }
            #expect(active.count <= (proven ? allowed : 1), "seed \(seed)")
            #expect(!active.isEmpty, "seed \(seed): nothing runs")
            for index in active.indices.reversed() { move(index, using: &random) }
        }

        /// Who was fetching those bytes leaves them, with all that comes after them.
        private mutating func start(_ piece: SegmentPlanner.Start, seed: UInt64) {
            let range = piece.range
            #expect(
                !range.isEmpty && piece.toEnd == (range.upperBound == total), "seed \(seed)")
            for index in active.indices {
                let other = active[index]
                let remaining =
                    max(other.written, other.range.lowerBound)..<other.range.upperBound
                if !remaining.overlaps(range) { continue }
                #expect(range.lowerBound > other.written, "seed \(seed)")
                active[index].range = other.range.lowerBound..<range.lowerBound
            }
            active.append(SegmentPlanner.Active(range: range, written: range.lowerBound))
        }

        private mutating func move(_ index: Int, using random: inout SeededRandom) {
            let segment = active[index]
            let most = min(4_000_000, segment.range.upperBound - segment.written)
            let bytes = Int64.random(in: 0...most, using: &random)
            active[index].written += bytes
            active[index].bytesPerSecond = Double(bytes)
            received += bytes
            have.insert(segment.written..<segment.written + bytes)
            let isDone = active[index].written == segment.range.upperBound
            if isDone || Int.random(in: 0..<50, using: &random) == 0 { active.remove(at: index) }
        }
    }
}

@Suite struct AutoConnectionsTests {
    /// Feeds four samples a second for so long; `rate` is what so many connections bring together.
    private func settle(
        seconds: Double, remaining: Int64 = .max, rate: (Int) -> Double
    ) -> AutoConnections {
        var auto = AutoConnections()
        for tick in 0..<Int(seconds * 4) {
            auto.sample(
                bytesPerSecond: rate(auto.allowed), remaining: remaining, running: auto.allowed,
                now: Instant(nanoseconds: Int64(tick) * 250_000_000))
        }
        return auto
    }

    @Test func aLimitPerConnectionIsWorthAll() {
        let auto = settle(seconds: 5) { 1e6 * Double($0) }
        #expect(auto.allowed == Limits.automaticSegments)
        #expect(auto.isSettled)
    }

    @Test func aFullLineIsTriedOnce() {
        let auto = settle(seconds: 5) { _ in 1e6 }
        #expect(auto.allowed == 2)
        #expect(auto.isSettled)
    }

    @Test func itStopsWhereTheGainStops() {
        var auto = settle(seconds: 5) { 1e6 * Double(min($0, 2)) }
        #expect(auto.allowed == 4)
        auto.most = 16
        auto.sample(
            bytesPerSecond: 9e6, remaining: .max, running: 4, now: Instant(nanoseconds: .max))
        #expect(auto.allowed == 4)
    }

    /// What a file of so many MiB takes, each connection at so many MiB a second: how many
    /// connections it ends with, and how long it takes at most (seconds, with one: size / rate).
    @Test(
        arguments: [
            // Size, rate, the line's own limit, connections, seconds.
            (128, 20, 1_000, 4, 3.0), (128, 20, 20, 2, 6.5), (1_024, 5, 1_000, 4, 55),
            // A second connection would only begin.
            (24, 20, 1_000, 1, 1.3), (12, 1, 1_000, 4, 5),
            // A local server: as it comes.
            (4_096, 600, 600, 1, 7),
        ] as [(Int, Int, Int, Int, Double)])
    func aWholeFile(
        size: Int, rate: Int, line: Int, connections: Int, seconds: Double
    ) {
        var auto = AutoConnections()
        var left = Double(size)
        var tick = 0
        while left > 0 {
            let speed = Double(min(rate * auto.allowed, line))
            left -= speed * Limits.splitTickSeconds
            tick += 1
            auto.sample(
                bytesPerSecond: speed * 1_048_576, remaining: Int64(max(0, left) * 1_048_576),
                running: auto.allowed,
                now: Instant(nanoseconds: Int64(Double(tick) * Limits.splitTickSeconds * 1e9)))
        }
        #expect(auto.allowed == connections)
        #expect(Double(tick) * Limits.splitTickSeconds <= seconds)
    }

    @Test func nothingIsAddedNearTheEnd() {
        #expect(settle(seconds: 5, remaining: 1_900_000) { 1e6 * Double($0) }.allowed == 1)
    }

    @Test func nothingIsAddedWithoutBeingWatched() {
        #expect(settle(seconds: 0.5) { 1e6 * Double($0) }.allowed == 1)
        var auto = AutoConnections()
        for tick in 0..<100 {
            auto.sample(
                bytesPerSecond: 0, remaining: .max, running: 1,
                now: Instant(nanoseconds: Int64(tick) * 250_000_000))
        }
        #expect(auto.allowed == 1)
    }
}
