/// SplitMix64: a test that fails prints the seed, and the seed alone makes the same run again.
struct SeededRandom: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}

/// Always the same end of the range. Not zero for the lowest: the standard library draws again
/// then, and again, to keep the draw uniform.
struct FixedRandom: RandomNumberGenerator {
    var value: UInt64

    static let lowest = FixedRandom(value: 1)
    static let highest = FixedRandom(value: .max)

    mutating func next() -> UInt64 { value }
}
