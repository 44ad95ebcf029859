import LonghaulCore
import Testing

@Suite struct SlowTailsTests {
    private static let kib: Int64 = 1 << 10

    /// What is left in KiB, its rate and that of the neighbours in KiB a second.
    @Test(
        arguments: [
            (2048, 4, 2000, true), (2048, 0, 2000, true), (64, 4, 2000, true),
            (63, 4, 2000, false),
            // Not much longer than a neighbour would take.
            (2048, 500, 2000, false), (2048, 100, 400, false), (2048, 100, 2000, true),
            // All are slow.
            (2048, 4, 8, false), (2048, 4, 15, false), (2048, 4, 30, true),
            // It ends soon.
            (2048, 450, 20_000, false), (64, 14, 20_000, false), (64, 12, 20_000, true),
        ] as [(Int64, Double, Int64, Bool)])
    func goesByTheNeighbours(left: Int64, rate: Double, others: Int64, isSlow: Bool) {
        var tails = SlowTails()
        tails.ended(bytes: 10 * others * Self.kib, after: 10)
        let rest = 7 * Self.kib..<(7 + left) * Self.kib
        #expect(tails.isSlow(rest, rate: rate * Double(Self.kib)) == isSlow)
    }

    @Test func nothingIsKnown() {
        var tails = SlowTails()
        #expect(!tails.isSlow(0..<1 << 20, rate: 1))
        tails.ended(bytes: 1 << 20, after: 0)
        #expect(!tails.isSlow(0..<1 << 20, rate: 1))
        tails.ended(bytes: 1 << 20, after: 1)
        #expect(!tails.isSlow(0..<1 << 20, rate: nil))
        #expect(tails.isSlow(0..<1 << 20, rate: 1))
    }

    /// The next one crawls in the same place: the server is the reason.
    @Test func aPlaceIsGivenUpOnceAndNotWithoutEnd() {
        var tails = SlowTails()
        tails.ended(bytes: 1 << 20, after: 1)
        tails.places.add(1 << 20)
        #expect(!tails.isSlow(1 << 20..<2 << 20, rate: 1))
        #expect(tails.isSlow(1 << 20 + 64 << 10..<2 << 20, rate: 1))
        for place in 2...8 { tails.places.add(Int64(place) << 20) }
        #expect(!tails.isSlow(1 << 40..<1 << 41, rate: 1))
    }
}
