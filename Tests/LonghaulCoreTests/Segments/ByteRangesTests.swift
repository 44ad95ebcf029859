import LonghaulCore
import Testing

@Suite struct ByteRangesTests {
    /// Against a set of numbers, which cannot be wrong.
    @Test(arguments: 0..<40) func asASetOfBytes(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var ranges = ByteRanges()
        var bytes: Set<Int64> = []
        for _ in 0..<40 {
            let start = Int64.random(in: 0..<60, using: &random)
            let end = start + Int64.random(in: 0...8, using: &random)
            ranges.insert(start..<end)
            bytes.formUnion(start..<end)
            let context: Comment = "seed \(seed): \(ranges)"

            #expect(ranges.count == Int64(bytes.count), context)
            #expect(Set(ranges.ranges.flatMap { Array($0) }) == bytes, context)
            for (left, right) in zip(ranges.ranges, ranges.ranges.dropFirst()) {
                #expect(left.upperBound < right.lowerBound, context)
            }
            let first = (0...70).first { !bytes.contains($0) } ?? 0
            #expect(ranges.prefix == first, context)
            let length = Int64.random(in: 0...70, using: &random)
            let missing = Set((0..<length).filter { !bytes.contains($0) })
            #expect(Set(ranges.gaps(upTo: length).flatMap { Array($0) }) == missing, context)
            let window = start..<start + Int64.random(in: 0...10, using: &random)
            #expect(ranges.contains(window) == bytes.isSuperset(of: window), context)
            #expect(ByteRanges(stored: ranges.description) == ranges, context)
        }
    }

    @Test(arguments: [
        "-", "1", "1-", "-1", "2-1", "1-1", "0-5,3-8", "5-8,0-3", "0-5,", ",0-5", "0-5;6-7", "a-b",
        "0-99999999999999999999", "--1-2",
    ])
    func refused(text: String) {
        #expect(ByteRanges(stored: text) == nil)
    }

    @Test func stored() {
        #expect(ByteRanges(stored: "") == ByteRanges())
        #expect(ByteRanges(stored: "0-5,7-9")?.ranges == [0..<5, 7..<9])
    }

    @Test func union() {
        var left = ByteRanges(0..<5)
        left.insert(10..<15)
        let right = ByteRanges(5..<10)
        #expect(left.union(right).ranges == [0..<15])
    }
}
