import LonghaulCore
import Testing

@Suite struct CoolingOriginsTests {
    private let now = receivedAt

    /// These cool down until so many seconds from now.
    private func cooling(_ ends: [Int64: Double]) -> CoolingOrigins {
        var origins = CoolingOrigins()
        for (id, seconds) in ends { origins.record(id, until: now + seconds) }
        return origins
    }

    @Test(
        arguments: [
            // From where, to which one what cools down is passed over.
            (1, nil), (2, 4), (3, 4), (4, 4), (5, nil), (7, 7), (8, nil), (9, 9), (10, nil),
        ] as [(Int64, Int64?)])
    func passesOverNeighbours(from id: Int64, end: Int64?) {
        let origins = cooling([2: 5, 3: 1, 4: 9, 7: 2, 8: 0, 9: 3])
        #expect(origins.endOfRun(from: id, at: now) == end)
    }

    @Test func whatHasEndedOrAnsweredIsRead() {
        var origins = cooling([2: 5, 3: 1, 4: 9])
        #expect(origins.endOfRun(from: 2, at: now + 1) == 2)
        origins.forget(2)
        origins.forget(7)
        #expect(origins.endOfRun(from: 2, at: now) == nil)
        #expect(origins.endOfRun(from: 3, at: now) == 4)
        origins.record(3, until: now + 20)
        origins.forgetEnded(at: now + 9)
        #expect(origins.endOfRun(from: 3, at: now + 9) == 3)
        origins.forgetAll()
        #expect(origins.isEmpty)
    }

    /// The same as one look at each, whatever the order.
    @Test(arguments: 0..<20 as Range<UInt64>) func agreesWithOneByOne(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var ends: [Int64: Double] = [:]
        var origins = CoolingOrigins()
        for _ in 0..<200 {
            let id = Int64.random(in: 1...60, using: &random)
            if Int.random(in: 0..<4, using: &random) == 0 {
                ends[id] = nil
                origins.forget(id)
            } else {
                let seconds = Double.random(in: -1...9, using: &random).rounded()
                ends[id] = seconds
                origins.record(id, until: now + seconds)
            }
        }
        for id in Int64(0)...61 {
            var end: Int64?
            var next = id
            while let seconds = ends[next], seconds > 0 {
                end = next
                next += 1
            }
            #expect(origins.endOfRun(from: id, at: now) == end)
        }
        let soonest = origins.soonest(at: now) { $0 % 3 != 0 }
        let least = ends.filter { $0.key % 3 != 0 && $0.value > 0 }.map(\.value).min()
        #expect(soonest.map { $0 <= now + (least ?? 0) } ?? (least == nil))
    }

    @Test func theEndThatIsWaitedForIsExactAmongAFew() {
        let origins = cooling([1: 1, 2: 2, 3: 3, 4: 4, 5: -1])
        #expect(origins.soonest(at: now) { _ in true } == now + 1)
        #expect(origins.soonest(at: now) { $0 == 3 } == now + 3)
        #expect(origins.soonest(at: now) { _ in false } == nil)
    }

    @Test func theEndThatIsWaitedForIsNeverLate() {
        let ends = (1...100).map { (Int64($0), Double($0)) }
        let origins = cooling(Dictionary(uniqueKeysWithValues: ends))
        var asked = 0
        let soonest = origins.soonest(at: now) { id in
            asked += 1
            return id == 90
        }
        #expect(asked == Limits.coolingDoubtsMax + 1)
        #expect(soonest == now + Double(asked))
    }
}
